package dpsinkhorn

import (
	"math/rand/v2"

	"coupling/data"
	"coupling/lab/device"
	"coupling/lab/nn"
)

// Generator is a trained network: post-processing of what training released.
type Generator struct {
	net     nn.Layer
	dev     *device.Device
	latent  int
	classes int
	names   []string
	shape   [3]int
	batch   int
	project *device.Array // of Training, or nil
}

// Params returns the weights.
func (g *Generator) Params() []*nn.Param { return g.net.Params() }

// Free frees the weights.
func (g *Generator) Free() { nn.Free(g.net.Params()) }

// generate makes n images with codes uniform on [0, 1] and labels uniform, as the published code has them, but for those of fresh
// images: there they are labels of the first ones again.
func generate(net nn.Layer, p *nn.Pass, dev *device.Device, rng *rand.Rand, n, latent, classes int) Labelled {
	labels := make([]int, n)
	for i := range labels {
		labels[i] = rng.IntN(classes)
	}
	return generateLabels(net, p, dev, rng, labels, latent)
}

func generateLabels(net nn.Layer, p *nn.Pass, dev *device.Device, rng *rand.Rand, labels []int, latent int) Labelled {
	n := len(labels)
	z, class := make([]float32, n*latent), make([]int32, n)
	for i := range z {
		z[i] = rng.Float32()
	}
	for i, l := range labels {
		class[i] = int32(l)
	}
	p.Class = dev.FromInts(class, n)
	return Labelled{X: net.Forward(p, dev.From32(z, n, latent)), Labels: labels}
}

// Sample draws n images with values in [0, 1], the classes in turn. Batches are as large as training's, since the
// normalisation takes their statistics.
func (g *Generator) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	if n < 1 {
		return nil, bad("n = %d: must be at least 1", n)
	}
	out, err := data.New(n, g.shape[0], g.shape[1], g.shape[2])
	if err != nil {
		return nil, err
	}
	out.Name, out.Classes, out.Labels = "dp-sinkhorn", g.names, make([]int, n)
	for i := range out.Labels {
		out.Labels[i] = i % g.classes
	}
	for from := 0; from < n; from += g.batch {
		if err := g.some(rng, out, from); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// some fills a batch, the last one up with images that are dropped.
func (g *Generator) some(rng *rand.Rand, out *data.Images, from int) error {
	defer g.dev.Scope().Close()
	labels := make([]int, g.batch)
	for i := range labels {
		labels[i] = (from + i) % g.classes
	}
	x := generateLabels(g.net, &nn.Pass{ForwardOnly: true}, g.dev, rng, labels, g.latent)
	pixels, err := along(g.project, x.X.Reshape(g.batch, -1)).Get32()
	if err != nil {
		return err
	}
	to := out.Pixels()[from*out.Dim():]
	for i := range min(len(to), len(pixels)) {
		to[i] = min(max((pixels[i]+1)/2, 0), 1)
	}
	return nil
}
