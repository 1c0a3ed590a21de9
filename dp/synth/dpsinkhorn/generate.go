package dpsinkhorn

import (
	"math/rand/v2"

	"coupling/data"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn"
)

// Generator is a trained network: post-processing of what training released.
type Generator struct {
	net    nn.Layer
	dev    *device.Device
	latent int
	public synth.Public
	batch  int
}

// Params returns the weights; nn.Free frees them.
func (g *Generator) Params() []*nn.Param { return g.net.Params() }

// labels draws the classes of the n + fresh images of step k: uniform, or in turn over the images
// and over the steps, in an order of its own in each step. With turns, fresh images have the
// classes of the first ones, as in the published code: both sides of the debiasing term then hold
// each class equally often, and every class is as likely as any other to meet a fresh image.
func (g *Generator) labels(rng *rand.Rand, n, fresh int, turns bool, k int) []int {
	classes := len(g.public.Classes)
	labels := make([]int, n+fresh)
	for i := range labels {
		if labels[i] = (k*n + i) % classes; !turns {
			labels[i] = rng.IntN(classes)
		}
	}
	if turns {
		rng.Shuffle(n, func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
		copy(labels[n:], labels[:fresh])
	}
	return labels
}

// generate makes an image with a code uniform on [0, 1] for each label.
func (g *Generator) generate(p *nn.Pass, rng *rand.Rand, labels []int) Labelled {
	z, class := g.latents(rng, labels)
	p.Class = g.dev.FromInts(class, len(labels))
	return Labelled{X: g.net.Forward(p, g.dev.From32(z, len(labels), g.latent)), Labels: labels}
}

// latents draws a code for each label.
func (g *Generator) latents(rng *rand.Rand, labels []int) (z []float32, class []int32) {
	z, class = make([]float32, len(labels)*g.latent), make([]int32, len(labels))
	for i := range z {
		z[i] = rng.Float32()
	}
	for i, l := range labels {
		class[i] = int32(l)
	}
	return z, class
}

// Sample draws n images with values in [0, 1], the classes in turn. Batches are as large as training's, since the
// normalisation takes their statistics.
func (g *Generator) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	return synth.Draw(g.public, "dp-sinkhorn", n, g.batch, func(labels []int) ([]float32, error) {
		defer g.dev.Scope().Close()
		x := g.generate(&nn.Pass{ForwardOnly: true}, rng, labels)
		pixels, err := x.X.Get32()
		for i, v := range pixels {
			pixels[i] = (v + 1) / 2
		}
		return pixels, err
	})
}

// Gradients returns, for each loss, its gradient with respect to the parameters at one batch: n
// images and the fresh ones that the loss asks for are the first of 2n images of one pass, so that
// losses which differ only in Fresh share as much as possible. It is for studying bias and variance
// of the estimator: nothing is clipped or private, and no parameter moves.
func (g *Generator) Gradients(losses []Loss, y Labelled, n int, rng *rand.Rand) ([][]float32, error) {
	defer g.dev.Scope().Close()
	p := &nn.Pass{}
	x := g.generate(p, rng, g.labels(rng, n, n, false, 0))
	flat := x.X.Reshape(2*n, -1)
	var out [][]float32
	for _, l := range losses {
		total := n + l.fresh(n)
		private, public, err := l.Gradient(Labelled{X: flat.Rows(0, total), Labels: x.Labels[:total]}, y,
			len(g.public.Classes))
		if err != nil {
			return nil, err
		}
		head := public.Rows(0, n)
		device.Add(head, head, private)
		dy := g.dev.Zeros(device.Float32, flat.Shape()...)
		device.Paste(dy, public, 0, 0)
		nn.ZeroGrads(g.net.Params())
		p.Rewind()
		g.net.VJP(p, dy.Reshape(x.X.Shape()...))
		grad, err := gather(g.dev, g.net.Params()).Get32()
		if err != nil {
			return nil, err
		}
		out = append(out, grad)
	}
	return out, nil
}

// eachGrad calls f with the gradient of each trainable parameter, as a row, and its offset among
// all.
func eachGrad(params []*nn.Param, f func(g *device.Array, at int)) {
	at := 0
	for _, p := range nn.Trainable(params) {
		f(p.Grad.Reshape(1, -1), at)
		at += p.Grad.Len()
	}
}

// gather is all gradients as one row.
func gather(dev *device.Device, params []*nn.Param) *device.Array {
	all := dev.New(device.Float32, 1, nn.Count(params))
	eachGrad(params, func(g *device.Array, at int) { device.Paste(all, g, 1, at) })
	return all
}
