package device

import "coupling/lab/device/internal/backend"

// Reduction says how elements become one.
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
	c := check("Reduce", dst).float(x).spread(x, dst)
	if f >= backend.NumReduction {
		c.fail("f = %d: no such reduction", f)
	}
	c.do(func() error { return dst.ops().Reduce(dst.t, x.t, f) })
}

// ReduceDot is Σ x·y over the axes where dst has size 1.
func ReduceDot(dst, x, y *Array) {
	c := check("ReduceDot", dst).float(x, y).spread(x, dst)
	if !equal(x, y) {
		c.fail("shapes %v and %v: must be equal", x.t.Shape, y.t.Shape)
	}
	c.do(func() error { return dst.ops().ReduceDot(dst.t, x.t, y.t) })
}

// Normalise is y = (x − mean)·rstd, where mean and rstd broadcast: to 1×C×1×1 for batch, N×C×1×1 for instance
// normalisation. y may be x.
func Normalise(y, x, mean, rstd *Array) {
	c := check("Normalise", y).float(x, mean, rstd).like(x).spread(y, mean, rstd)
	c.do(func() error { return y.ops().Normalise(y.t, x.t, mean.t, rstd.t) })
}

// NormaliseVJP is the gradient of Normalise through mean and variance too: dx = rstd·(dy − m1 − y·m2), where m1 is the
// mean of dy and m2 the mean of dy·y over the axes that were normalised. dx may be dy.
func NormaliseVJP(dx, dy, y, rstd, m1, m2 *Array) {
	c := check("NormaliseVJP", dx).float(dy, y, rstd, m1, m2).like(dy, y).spread(dx, rstd, m1, m2)
	c.do(func() error { return dx.ops().NormaliseVJP(dx.t, dy.t, y.t, rstd.t, m1.t, m2.t) })
}
