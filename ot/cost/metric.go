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
// SqEuclidean, L1, Euclidean, Cosine, SqEuclideanL1(mix), Power(p) and CostFunc are the ones of this package.
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
