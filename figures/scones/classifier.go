package scones

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
	"coupling/ot/gaussian"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// classifier judges digits: 256 pixels, a hidden layer whose values are its features, ten logits.
type classifier struct {
	dev        *device.Device
	body, head nn.Layer
}

const features = 64

// trainClassifier fits it to labelled rows by Adam, in batches of 128.
func trainClassifier(dev *device.Device, x *mat.Dense, labels []int, steps int, rng *rand.Rand) (*classifier, error) {
	c := &classifier{dev, nn.Seq(&nn.Dense{In: pixels, Out: features}, nn.ReLU()), &nn.Dense{In: features, Out: 10}}
	all := nn.Seq(c.body, c.head)
	all.Init(dev, device.Float32, rng)
	opt := train.Adam{Rate: 2e-3}.For(all.Params())
	defer opt.Free()
	const batch = 128
	for range steps {
		s := dev.Scope()
		rows, want := make([]int, batch), make([]int32, batch)
		for i := range rows {
			rows[i] = rng.IntN(len(labels))
			want[i] = int32(labels[rows[i]])
		}
		p := &nn.Pass{Training: true}
		logits := all.Forward(p, dev.FromDense(device.Float32, rowsOf(x, rows)))
		loss, grad := dev.New(device.Float32, batch), logits.Like()
		device.CrossEntropy(loss, grad, logits, dev.FromInts(want, batch))
		device.Scale(grad, 1./batch, grad)
		nn.ZeroGrads(all.Params())
		all.VJP(p, grad)
		opt.Step()
		s.Close()
	}
	return c, dev.Sync()
}

// judge returns the features of rows and the digits that they are taken for.
func (c *classifier) judge(x *mat.Dense) (f *mat.Dense, digits []int, err error) {
	defer c.dev.Scope().Close()
	p := &nn.Pass{ForwardOnly: true}
	h := c.body.Forward(p, c.dev.FromDense(device.Float32, x))
	logits, err := c.head.Forward(p, h).Mat()
	if err != nil {
		return nil, nil, err
	}
	n, _ := x.Dims()
	for i := range n {
		digits = append(digits, floats.MaxIdx(logits.RawRowView(i)))
	}
	f, err = h.Mat()
	return f, digits, err
}

// frechet is the squared 2-Wasserstein distance of the Gaussians with the moments of two sets of features.
func frechet(a, b *mat.Dense) (float64, error) {
	p, err := gaussian.Empirical(a)
	if err != nil {
		return 0, err
	}
	q, err := gaussian.Empirical(b)
	if err != nil {
		return 0, err
	}
	return gaussian.Wasserstein(p, q)
}

// agree is the share of equal entries.
func agree(a, b []int) float64 {
	n := 0.
	for i, v := range a {
		if v == b[i] {
			n++
		}
	}
	return n / float64(len(a))
}
