package arch

import (
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/initial"
)

// BigGAN is the class-conditional residual generator of DP-Sinkhorn's RGB experiments, after Brock et al. (2019): a
// dense layer to c×4×4, Blocks residual blocks that each double the side, batch normalisation, ReLU, Conv 3×3, tanh.
// All convolutions and maps are spectrally normalised, the class embedding is shared by the blocks' normalisations,
// weights start orthogonal. From N×Latent and Pass.Class to images N×Channels×S×S in (−1, 1), S = 4·2^Blocks.
//
// The published code is BigGAN{Latent: 32, Classes: 2, Embed: 4}: three blocks of 256; the paper says four.
type BigGAN struct {
	Latent, Classes, Embed int
	Hidden                 int         // c; 0: 256
	Blocks                 int         // 0: 3
	Channels               int         // 0: 3
	Running                bool        // running statistics at inference, as the code; else those of the batch
	Steps                  int         // rounds of power iteration for a pass; 0: 1
	Weights                initial.Law // nil: initial.Orthogonal()
}

// Net returns the network, not yet initialised.
func (g BigGAN) Net() *nn.Conditioned {
	c := orInt(g.Hidden, 256)
	if g.Weights == nil {
		g.Weights = initial.Orthogonal()
	}
	layers := []nn.Layer{
		&nn.Dense{In: g.Latent, Out: c * 16, Weights: g.Weights, Spectral: g.spectral()},
		&nn.Reshape{Shape: []int{c, 4, 4}},
	}
	for range orInt(g.Blocks, 3) {
		layers = append(layers, g.block(c, c))
	}
	layers = append(layers, &nn.BatchNorm{Channels: c, Batch: !g.Running}, nn.ReLU(),
		g.conv(c, orInt(g.Channels, 3), 3), nn.Tanh())
	return &nn.Conditioned{
		Embedding: nn.Embedding{Classes: g.Classes, Width: g.Embed, Weights: g.Weights},
		Body:      nn.Seq(layers...),
	}
}

// block is normalise, ReLU, double, convolve, normalise, ReLU, convolve, beside a 1×1 convolution of the doubled
// input, which is taken before doubling: that is the same and costs a quarter.
func (g BigGAN) block(in, out int) nn.Layer {
	return &nn.Residual{
		Body: nn.Seq(
			g.norm(in), nn.ReLU(), &nn.Upsample{Factor: 2}, g.conv(in, out, 3),
			g.norm(out), nn.ReLU(), g.conv(out, out, 3),
		),
		Shortcut: nn.Seq(g.conv(in, out, 1), &nn.Upsample{Factor: 2}),
	}
}

func (g BigGAN) norm(channels int) nn.Layer {
	return &nn.ConditionalBatchNorm{
		Channels: channels, Width: g.Embed, Batch: !g.Running, Weights: g.Weights, Spectral: g.spectral(),
	}
}

func (g BigGAN) conv(in, out, kernel int) nn.Layer {
	return &nn.Conv2D{
		In: in, Out: out, Window: device.SquareWindow(kernel, 1, kernel/2), Weights: g.Weights, Spectral: g.spectral(),
	}
}

// spectral is a new one for each weight.
func (g BigGAN) spectral() *nn.Spectral { return &nn.Spectral{Steps: g.Steps} }
