package arch

import (
	"fmt"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/initial"
)

// DCGAN is the convolutional generator of DP-Sinkhorn (Cao et al. 2021, appendix D.3, after Radford et al. 2016): from
// latent codes N×Latent and, with Classes > 0, an embedding of Pass.Class, to images N×Channels×Size×Size in (−1, 1).
//
// Size 28, for MNIST: ConvT 7×7 to 4h×7×7, ConvT 4×4 stride 2 to 2h×14×14, again to h×28×28, Conv 3×3, tanh; batch
// normalisation and ReLU between. Size 32, for RGB images: ConvT 4×4 to 4h×4×4, ConvT 4×4 stride 2 three times; the
// first normalisation has no scale. The paper calls the last layer of Size 28 a transposed convolution, which at
// stride 1 is a convolution.
//
// The paper's generator is DCGAN{Latent: 12, Classes: 10, Embed: 4}; its published code runs
// DCGAN{Latent: 16, Classes: 10, Embed: 8, Slope: .2}. Batch normalisation takes batch statistics at inference too, as
// the code does: generate in batches as large as training's.
type DCGAN struct {
	Latent   int
	Classes  int // 0: unconditional
	Embed    int // columns of the class embedding
	Hidden   int // h; 0: 64
	Channels int // 0: 1
	Size     int // 28 or 32; 0: 28
	Slope    float64
	Weights  initial.Law // nil: PyTorch's default, as the code; initial.Normal(0, .02) as Radford et al.
}

// Net returns the network, not yet initialised.
func (g DCGAN) Net() *nn.Sequential {
	g.Size, g.Hidden, g.Channels = orInt(g.Size, 28), orInt(g.Hidden, 64), orInt(g.Channels, 1)
	h, side, rgb := g.Hidden, 7, g.Size == 32
	if rgb {
		side = 4
	} else if g.Size != 28 {
		panic(fmt.Sprintf("arch: DCGAN: Size = %d: must be 28 or 32", g.Size))
	}
	layers := append(g.input(side, g.Classes > 0 && !rgb), g.norm(4*h, rgb), g.act())
	layers = append(layers, g.up(4*h, 2*h), g.norm(2*h, false), g.act())
	layers = append(layers, g.up(2*h, h), g.norm(h, false), g.act())
	if rgb {
		return nn.Seq(append(layers, g.up(h, g.Channels), nn.Tanh())...)
	}
	out := &nn.Conv2D{In: h, Out: g.Channels, Window: device.SquareWindow(3, 1, 1), Weights: g.Weights}
	return nn.Seq(append(layers, out, nn.Tanh())...)
}

// input brings a code to 4h×side×side.
func (g DCGAN) input(side int, noBias bool) []nn.Layer {
	var layers []nn.Layer
	width := g.Latent
	if g.Classes > 0 {
		layers = append(layers, &nn.AppendClass{Embedding: nn.Embedding{Classes: g.Classes, Width: g.Embed}})
		width += g.Embed
	}
	return append(layers, &nn.Reshape{Shape: []int{width, 1, 1}}, &nn.ConvTranspose2D{
		In: width, Out: 4 * g.Hidden, Window: device.SquareWindow(side, 1, 0), NoBias: noBias, Weights: g.Weights,
	})
}

// up doubles the side.
func (g DCGAN) up(in, out int) nn.Layer {
	return &nn.ConvTranspose2D{In: in, Out: out, Window: device.SquareWindow(4, 2, 1), NoBias: true, Weights: g.Weights}
}

func (g DCGAN) norm(channels int, noAffine bool) nn.Layer {
	return &nn.BatchNorm{Channels: channels, Batch: true, NoAffine: noAffine}
}

func (g DCGAN) act() nn.Layer {
	if g.Slope != 0 {
		return nn.LeakyReLU(g.Slope)
	}
	return nn.ReLU()
}

// orInt is v, or def where v is 0.
func orInt(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}
