package train

import (
	"errors"
	"fmt"
	"math"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// NotFiniteError is the error of ClippedGrads for examples whose gradient has no norm: NaN or an
// infinity is in it, or its square leaves the range of the type (in float32 a norm above 1.8e19).
type NotFiniteError struct {
	Examples []int     // their rows in the batch
	Norms    []float64 // NaN or +Inf, of each
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("train: norms of the gradients of examples %v = %v: must be finite", e.Examples, e.Norms)
}

// ErrTF32 is the error of ClippedGrads on a device whose float32 products round their factors to
// TF32 (device.Info): a layer then has errors of 1e-3, which grow with depth in the two backward
// passes, so that no bound would hold.
var ErrTF32 = errors.New("products of float32 are rounded to TF32: norms and bounds of gradients would not hold")

// ClippedGrads adds to the gradients of a network's parameters Σ_n g_n·min(1, bound/|g_n|), where
// g_n is the gradient of example n alone: what DP-SGD adds noise to (Abadi et al. 2016, algorithm
// 1). It returns the norms |g_n|, an array of N. Call it after Forward, with the cotangent dy of
// the *sum* of the examples' losses, not their mean: row n of dy belongs to example n.
//
// No example's gradient is held. A backward pass gives the norms layer by layer, from outer products
// (Goodfellow 2015), and keeps each layer's cotangent, whose rows are then scaled for the sum (Bu et
// al. 2022, "Differentially private optimization on large model at small cost"). Cost: a VJP, the
// gradients of parameters once more, and a copy of the norms to the host, so that it cannot be
// recorded. A network with parameters outside of any Sequential goes back twice. It is the last use
// of the pass, which becomes ParamsOnly. Networks whose layers mix examples (batch statistics),
// share a norm (spectral normalisation) or use a parameter twice panic.
//
// An example whose norm is not finite has no clipped gradient, and its products with other
// examples' zeros (0·∞) cannot be bounded either. The error is then a *NotFiniteError, the
// gradients of parameters are unchanged, and the norms are returned with it. The caller may stop,
// or repeat the pass without those examples, dividing by the same batch size. Then each of them
// counts as zero, which is a function of that example alone and within the bound, so the
// sensitivity of the sum, and the privacy of its noise, do not change. The noise does not protect
// the number of these examples, nor the norms. Other errors are ErrTF32, with nothing done, and the
// device's.
//
// Rounding: the norms have the relative error of the device's products and sums; the factor is lowered by Margin so
// that this does not lift a contribution above bound.
func ClippedGrads(p *nn.Pass, net nn.Layer, dy *device.Array, bound float64) (norms *device.Array, err error) {
	if !(bound > 0) || math.IsInf(bound, 1) {
		panic(fmt.Sprintf("train: ClippedGrads: bound = %v: must be > 0 and finite", bound))
	}
	if dy.Type() == device.Float32 && dy.Device().Info().TF32 {
		return nil, fmt.Errorf("train: ClippedGrads: %w", ErrTF32)
	}
	n := dy.Dim(0)
	p.Revisit = true
	norms = ExampleNorms(p, net, dy)
	if err := finite(norms); err != nil {
		return norms, err
	}
	factor := norms.Clone()
	atMostOne(factor, bound*(1-Margin(dy.Type())))
	if p.Weighted(net, factor) {
		return norms, nil
	}
	clipped := dy.Like()
	device.Mul(clipped.Reshape(n, -1), dy.Reshape(n, -1), factor.Reshape(n, 1))
	p.Rewind()
	p.ParamsOnly = true
	net.VJP(p, clipped)
	return norms, nil
}

// atMostOne is x = min(1, bound/x).
func atMostOne(x *device.Array, bound float64) {
	one := x.Like()
	device.Fill(one, 1)
	device.Map(x, x, device.Recip, 0)
	device.Scale(x, bound, x)
	device.Min(x, x, one)
	one.Free()
}

// finite is nil if all norms are.
func finite(norms *device.Array) error {
	v, err := norms.Float64s()
	if err != nil {
		return fmt.Errorf("train: ClippedGrads: %w", err)
	}
	var bad NotFiniteError
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			bad.Examples, bad.Norms = append(bad.Examples, i), append(bad.Norms, x)
		}
	}
	if bad.Examples != nil {
		return &bad
	}
	return nil
}

// ExampleNorms returns the norms of the examples' own gradients, and leaves the gradients of parameters alone. Rewind
// lets the pass be differentiated again. A network that has a parameter twice panics: each use adds to a gradient, of
// which the squares of the parts are not the square.
func ExampleNorms(p *nn.Pass, net nn.Layer, dy *device.Array) *device.Array {
	seen := map[*nn.Param]bool{}
	for _, w := range nn.Trainable(net.Params()) {
		if seen[w] {
			panic(fmt.Sprintf(
				"train: ExampleNorms: %s is in the network twice: its per-example norm is not that of its parts",
				w.Name))
		}
		seen[w] = true
	}
	norms := dy.Device().Zeros(dy.Type(), dy.Dim(0))
	p.Squares = norms
	net.VJP(p, dy)
	p.Squares = nil
	device.Map(norms, norms, device.Sqrt, 0)
	return norms
}

// Margin returns the relative amount by which ClippedGrads stays below its bound: far above the rounding
// of a product of a few thousand terms, 4096·2^−24 = 2.4e-4 at worst and its square root in
// practice.
func Margin(t device.DType) float64 {
	if t == device.Float64 {
		return 1e-10
	}
	return 3e-4
}
