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
	net     nn.Layer
	dev     *device.Device
	latent  int
	public  synth.Public
	batch   int
	project *device.Array // of Training, or nil
}

// Params returns the weights.
func (g *Generator) Params() []*nn.Param { return g.net.Params() }

// Free frees the weights.
func (g *Generator) Free() { nn.Free(g.net.Params()) }

// generate makes n images with codes uniform on [0, 1] and labels uniform, as the published code has them, but for those of fresh
// images: there they are labels of the first ones again.
func (g *Generator) generate(p *nn.Pass, rng *rand.Rand, n int) Labelled {
	labels := make([]int, n)
	for i := range labels {
		labels[i] = rng.IntN(len(g.public.Classes))
	}
	return g.generateLabels(p, rng, labels)
}

func (g *Generator) generateLabels(p *nn.Pass, rng *rand.Rand, labels []int) Labelled {
	n := len(labels)
	z, class := make([]float32, n*g.latent), make([]int32, n)
	for i := range z {
		z[i] = rng.Float32()
	}
	for i, l := range labels {
		class[i] = int32(l)
	}
	p.Class = g.dev.FromInts(class, n)
	return Labelled{X: g.net.Forward(p, g.dev.From32(z, n, g.latent)), Labels: labels}
}

// along is x·P·Pᵀ, or x where there is no P.
func along(project, x *device.Array) *device.Array {
	if project == nil {
		return x
	}
	low := x.Device().New(device.Float32, x.Dim(0), project.Dim(1))
	out := x.Device().New(device.Float32, x.Shape()...)
	device.Gemm(low, 1, x.N(), project.N(), 0)
	device.Gemm(out, 1, low.N(), project.T(), 0)
	return out
}

// Sample draws n images with values in [0, 1], the classes in turn. Batches are as large as training's, since the
// normalisation takes their statistics.
func (g *Generator) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	return g.public.Draw("dp-sinkhorn", n, g.batch, func(labels []int) ([]float32, error) {
		defer g.dev.Scope().Close()
		x := g.generateLabels(&nn.Pass{ForwardOnly: true}, rng, labels)
		pixels, err := along(g.project, x.X.Reshape(g.batch, -1)).Get32()
		for i, v := range pixels {
			pixels[i] = (v + 1) / 2
		}
		return pixels, err
	})
}
