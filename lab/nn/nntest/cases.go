package nntest

import (
	"fmt"
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/initial"
)

// Layers returns a case for every layer of package nn and every way it can be set.
func Layers() []Case {
	var all []Case
	for _, group := range [][]Case{dense(), convolutions(), transposed(), norms(), conditional(), elementwise(),
		activated(), shapes(), compositions()} {
		all = append(all, group...)
	}
	return all
}

// fresh returns a function that makes copies of a layer that was not initialised.
func fresh[L any, P interface {
	*L
	nn.Layer
}](l L) func() nn.Layer {
	return func() nn.Layer {
		c := l
		return P(&c)
	}
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

func dense() []Case {
	return []Case{
		{Name: "Dense", Layer: fresh(nn.Dense{In: 5, Out: 3}), Shape: []int{4, 5}},
		{Name: "Dense one example", Layer: fresh(nn.Dense{In: 17, Out: 33}), Shape: []int{1, 17}},
		{Name: "Dense no bias", Layer: fresh(nn.Dense{In: 1, Out: 7, NoBias: true}), Shape: []int{3, 1}},
		{
			Name:  "Dense spectral",
			Mixes: true,
			Shape: []int{4, 6},
			Layer: fresh(nn.Dense{In: 6, Out: 5, Weights: Dominated, Spectral: &nn.Spectral{Steps: 8}}),
		},
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

func convolutions() []Case {
	var all []Case
	for i, w := range windows() {
		all = append(all, Case{Name: name("Conv2D", w), Shape: []int{3, 2, 7, 6}, Layer: fresh(nn.Conv2D{
			In:     2,
			Out:    3,
			Window: w,
			NoBias: i%2 == 1,
		})}, Case{Name: name("Conv2D narrowing", w), Shape: []int{3, 5, 7, 6}, Layer: fresh(nn.Conv2D{In: 5, Out: 2,
			Window: w})})
	}
	return append(all, Case{Name: "Conv2D of the whole image", Shape: []int{3, 2, 5, 4},
		Layer: fresh(nn.Conv2D{In: 2, Out: 3, Window: device.Window{Kernel: [2]int{5, 4}}})},
		Case{Name: "Conv2D of ever the same pixel", Shape: []int{3, 2, 1, 1},
			Layer: fresh(nn.Conv2D{In: 2, Out: 3, Window: device.Window{
				Kernel: [2]int{3, 3}, Pad: [2]int{4, 4}, Dilation: [2]int{4, 4}}})}, Case{
			Name:  "Conv2D spectral",
			Mixes: true,
			Shape: []int{2, 2, 5, 4},
			Layer: fresh(nn.Conv2D{
				In:       2,
				Out:      3,
				Window:   device.SquareWindow(3, 1, 1),
				Weights:  Dominated,
				Spectral: &nn.Spectral{Steps: 8},
			}),
		})
}

func transposed() []Case {
	var all []Case
	for i, w := range windows() {
		shape := []int{3, 2, 4, 3}
		all = append(all, Case{Name: name("ConvTranspose2D", w), Shape: shape,
			Layer: fresh(nn.ConvTranspose2D{In: 2, Out: 3, Window: w, NoBias: i%2 == 1})},
			Case{Name: name("ConvTranspose2D widening", w), Shape: shape,
				Layer: fresh(nn.ConvTranspose2D{In: 2, Out: 5, Window: w})})
	}
	return append(all,
		Case{Name: "ConvTranspose2D of a pixel", Shape: []int{3, 5, 1, 1},
			Layer: fresh(nn.ConvTranspose2D{In: 5, Out: 2, Window: device.SquareWindow(7, 1, 0)})},
		Case{Name: "ConvTranspose2D of a padded pixel", Shape: []int{3, 5, 1, 1},
			Layer: fresh(nn.ConvTranspose2D{In: 5, Out: 2, Window: device.SquareWindow(4, 2, 1)})})
}

func norms() []Case {
	image, rows := []int{3, 4, 3, 5}, []int{6, 4}
	return []Case{
		{Name: "BatchNorm", Layer: fresh(nn.BatchNorm{Channels: 4}), Shape: image, Training: true, Mixes: true},
		{Name: "BatchNorm rows", Layer: fresh(nn.BatchNorm{Channels: 4, Batch: true}), Shape: rows, Mixes: true},
		{
			Name:  "BatchNorm plain",
			Layer: fresh(nn.BatchNorm{Channels: 4, Batch: true, NoAffine: true}),
			Shape: image,
			Mixes: true,
		},
		{Name: "BatchNorm running", Layer: fresh(nn.BatchNorm{Channels: 4}), Shape: image},
		{Name: "InstanceNormPlus", Shape: image, Layer: fresh(nn.InstanceNormPlus{Channels: 4})},
	}
}

func conditional() []Case {
	image := []int{4, 3, 3, 2}
	return []Case{
		{
			Name:    "InstanceNormPlus conditional",
			Shape:   image,
			Classes: 3,
			Layer:   fresh(nn.InstanceNormPlus{Channels: 3, Classes: 3}),
		},
		{
			Name:     "ConditionalBatchNorm",
			Shape:    image,
			Width:    5,
			Training: true,
			Mixes:    true,
			Layer:    fresh(nn.ConditionalBatchNorm{Channels: 3, Width: 5}),
		},
		{
			Name:  "ConditionalBatchNorm running",
			Shape: image,
			Width: 5,
			Layer: fresh(nn.ConditionalBatchNorm{Channels: 3, Width: 5}),
		},
		{
			Name:  "ConditionalBatchNorm spectral",
			Shape: image,
			Width: 5,
			Mixes: true,
			Layer: fresh(nn.ConditionalBatchNorm{
				Channels: 3,
				Width:    5,
				Batch:    true,
				Weights:  Dominated,
				Spectral: &nn.Spectral{Steps: 8},
			}),
		},
		{
			Name:    "AppendClass",
			Shape:   []int{5, 3},
			Classes: 4,
			Layer:   fresh(nn.AppendClass{Embedding: nn.Embedding{Classes: 4, Width: 2}}),
		},
		{
			Name:    "Conditioned",
			Shape:   image,
			Classes: 3,
			Layer: func() nn.Layer {
				return &nn.Conditioned{
					Embedding: nn.Embedding{Classes: 3, Width: 2, Weights: initial.Orthogonal()},
					Body: nn.Seq(&nn.ConditionalBatchNorm{Channels: 3, Width: 2}, nn.Tanh(),
						&nn.ConditionalBatchNorm{Channels: 3, Width: 2}),
				}
			},
			Mixes: true,
		},
	}
}

func elementwise() []Case {
	var all []Case
	for name, a := range map[string]func() *nn.Activation{
		"ReLU": nn.ReLU, "LeakyReLU": func() *nn.Activation { return nn.LeakyReLU(.2) }, "ELU": nn.ELU,
		"Softplus": nn.Softplus, "Tanh": nn.Tanh, "Sigmoid": nn.Sigmoid, "SiLU": nn.SiLU,
	} {
		all = append(all, Case{Name: name, Shape: []int{3, 7}, Layer: func() nn.Layer { return a() }})
	}
	return append(all,
		Case{Name: "Affine", Shape: []int{3, 2, 2, 2}, Layer: fresh(nn.Affine{By: 2, Plus: -1})},
		Case{Name: "Dropout", Shape: []int{4, 9}, Training: true, Layer: fresh(nn.Dropout{Rate: .3})},
		Case{
			Name:     "Dropout of channels",
			Shape:    []int{4, 5, 3, 2},
			Training: true,
			Layer:    fresh(nn.Dropout{Rate: .5, Channels: true}),
		},
		Case{Name: "Dropout at inference", Shape: []int{4, 9}, Layer: fresh(nn.Dropout{Rate: .3})},
	)
}

// activated is layers that run in one pass with the activation after them: one whose derivative is
// a function of the output, which overwrites, and two of the argument.
func activated() []Case {
	image := []int{3, 4, 5, 4}
	var all []Case
	for name, act := range map[string]func() *nn.Activation{
		"LeakyReLU": func() *nn.Activation { return nn.LeakyReLU(.2) }, "ELU": nn.ELU, "SiLU": nn.SiLU,
	} {
		add := func(c Case, layer func() nn.Layer) {
			c.Name += ", " + name
			c.Layer = func() nn.Layer { return nn.Seq(layer(), act()) }
			all = append(all, c)
		}
		add(Case{Name: "Dense", Shape: []int{4, 5}}, fresh(nn.Dense{In: 5, Out: 3}))
		add(Case{Name: "Conv2D", Shape: image}, fresh(nn.Conv2D{In: 4, Out: 3, Window: device.SquareWindow(3, 1, 1)}))
		add(Case{Name: "Conv2D no bias", Shape: image}, fresh(nn.Conv2D{
			In:     4,
			Out:    3,
			NoBias: true,
			Window: device.SquareWindow(3, 1, 1),
		}))
		add(Case{Name: "ConvTranspose2D", Shape: image},
			fresh(nn.ConvTranspose2D{In: 4, Out: 3, Window: device.SquareWindow(4, 2, 1)}))
		add(Case{Name: "BatchNorm", Shape: image, Training: true, Mixes: true}, fresh(nn.BatchNorm{Channels: 4}))
		add(Case{Name: "BatchNorm running", Shape: image}, fresh(nn.BatchNorm{Channels: 4}))
		add(Case{Name: "InstanceNormPlus", Shape: image}, fresh(nn.InstanceNormPlus{Channels: 4}))
		add(Case{Name: "InstanceNormPlus conditional", Shape: image, Classes: 3},
			fresh(nn.InstanceNormPlus{Channels: 4, Classes: 3}))
	}
	return all
}

func shapes() []Case {
	image := []int{2, 3, 6, 5}
	var all []Case
	for _, w := range []device.Window{device.SquareWindow(2, 2, 0), device.SquareWindow(5, 1, 2),
		device.SquareWindow(3, 2, 1)} {
		all = append(all,
			Case{Name: name("AvgPool", w), Shape: image, Layer: fresh(nn.AvgPool{Window: w})},
			Case{Name: name("MaxPool", w), Shape: image, Layer: fresh(nn.MaxPool{Window: w})})
	}
	return append(all,
		Case{Name: "Upsample", Shape: image, Layer: fresh(nn.Upsample{Factor: 3})},
		Case{Name: "Reshape", Shape: image, Layer: fresh(nn.Reshape{Shape: []int{5, -1}})},
		Case{Name: "Flatten", Shape: image, Layer: func() nn.Layer { return nn.Flatten() }})
}

func compositions() []Case {
	conv := func(in, out int) nn.Layer {
		return &nn.Conv2D{In: in, Out: out, Window: device.SquareWindow(3, 1, 1)}
	}
	image := []int{3, 2, 4, 5}
	return []Case{
		{Name: "Sequential", Shape: image, Layer: func() nn.Layer { return nn.Seq(conv(2, 3), nn.Tanh(), conv(3, 1)) }},
		{Name: "Sequential of nothing", Shape: image, Layer: func() nn.Layer { return nn.Seq() }},
		{Name: "Residual", Shape: image,
			Layer: func() nn.Layer { return &nn.Residual{Body: nn.Seq(nn.ELU(), conv(2, 2))} }},
		{Name: "Residual with shortcut", Shape: image, Layer: func() nn.Layer {
			return &nn.Residual{Body: nn.Seq(conv(2, 3), nn.Tanh()), Shortcut: conv(2, 3)}
		}},
		{Name: "Concat", Shape: image, Layer: func() nn.Layer {
			return &nn.Concat{Branches: []nn.Layer{conv(2, 3), nil, nn.Tanh(), conv(2, 1)}}
		}},
	}
}
