package sgd

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Predict returns the output of a trained network for each record, N×K: logits for Classification,
// values for Regression. Layers work as they do outside training. Records go some hundred at a time
// through the device that the network was trained on.
func Predict(net nn.Layer, x Inputs) (out *mat.Dense, err error) {
	var values []float64
	if err := outputs(net, x, func(y []float64) { values = append(values, y...) }); err != nil {
		return nil, err
	}
	return mat.NewDense(x.Len(), len(values)/x.Len(), values), nil
}

// Features returns what a fixed network, which is public, makes of each record, as Rows32 for
// another network to learn from: linear layers on good features, such as those of arch.Scattering,
// learn more under privacy than networks from pixels. A row is cut into groups of equal length,
// each of which is standardised, less its mean and divided by its norm; together they have norm 1.
// A row is a function of its own record. The error wraps ErrParameter where groups does not divide
// the number of features.
//
// Source: F. Tramèr, D. Boneh, "Differentially private learning needs better features (or much more
// data)" (2021).
func Features(net nn.Layer, x Inputs, groups int) (Inputs, error) {
	r := rows32{width: 1}
	err := outputs(net, x, func(y []float64) {
		if r.x == nil {
			r.width = len(y) / min(x.Len(), together)
			r.x = make([]float32, 0, x.Len()*r.width)
		}
		if groups < 1 || r.width%groups != 0 {
			return
		}
		for group := range slices.Chunk(y, r.width/groups) {
			floats.AddConst(-floats.Sum(group)/float64(len(group)), group)
			norm := max(floats.Norm(group, 2), math.SmallestNonzeroFloat32) * math.Sqrt(float64(groups))
			for _, v := range group {
				r.x = append(r.x, float32(v/norm))
			}
		}
	})
	if err == nil && len(r.x) == 0 {
		err = bad("Features: groups = %d: must divide the number of features, %d", groups, r.width)
	}
	return r, err
}

// together is the number of records whose outputs are computed at once.
const together = 500

// outputs calls see with the outputs for some records after the other.
func outputs(net nn.Layer, x Inputs, see func(y []float64)) (err error) {
	defer shapes(&err)
	if net == nil {
		return bad("Predict: net = nil: must be a trained network")
	}
	var w *device.Array
	for _, p := range net.Params() {
		w = p.Value
	}
	if w == nil || length(x) == 0 {
		return bad("Predict: a network of %d parameters, %d records: must be trained, and at least 1",
			len(net.Params()), length(x))
	}
	for some := range slices.Chunk(everybody(x.Len()), together) {
		records := twice(some)
		y, err := Batch{
			Net:     net,
			Pass:    &nn.Pass{ForwardOnly: true},
			Dev:     w.Device(),
			Type:    w.Type(),
			Records: records,
		}.output(x)
		if err != nil {
			return err
		}
		see(y[:len(y)/len(records)*len(some)])
	}
	return nil
}

// output is forward on the host.
func (b Batch) output(x Inputs) ([]float64, error) {
	defer b.Dev.Scope().Close()
	y, err := b.forward(x)
	if err != nil {
		return nil, err
	}
	return y.Float64s()
}

// fit checks the fields, and runs the first record forward and backward through a copy of the
// network: shapes that do not fit are an error before anything is spent.
func (t Training) fit(dev *device.Device) (err error) {
	if err := t.check(); err != nil {
		return err
	}
	defer shapes(&err)
	r := &run{Training: t, dev: dev}
	r.Net.Init(dev, r.Type, rand.New(rand.NewPCG(0, 0)))
	defer nn.Free(r.Net.Params())
	if nn.Count(r.Net.Params()) == 0 {
		return bad("Net: has no trainable parameters")
	}
	var not *train.NotFiniteError
	if err := r.gradients(0, []int{0}); !errors.As(err, &not) {
		return err
	}
	return nil
}

// shapes turns the panic of a layer or a device into an error; its text names the layer and the
// shape.
func shapes(err *error) {
	switch p := recover().(type) {
	case nil:
	case string:
		*err = bad("Net: %s", strings.TrimPrefix(p, "nn: "))
	default:
		panic(p)
	}
}

func everybody(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
