package train

import (
	"fmt"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// ClippedGrads adds to the gradients of a network's parameters Σ_n g_n·min(1, bound/|g_n|), where g_n is the gradient of
// example n alone: what DP-SGD adds noise to (Abadi et al. 2016, algorithm 1). It returns the norms |g_n|, an array of
// N. Call it after Forward, with the cotangent dy of the *sum* of the examples' losses, not their mean: row n of dy
// belongs to example n.
//
// No example's gradient is held. A first way back gives the norms layer by layer, from outer products (Goodfellow
// 2015), and a second one, with the rows of dy scaled, the sum; cost: two VJPs. Networks whose layers mix examples
// (batch statistics) or share a norm (spectral normalisation) panic.
//
// Rounding: the norms have the relative error of the device's products and sums; the factor is lowered by Margin so
// that this does not lift a contribution above bound.
func ClippedGrads(p *nn.Pass, net nn.Layer, dy *device.Array, bound float64) (norms *device.Array) {
	if !(bound > 0) {
		panic(fmt.Sprintf("train: ClippedGrads: bound = %v: must be > 0", bound))
	}
	n := dy.Dim(0)
	norms = ExampleNorms(p, net, dy)
	factor := norms.Clone()
	atMostOne(factor, bound*(1-Margin(dy.Type())))
	clipped := dy.Like()
	device.Mul(clipped.Reshape(n, -1), dy.Reshape(n, -1), factor.Reshape(n, 1))
	p.Rewind()
	net.VJP(p, clipped)
	return norms
}

// ExampleNorms returns the norms of the examples' own gradients, and leaves the gradients of parameters alone. Rewind
// lets the pass be differentiated again.
func ExampleNorms(p *nn.Pass, net nn.Layer, dy *device.Array) *device.Array {
	norms := dy.Device().Zeros(dy.Type(), dy.Dim(0))
	p.Squares = norms
	net.VJP(p, dy)
	p.Squares = nil
	device.Map(norms, norms, device.Sqrt, 0)
	return norms
}

// Margin is by how much, relatively, ClippedGrads aims below its bound: far above the rounding of a product of a few
// thousand terms, 4096·2^−24 = 2.4e-4 at worst and its square root in practice.
func Margin(t device.DType) float64 {
	if t == device.Float64 {
		return 1e-10
	}
	return 3e-4
}
