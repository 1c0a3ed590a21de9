package nntest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/initial"
)

// Layers returns a case for every layer of package nn and every way it can be set.
func Layers() []Case {
	return slices.Concat(dense(), convolutions(), transposed(), norms(), conditional(), elementwise(), activated(),
		shapes(), compositions())
}

// of is a case of a layer that was not initialised: each check gets a copy.
func of[L any, P interface {
	*L
	nn.Layer
}](name string, l L, shape ...int) Case {
	return made(name, func() nn.Layer {
		c := l
		return P(&c)
	}, shape...)
}

// made is a case of a layer that consists of others.
func made(name string, layer func() nn.Layer, shape ...int) Case {
	return Case{Name: name, Layer: layer, Shape: shape}
}

func (c Case) training() Case { c.Training = true; return c }
func (c Case) mixing() Case   { c.Mixes = true; return c }

func (c Case) looking(classes, width int) Case {
	c.Classes, c.Width = classes, width
	return c
}

// Dominated is a law of weights with one large singular value, for layers with spectral normalisation: power iteration
// finds it in few rounds, and where the largest is not alone, as it is not in orthogonal weights, there is no gradient.
func Dominated(rng *rand.Rand, w []float64, shape []int) {
	initial.Orthogonal()(rng, w, shape)
	cols := len(w) / shape[0]
	a, b := draw(rng, shape[0]), draw(rng, cols)
	for i := range w {
		w[i] = .1*w[i] + a[i/cols]*b[i%cols]
	}
}

// spectral is a normalisation whose iteration has converged for Dominated weights.
func spectral() *nn.Spectral { return &nn.Spectral{Steps: 8} }

func dense() []Case {
	return []Case{
		of("Dense", nn.Dense{In: 5, Out: 3}, 4, 5),
		of("Dense one example", nn.Dense{In: 17, Out: 33}, 1, 17),
		of("Dense no bias", nn.Dense{In: 1, Out: 7, NoBias: true}, 3, 1),
		of("Dense spectral", nn.Dense{In: 6, Out: 5, Weights: Dominated, Spectral: spectral()}, 4, 6).mixing(),
	}
}

// windows is odd and even kernels, strides, paddings and dilations, all different along the two axes at least once.
func windows() []device.Window {
	return []device.Window{
		device.SquareWindow(1, 1, 0),
		device.SquareWindow(1, 2, 0),
		device.SquareWindow(2, 1, 1),
		device.SquareWindow(2, 2, 0),
		device.SquareWindow(3, 1, 1),
		device.SquareWindow(3, 2, 1),
		device.SquareWindow(4, 2, 1),
		device.SquareWindow(5, 3, 2),
		{Kernel: [2]int{3, 3}, Pad: [2]int{2, 2}, Dilation: [2]int{2, 2}},
		{Kernel: [2]int{3, 3}, Pad: [2]int{9, 9}, Dilation: [2]int{9, 9}}, // taps wholly outside
		{Kernel: [2]int{2, 3}, Stride: [2]int{2, 1}, Pad: [2]int{0, 2}, Dilation: [2]int{3, 1}},
	}
}

func name(layer string, w device.Window) string {
	return fmt.Sprintf("%s kernel %v stride %v pad %v dilation %v", layer, w.Kernel, w.Stride, w.Pad, w.Dilation)
}

func convolutions() (all []Case) {
	for i, w := range windows() {
		all = append(all, of(name("Conv2D", w), nn.Conv2D{In: 2, Out: 3, Window: w, NoBias: i%2 == 1}, 3, 2, 7, 6),
			of(name("Conv2D narrowing", w), nn.Conv2D{In: 5, Out: 2, Window: w}, 3, 5, 7, 6))
	}
	far := device.Window{Kernel: [2]int{3, 3}, Pad: [2]int{4, 4}, Dilation: [2]int{4, 4}}
	return append(all,
		of("Conv2D of the whole image",
			nn.Conv2D{In: 2, Out: 3, Window: device.Window{Kernel: [2]int{5, 4}}}, 3, 2, 5, 4),
		of("Conv2D of ever the same pixel", nn.Conv2D{In: 2, Out: 3, Window: far}, 3, 2, 1, 1),
		of("Conv2D spectral", nn.Conv2D{
			In: 2, Out: 3, Window: device.SquareWindow(3, 1, 1), Weights: Dominated, Spectral: spectral(),
		}, 2, 2, 5, 4).mixing())
}

func transposed() (all []Case) {
	for i, w := range windows() {
		all = append(all,
			of(name("ConvTranspose2D", w), nn.ConvTranspose2D{In: 2, Out: 3, Window: w, NoBias: i%2 == 1}, 3, 2, 4, 3),
			of(name("ConvTranspose2D widening", w), nn.ConvTranspose2D{In: 2, Out: 5, Window: w}, 3, 2, 4, 3))
	}
	return append(all,
		of("ConvTranspose2D of a pixel",
			nn.ConvTranspose2D{In: 5, Out: 2, Window: device.SquareWindow(7, 1, 0)}, 3, 5, 1, 1),
		of("ConvTranspose2D of a padded pixel",
			nn.ConvTranspose2D{In: 5, Out: 2, Window: device.SquareWindow(4, 2, 1)}, 3, 5, 1, 1))
}

func norms() []Case {
	image := []int{3, 4, 3, 5}
	return []Case{
		of("BatchNorm", nn.BatchNorm{Channels: 4}, image...).training().mixing(),
		of("BatchNorm rows", nn.BatchNorm{Channels: 4, Batch: true}, 6, 4).mixing(),
		of("BatchNorm plain", nn.BatchNorm{Channels: 4, Batch: true, NoAffine: true}, image...).mixing(),
		of("BatchNorm running", nn.BatchNorm{Channels: 4}, image...),
		of("InstanceNormPlus", nn.InstanceNormPlus{Channels: 4}, image...),
	}
}

func conditional() []Case {
	image := []int{4, 3, 3, 2}
	return []Case{
		of("InstanceNormPlus conditional", nn.InstanceNormPlus{Channels: 3, Classes: 3}, image...).looking(3, 0),
		of("ConditionalBatchNorm", nn.ConditionalBatchNorm{Channels: 3, Width: 5}, image...).
			looking(0, 5).training().mixing(),
		of("ConditionalBatchNorm running", nn.ConditionalBatchNorm{Channels: 3, Width: 5}, image...).looking(0, 5),
		of("ConditionalBatchNorm spectral", nn.ConditionalBatchNorm{
			Channels: 3, Width: 5, Batch: true, Weights: Dominated, Spectral: spectral(),
		}, image...).looking(0, 5).mixing(),
		of("AppendClass", nn.AppendClass{Embedding: nn.Embedding{Classes: 4, Width: 2}}, 5, 3).looking(4, 0),
		made("Conditioned", func() nn.Layer {
			return &nn.Conditioned{
				Embedding: nn.Embedding{Classes: 3, Width: 2, Weights: initial.Orthogonal()},
				Body: nn.Seq(&nn.ConditionalBatchNorm{Channels: 3, Width: 2}, nn.Tanh(),
					&nn.ConditionalBatchNorm{Channels: 3, Width: 2}),
			}
		}, image...).looking(3, 0).mixing(),
	}
}

func leaky() *nn.Activation { return nn.LeakyReLU(.2) }

func elementwise() (all []Case) {
	for name, a := range map[string]func() *nn.Activation{
		"ReLU": nn.ReLU, "LeakyReLU": leaky, "ELU": nn.ELU, "Softplus": nn.Softplus, "Tanh": nn.Tanh,
		"Sigmoid": nn.Sigmoid, "SiLU": nn.SiLU,
	} {
		all = append(all, made(name, func() nn.Layer { return a() }, 3, 7))
	}
	return append(all,
		of("Affine", nn.Affine{By: 2, Plus: -1}, 3, 2, 2, 2),
		of("Dropout", nn.Dropout{Rate: .3}, 4, 9).training(),
		of("Dropout of channels", nn.Dropout{Rate: .5, Channels: true}, 4, 5, 3, 2).training(),
		of("Dropout at inference", nn.Dropout{Rate: .3}, 4, 9))
}

// activated is layers that run in one pass with the activation after them: one whose derivative is
// a function of the output, which overwrites, and two of the argument.
func activated() (all []Case) {
	plain, square := map[string]Case{}, device.SquareWindow
	for _, c := range slices.Concat(dense(), convolutions(), transposed(), norms(), conditional()) {
		plain[c.Name] = c
	}
	for act, make := range map[string]func() *nn.Activation{"LeakyReLU": leaky, "ELU": nn.ELU, "SiLU": nn.SiLU} {
		for _, of := range []string{
			"Dense", name("Conv2D", square(3, 1, 1)), name("Conv2D", square(3, 2, 1)), // which has no bias
			name("ConvTranspose2D", square(4, 2, 1)), "BatchNorm", "BatchNorm running", "InstanceNormPlus",
			"InstanceNormPlus conditional",
		} {
			c := plain[of]
			layer := c.Layer
			c.Name += ", " + act
			c.Layer = func() nn.Layer { return nn.Seq(layer(), make()) }
			all = append(all, c)
		}
	}
	return all
}

func shapes() (all []Case) {
	image := []int{2, 3, 6, 5}
	for _, w := range []device.Window{device.SquareWindow(2, 2, 0), device.SquareWindow(5, 1, 2),
		device.SquareWindow(3, 2, 1)} {
		all = append(all, of(name("AvgPool", w), nn.AvgPool{Window: w}, image...),
			of(name("MaxPool", w), nn.MaxPool{Window: w}, image...))
	}
	return append(all,
		of("Upsample", nn.Upsample{Factor: 3}, image...),
		of("Reshape", nn.Reshape{Shape: []int{5, -1}}, image...),
		made("Flatten", func() nn.Layer { return nn.Flatten() }, image...))
}

func compositions() []Case {
	conv := func(in, out int) nn.Layer {
		return &nn.Conv2D{In: in, Out: out, Window: device.SquareWindow(3, 1, 1)}
	}
	image := []int{3, 2, 4, 5}
	return []Case{
		made("Sequential", func() nn.Layer { return nn.Seq(conv(2, 3), nn.Tanh(), conv(3, 1)) }, image...),
		made("Sequential of nothing", func() nn.Layer { return nn.Seq() }, image...),
		made("Residual", func() nn.Layer { return &nn.Residual{Body: nn.Seq(nn.ELU(), conv(2, 2))} }, image...),
		made("Residual with shortcut", func() nn.Layer {
			return &nn.Residual{Body: nn.Seq(conv(2, 3), nn.Tanh()), Shortcut: conv(2, 3)}
		}, image...),
		made("Concat", func() nn.Layer {
			return &nn.Concat{Branches: []nn.Layer{conv(2, 3), nil, nn.Tanh(), conv(2, 1)}}
		}, image...),
	}
}
