package cost

import (
	"math"

	"coupling/ot/internal/fault"
	"coupling/ot/internal/geometry"
)

// PointCost is a cost between two points of the same dimension, with its gradient.
//
// A cost may also have a method Validate() error, which Points calls.
//
// SqEuclidean, L1, Euclidean, Cosine, SqEuclideanL1(mix) and Power(p) are the ones of this package.
// A cost of the user's own is a Radial, an Inner or a Separable where it is a function of |x−y|²,
// of x·y or of the coordinates' differences, which costs little more than a built-in, or else a
// CostFunc, which is called for every pair.
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

// SqEuclideanL1 is the cost of DP-Sinkhorn, |x−y|² + m·Σ|xₖ−yₖ|; the value is the mix m.
type SqEuclideanL1 float64

// Validate reports a mix that is not finite.
func (c SqEuclideanL1) Validate() error {
	if math.IsNaN(float64(c)) || math.IsInf(float64(c), 0) {
		return fault.OT(fault.ErrParameter, "Points: cost = SqEuclideanL1(%g): must be finite", float64(c))
	}
	return nil
}

// Cost returns |x−y|² + m·|x−y|₁.
func (c SqEuclideanL1) Cost(x, y []float64) float64 { return c.Form().Cost(x, y) }

// Grad adds w·∂c/∂x to dx and w·∂c/∂y to dy, with sign(0) = 0.
func (c SqEuclideanL1) Grad(dx, dy []float64, w float64, x, y []float64) {
	c.Form().Grad(dx, dy, w, x, y)
}

// Power is |x−y|ᵖ, the Euclidean distance to the power p > 0; the value is p.
type Power float64

// Validate reports a p that is not positive and finite.
func (c Power) Validate() error {
	if !(c > 0) || math.IsInf(float64(c), 0) {
		return fault.OT(fault.ErrParameter, "Points: cost = Power(%g): must be > 0 and finite", float64(c))
	}
	return nil
}

// Cost returns |x−y|ᵖ.
func (c Power) Cost(x, y []float64) float64 { return c.Form().Cost(x, y) }

// Grad adds w·∂c/∂x to dx and w·∂c/∂y to dy; 0 at x = y.
func (c Power) Grad(dx, dy []float64, w float64, x, y []float64) { c.Form().Grad(dx, dy, w, x, y) }

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

// Form returns the cost as solvers know it.
func (c Metric) Form() geometry.Form {
	switch c {
	case L1:
		return geometry.Form{Abs: 1}
	case Euclidean:
		return geometry.Form{Power: 1}
	case Cosine:
		return geometry.Form{Angle: true}
	}
	return geometry.Form{Square: 1}
}

// Form returns the cost as solvers know it.
func (c SqEuclideanL1) Form() geometry.Form { return geometry.Form{Square: 1, Abs: float64(c)} }

// Form returns the cost as solvers know it.
func (c Power) Form() geometry.Form { return geometry.Form{Power: float64(c)} }

// Radial is the cost φ(|x−y|²) of a user's function φ. It is symmetric. Value and Slope replace
// every element s of v, a row of squared distances, by φ(s) and by φ′(s); Slope may be nil if no
// gradient with respect to points is asked for. They are called from several goroutines.
// Differences and their products with plans are vector kernels, as for SqEuclidean.
//
//	cauchy := cost.Radial{Value: func(v []float64) {
//		for j, s := range v {
//			v[j] = math.Log1p(s)
//		}
//	}}
type Radial struct{ Value, Slope func(v []float64) }

// Inner is Radial for the cost φ(x·y).
type Inner struct{ Value, Slope func(v []float64) }

// Separable is the cost Σₖ h(xₖ−yₖ) of a user's function h, such as Huber's. Value and Slope
// replace every element t of v, the differences of one coordinate, by h(t) and by h′(t), as for
// Radial.
type Separable struct{ Value, Slope func(v []float64) }

// Form returns the cost as solvers know it.
func (f Radial) Form() geometry.Form { return geometry.Form{Radial: (*geometry.Function)(&f)} }

// Form returns the cost as solvers know it.
func (f Inner) Form() geometry.Form { return geometry.Form{Inner: (*geometry.Function)(&f)} }

// Form returns the cost as solvers know it.
func (f Separable) Form() geometry.Form { return geometry.Form{Separable: (*geometry.Function)(&f)} }

// Cost returns φ(|x−y|²).
func (f Radial) Cost(x, y []float64) float64 { return f.Form().Cost(x, y) }

// Cost returns φ(x·y).
func (f Inner) Cost(x, y []float64) float64 { return f.Form().Cost(x, y) }

// Cost returns Σₖ h(xₖ−yₖ).
func (f Separable) Cost(x, y []float64) float64 { return f.Form().Cost(x, y) }

// Grad adds w·∂c/∂x to dx and w·∂c/∂y to dy.
func (f Radial) Grad(dx, dy []float64, w float64, x, y []float64) { f.Form().Grad(dx, dy, w, x, y) }

// Grad adds w·∂c/∂x to dx and w·∂c/∂y to dy.
func (f Inner) Grad(dx, dy []float64, w float64, x, y []float64) { f.Form().Grad(dx, dy, w, x, y) }

// Grad adds w·∂c/∂x to dx and w·∂c/∂y to dy.
func (f Separable) Grad(dx, dy []float64, w float64, x, y []float64) { f.Form().Grad(dx, dy, w, x, y) }

// Validate reports a nil Value.
func (f Radial) Validate() error { return hasValue("Radial", f.Value) }

// Validate reports a nil Value.
func (f Inner) Validate() error { return hasValue("Inner", f.Value) }

// Validate reports a nil Value.
func (f Separable) Validate() error { return hasValue("Separable", f.Value) }

func hasValue(name string, value func([]float64)) error {
	if value == nil {
		return fault.OT(fault.ErrParameter, "Points: cost = %s with a nil Value", name)
	}
	return nil
}
