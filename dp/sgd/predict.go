package sgd

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/mat"
)

// Predict returns the output of a trained network for each record, N×K: logits for Classification, values for Regression. Layers
// work as they do outside training. Records go some hundred at a time through the device that the network was trained on.
func Predict(net nn.Layer, x Inputs) (out *mat.Dense, err error) {
	defer shapes(&err)
	if net == nil {
		return nil, bad("Predict: net = nil: must be a trained network")
	}
	var w *device.Array
	for _, p := range net.Params() {
		w = p.Value
	}
	if w == nil || length(x) == 0 {
		return nil, bad("Predict: a network of %d parameters, %d records: must be trained, and at least 1", len(net.Params()), length(x))
	}
	var values []float64
	for some := range slices.Chunk(everybody(x.Len()), 500) {
		y, err := Batch{Net: net, Pass: &nn.Pass{ForwardOnly: true}, Dev: w.Device(), Type: w.Type(), Records: some}.output(x)
		if err != nil {
			return nil, err
		}
		values = append(values, y...)
	}
	return mat.NewDense(x.Len(), len(values)/x.Len(), values), nil
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
