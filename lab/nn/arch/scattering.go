package arch

import (
	"math"
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/initial"

	"gonum.org/v1/gonum/floats"
)

const turns = 8 // directions of wavelets, over half a turn

// Scattering returns the scattering transform of two scales and two orders: means over windows of 8×8 pixels, 4 apart,
// of x, |x⋆ψ| and ||x⋆ψ|⋆ψ′|, where ψ are Morlet wavelets of 8 directions at scales 1 and 2, and ψ′ those at scale 2
// after scale 1. For N×C×H×W, sides multiples of 4, it has 81·C·H·W/16 outputs an image, 3969 for MNIST's. It has no
// weights that are learnt; its Params are the wavelets, which an optimiser must not get. Cost: some 5 million
// multiplications for an image of MNIST.
//
// Source: J. Bruna, S. Mallat, "Invariant scattering convolution networks" (2013); with windows for the Gaussian mean.
func Scattering() nn.Layer {
	coarse := func() nn.Layer { return eachChannel{nn.Seq(modulus(1), window(2))} }
	return nn.Seq(eachChannel{&nn.Concat{Branches: []nn.Layer{
		window(4), coarse(),
		nn.Seq(modulus(0), &nn.Concat{Branches: []nn.Layer{window(4), coarse()}}),
	}}}, nn.Flatten())
}

// window is the mean over windows that are twice as wide as they are apart.
func window(apart int) nn.Layer {
	return &nn.AvgPool{Window: device.SquareWindow(2*apart, apart, apart/2)}
}

// modulus is |x⋆ψ| for the wavelets of scale 2^j, each direction a channel, at every 2^j-th pixel.
func modulus(j int) nn.Layer {
	side := []int{7, 13}[j]
	pairs := func(_ *rand.Rand, w []float64, _ []int) {
		for k := range turns {
			w[k*2*turns+2*k], w[k*2*turns+2*k+1] = 1, 1
		}
	}
	return nn.Seq(
		&nn.Conv2D{
			In: 1, Out: 2 * turns, Window: device.SquareWindow(side, 1<<j, side/2), NoBias: true,
			Weights: func(_ *rand.Rand, w []float64, _ []int) { morlet(w, j, side) },
		},
		&nn.Activation{Func: device.Square},
		&nn.Conv2D{
			In: 2 * turns, Out: turns, Window: device.SquareWindow(1, 1, 0), NoBias: true, Weights: initial.Law(pairs),
		},
		&nn.Affine{By: 1, Plus: 1e-8}, &nn.Activation{Func: device.Sqrt},
	)
}

// morlet writes real and imaginary part of each direction's wavelet, e^{−|u|²/2σ²}(e^{iξu₁} − κ) with σ = .8·2^j, half
// that along its stripes, ξ = ¾π/2^j, and κ such that it sums to 0; its moduli sum to 1.
func morlet(w []float64, j, side int) {
	sigma, xi := .8*float64(int(1)<<j), .75*math.Pi/float64(int(1)<<j)
	size := side * side
	for k := range turns {
		sin, cos := math.Sincos(math.Pi * float64(k) / turns)
		re, im, bell := w[2*k*size:][:size], w[(2*k+1)*size:][:size], make([]float64, size)
		for i := range bell {
			x, y := float64(i%side-side/2), float64(i/side-side/2)
			u, v := x*cos+y*sin, y*cos-x*sin
			bell[i] = math.Exp(-(u*u + v*v/4) / (2 * sigma * sigma))
			re[i], im[i] = bell[i]*math.Cos(xi*u), bell[i]*math.Sin(xi*u)
		}
		floats.AddScaled(re, -floats.Sum(re)/floats.Sum(bell), bell)
		moduli := 0.
		for i := range re {
			moduli += math.Hypot(re[i], im[i])
		}
		floats.Scale(1/moduli, re)
		floats.Scale(1/moduli, im)
	}
}

// eachChannel applies a layer to each channel of N×C×H×W as to an image of one, and joins what it makes of them.
type eachChannel struct{ nn.Layer }

// Forward joins.
func (e eachChannel) Forward(p *nn.Pass, x *device.Array) *device.Array {
	n, c := x.Dim(0), x.Dim(1)
	y := e.Layer.Forward(p, x.Reshape(n*c, 1, x.Dim(2), x.Dim(3)))
	p.PushShape(e, x)
	return y.Reshape(n, c*y.Dim(1), y.Dim(2), y.Dim(3))
}

// VJP goes back through each channel.
func (e eachChannel) VJP(p *nn.Pass, dy *device.Array) *device.Array {
	shape := p.PopShape(e)
	dx := e.Layer.VJP(p, dy.Reshape(shape[0]*shape[1], -1, dy.Dim(2), dy.Dim(3)))
	if dx == nil {
		return nil
	}
	return dx.Reshape(shape...)
}
