package device

import "coupling/lab/device/internal/backend"

// Reduction selects how elements are combined to one.
type Reduction = backend.Reduction

// The reductions.
const (
	Sum        = backend.Sum        // Σ x
	Mean       = backend.Mean       // Σ x / count
	SumSquares = backend.SumSquares // Σ x²
	Norm       = backend.Norm       // √Σ x²
	Largest    = backend.Largest    // max x
	LogSumExp  = backend.LogSumExp  // log Σ eˣ
)

// Reduce reduces x over the axes where dst has size 1 and x has not: a row norm is Reduce(norms[n×1], x[n×d], Norm),
// the gradient of a bias Reduce(db[1×C×1×1], dy[N×C×H×W], Sum). The order of summation depends on shapes alone.
func Reduce(dst, x *Array, f Reduction) {
	c := check("Reduce", dst).float(x).spread(x, dst).apart(x)
	if f >= backend.NumReduction {
		c.fail("f = %d: no such reduction", f)
	}
	c.do(func() { dst.ops().Reduce(dst.t, x.t, f) })
}

// ReduceDot is Σ x·y over the axes where dst has size 1.
func ReduceDot(dst, x, y *Array) {
	c := check("ReduceDot", dst).float(x, y).spread(x, dst).apart(x, y)
	if !equal(x, y) {
		c.fail("shapes %v and %v: must be equal", x.t.Shape, y.t.Shape)
	}
	c.do(func() { dst.ops().ReduceDot(dst.t, x.t, y.t) })
}
