package cost

import (
	"fmt"
	"math"

	"coupling/ot/internal/fault"
	"coupling/ot/internal/geometry"
)

// PointCost is a cost between two points of the same dimension, with its gradient.
//
// A cost may also have a method Validate() error, which Points calls.
//
// SqEuclidean, L1, Euclidean, Cosine, SqEuclideanL1(mix) and Power(p) are the ones of this package.
// A cost of the user's own is made by Radial, Inner or Separable where it is a function of |x−y|²,
// of x·y or of the coordinates' differences, or else is a CostFunc, which is called for every pair.
// Radial and Inner call the function n·m times and Separable n·m·d times, once where costs are held (Points) and in
// every pass where they are not: a scalar loop takes some 2 ns a call, a built-in .3 ns a coordinate.
type PointCost interface {
	// Cost returns c(x, y).
	Cost(x, y []float64) float64
	// Grad adds w·∂c/∂x to dx and w·∂c/∂y to dy. Either may be nil and is then skipped.
	Grad(dx, dy []float64, w float64, x, y []float64)
}

// Metric names a cost without parameters.
type Metric int

const (
	// SqEuclidean is |x−y|² = Σ (xₖ−yₖ)², not halved.
	SqEuclidean Metric = iota
	// L1 is Σ |xₖ−yₖ|; its gradient takes sign(0) = 0.
	L1
	// Euclidean is |x−y|; its gradient at x = y is 0.
	Euclidean
	// Cosine is 1 − x·y/(|x||y|), in [0, 2]; it is 1, with gradient 0, where x or y is 0.
	Cosine
)

// String returns the name of the cost.
func (c Metric) String() string {
	return fault.Name("Metric", int(c), "sqeuclidean", "l1", "euclidean", "cosine")
}

// Validate reports an unknown metric.
func (c Metric) Validate() error {
	if c < SqEuclidean || c > Cosine {
		return fault.OT(fault.ErrParameter, "Points: cost = Metric(%d): unknown", int(c))
	}
	return nil
}

// Cost returns c(x, y).
func (c Metric) Cost(x, y []float64) float64 { return c.Form().Cost(x, y) }

// Grad adds w·∂c/∂x to dx and w·∂c/∂y to dy.
func (c Metric) Grad(dx, dy []float64, w float64, x, y []float64) { c.Form().Grad(dx, dy, w, x, y) }

// CostFunc is a user's own cost. Gradient adds to dx and dy as PointCost.Grad does; it may be nil
// if no gradient with respect to points is asked for.
type CostFunc struct {
	Value    func(x, y []float64) float64
	Gradient func(dx, dy []float64, w float64, x, y []float64)
}

// Validate reports a nil Value.
func (f CostFunc) Validate() error {
	if f.Value == nil {
		return fault.OT(fault.ErrParameter, "Points: cost = CostFunc with a nil Value")
	}
	return nil
}

// Cost returns f.Value(x, y).
func (f CostFunc) Cost(x, y []float64) float64 { return f.Value(x, y) }

// Grad calls f.Gradient.
func (f CostFunc) Grad(dx, dy []float64, w float64, x, y []float64) { f.Gradient(dx, dy, w, x, y) }

// Differentiable reports whether there is a Gradient.
func (f CostFunc) Differentiable() bool { return f.Gradient != nil }

// Form returns the cost's vector form.
func (c Metric) Form() geometry.Form {
	switch c {
	case L1:
		return geometry.Form{Abs: 1}
	case Euclidean:
		return euclidean
	case Cosine:
		return geometry.Cosine
	}
	return geometry.Form{Square: 1}
}

var euclidean = geometry.PowerOf(1)

// formed is a cost that has a form, with its name.
type formed struct {
	form
	name    string
	invalid error
}

type form = geometry.Form

// Form returns the cost's vector form.
func (f formed) Form() geometry.Form { return f.form }

// String returns the call that made the cost.
func (f formed) String() string { return f.name }

// Validate reports a parameter out of range, or a nil value.
func (f formed) Validate() error { return f.invalid }

// parameter is a cost with a parameter, and what that must be where it is not valid.
func parameter(of string, v float64, valid bool, must string, f form) PointCost {
	out := formed{form: f, name: fmt.Sprintf("%s(%g)", of, v)}
	if !valid || math.IsInf(v, 0) {
		out.invalid = fault.OT(fault.ErrParameter, "Points: cost = %s: must be %s", out.name, must)
	}
	return out
}

// SqEuclideanL1 is the cost of DP-Sinkhorn, |x−y|² + mix·Σ|xₖ−yₖ|; its gradient takes sign(0) = 0.
func SqEuclideanL1(mix float64) PointCost {
	return parameter("SqEuclideanL1", mix, mix == mix, "finite", form{Square: 1, Abs: mix})
}

// Power is |x−y|ᵖ, the Euclidean distance to the power p > 0; its gradient at x = y is 0.
func Power(p float64) PointCost {
	return parameter("Power", p, p > 0, "> 0 and finite", geometry.PowerOf(p))
}

// Radial is the cost φ(|x−y|²) of a user's function φ. It is symmetric. value and slope replace
// every element s of v, a row of squared distances, by φ(s) and by φ′(s); slope may be nil if no
// gradient with respect to points is asked for. They are called from several goroutines.
// Differences and their products with plans are vector kernels, as for SqEuclidean.
//
//	cauchy := cost.Radial(func(v []float64) {
//		for j, s := range v {
//			v[j] = math.Log1p(s)
//		}
//	}, nil)
func Radial(value, slope func(v []float64)) PointCost {
	of := &geometry.Function{Value: value, Slope: slope}
	return own("Radial", of, form{Radial: of})
}

// Inner is Radial for the cost φ(x·y).
func Inner(value, slope func(v []float64)) PointCost {
	of := &geometry.Function{Value: value, Slope: slope}
	return own("Inner", of, form{Inner: of})
}

// Separable is the cost Σₖ h(xₖ−yₖ) of a user's function h, such as Huber's. value and slope
// replace every element t of v, the differences of one coordinate, by h(t) and by h′(t), as for
// Radial. An if that the processor mispredicts is the larger part of their time:
//
//	huber := cost.Separable(func(v []float64) {
//		for j, t := range v {
//			a := min(math.Abs(t), 1) // four times faster than if math.Abs(t) < 1
//			v[j] = a * (math.Abs(t) - a/2)
//		}
//	}, func(v []float64) {
//		for j, t := range v {
//			v[j] = max(-1, min(t, 1))
//		}
//	})
func Separable(value, slope func(v []float64)) PointCost {
	of := &geometry.Function{Value: value, Slope: slope}
	return own("Separable", of, form{Separable: of})
}

// own is the cost of a user's function.
func own(name string, of *geometry.Function, f form) PointCost {
	out := formed{form: f, name: name}
	if of.Value == nil {
		out.invalid = fault.OT(fault.ErrParameter, "Points: cost = %s with a nil value", name)
	}
	return out
}
