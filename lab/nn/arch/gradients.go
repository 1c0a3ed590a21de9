package arch

import (
	"math"
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/initial"

	"gonum.org/v1/gonum/floats"
)

const (
	kernel = 5
	edges  = 8 // directions in which an edge is the rise of brightness
	lines  = 4 // directions of bright lines, and of dark ones
)

// GradientCell is the side of a cell of [Gradients].
const GradientCell = 4

// Gradients sees oriented edges and lines in images of the given channels: the square root of the mean, over each
// cell of 4×4 pixels, of the positive part of fixed filters. For N×C×H×W it has (16 + C)·⌊H/4⌋·⌊W/4⌋ outputs an
// image, 833 for MNIST's. It has no weights that are learnt; its Params are the filters, which an optimiser must not
// get.
//
// Source: Dalal, Triggs, "Histograms of oriented gradients for human detection" (2005).
func Gradients(channels int) *nn.Sequential {
	return nn.Seq(
		&nn.Conv2D{
			In: channels, Out: edges + 2*lines + channels, Window: device.SquareWindow(kernel, 1, kernel/2),
			NoBias: true, Weights: initial.Law(gradients),
		},
		nn.ReLU(), &nn.AvgPool{Window: device.SquareWindow(GradientCell, GradientCell, 0)},
		&nn.Affine{By: 1, Plus: 1e-3}, &nn.Activation{Func: device.Sqrt}, nn.Flatten(),
	)
}

// gradients are Gaussian first derivatives in the directions of edges, second derivatives in those of lines and their
// negatives, of the mean of all channels; and the blurred channels.
func gradients(_ *rand.Rand, w []float64, shape []int) {
	channels := shape[1]
	at := func(f, channel int) []float64 {
		size := kernel * kernel
		return w[(f*channels+channel)*size:][:size]
	}
	for f := range edges + 2*lines {
		values := at(f, 0)
		angle := 2 * math.Pi * float64(f) / edges
		draw(values, func(x, y float64) float64 {
			along := x*math.Cos(angle) + y*math.Sin(angle)
			if f < edges {
				return along
			}
			return along*along - 1
		})
		if f >= edges+lines {
			floats.Scale(-1, values)
		}
		floats.AddConst(-floats.Sum(values)/float64(len(values)), values)
		floats.Scale(2/floats.Norm(values, 1)/float64(channels), values)
		for c := range channels {
			copy(at(f, c), values)
		}
	}
	for c := range channels {
		values := at(edges+2*lines+c, c)
		draw(values, func(_, _ float64) float64 { return 1 })
		floats.Scale(1/floats.Sum(values), values)
	}
}

// draw writes a function times a Gaussian of variance 1 to a kernel.
func draw(values []float64, f func(x, y float64) float64) {
	for i := range values {
		x, y := float64(i%kernel-kernel/2), float64(i/kernel-kernel/2)
		values[i] = f(x, y) * math.Exp(-(x*x+y*y)/2)
	}
}
