package dpsinkhorn

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// Gradients returns, for each loss, its gradient with respect to the parameters at one batch: n images and the fresh ones
// that the loss asks for are the first of 2n images of one pass, so that losses which differ in Fresh alone share all that they
// can. It is for looking at bias and variance of the estimator: nothing is clipped, nothing is private, and no parameter moves.
func (g *Generator) Gradients(losses []Loss, y Labelled, n int, rng *rand.Rand) ([][]float32, error) {
	defer g.dev.Scope().Close()
	p := &nn.Pass{}
	x := g.generate(p, rng, 2*n)
	flat := along(g.project, x.X.Reshape(2*n, -1))
	var out [][]float32
	for _, l := range losses {
		total := n + l.fresh(n)
		private, public, err := l.Gradient(Labelled{X: flat.Rows(0, total), Labels: x.Labels[:total]}, y, len(g.public.Classes))
		if err != nil {
			return nil, err
		}
		head := public.Rows(0, n)
		device.Add(head, head, private)
		dy := g.dev.Zeros(device.Float32, flat.Shape()...)
		device.Paste(dy, public, 0, 0)
		nn.ZeroGrads(g.net.Params())
		p.Rewind()
		g.net.VJP(p, along(g.project, dy).Reshape(x.X.Shape()...))
		grad, err := gather(g.dev, g.net.Params()).Get32()
		if err != nil {
			return nil, err
		}
		out = append(out, grad)
	}
	return out, nil
}

// eachGrad calls f with the gradient of each trainable parameter, as a row, and where it stands among all.
func eachGrad(params []*nn.Param, f func(g *device.Array, at int)) {
	at := 0
	for _, p := range params {
		if p.Grad != nil {
			g := p.Grad.Reshape(1, -1)
			f(g, at)
			at += g.Len()
		}
	}
}

// gather is all gradients as one row.
func gather(dev *device.Device, params []*nn.Param) *device.Array {
	all := dev.New(device.Float32, 1, nn.Count(params))
	eachGrad(params, func(g *device.Array, at int) { device.Paste(all, g, 1, at) })
	return all
}
