package ot

import (
	"gonum.org/v1/gonum/mat"
)

// Geometry is the cost c(i, j) of moving a unit of mass from source i to target j. Solvers read
// costs only row by row, so a geometry may hold its matrix or compute each row when asked; the
// speed of a solve depends on it.
//
// Dense, Points and MatrixFree make geometries; any other type with these two methods works with
// every solver, as fast as Dense if its Row is as fast. A geometry may also implement the optional
// Fused and Frugal. A type that embeds a geometry of this package inherits its methods and its
// gradients with respect to points.
type Geometry interface {
	// Dims returns the number of sources n and of targets m.
	Dims() (n, m int)
	// Row returns the m costs of source i. It may fill and return buf, which has length m, or return storage of its
	// own, which the caller does not change. It is called from several goroutines at once, each with its own buf.
	Row(i int, buf []float64) []float64
}

// Fused is a Geometry that computes a row of exponentials without storing the costs, which is
// faster.
type Fused interface {
	Geometry
	// ExpRow writes dst[j] = exp(h[j] − c_ij·inv − shift) and returns the sum. cost is scratch, of length m.
	ExpRow(dst, cost []float64, i int, h []float64, inv, shift float64) float64
	// Quick reports whether that is as fast as reading costs from memory, so that storing a kernel in float64 does not pay.
	Quick() bool
}

// Frugal is a Geometry that can ask for memory that does not grow with n·m: then solvers keep at most 170 MB.
type Frugal interface {
	Geometry
	Frugal() bool
}

// isFrugal reports whether a geometry asks for little memory.
func isFrugal(g Geometry) bool {
	f, ok := underneath(g).(Frugal)
	return ok && f.Frugal()
}

// isQuick reports whether a geometry computes exponentials as fast as memory delivers costs.
func isQuick(g Geometry) bool {
	f, ok := underneath(g).(interface{ Quick() bool })
	return ok && f.Quick()
}

// validator is a geometry that checks itself, also when it is nil, before any other method is
// called.
type validator interface {
	validate() error
}

// CostMatrix is a geometry given as a cost matrix.
type CostMatrix struct {
	data    []float64
	n, m    int
	stride  int
	invalid error
}

// Dense is the geometry of a given n×m cost matrix, which is read, not copied: do not change it during a solve.
// Costs of either sign are allowed; NaN and infinities are reported by the solver.
func Dense(cost mat.Matrix) *CostMatrix {
	if cost == nil {
		return &CostMatrix{invalid: bad(ErrShape, "Dense: cost is nil")}
	}
	d, ok := cost.(*mat.Dense)
	if ok && d == nil {
		return &CostMatrix{invalid: bad(ErrShape, "Dense: cost is nil")}
	}
	if !ok {
		d = mat.DenseCopyOf(cost)
	}
	if d.IsEmpty() {
		return &CostMatrix{}
	}
	raw := d.RawMatrix()
	return &CostMatrix{data: raw.Data, n: raw.Rows, m: raw.Cols, stride: raw.Stride}
}

// Dims returns the number of sources and of targets.
func (c *CostMatrix) Dims() (n, m int) { return c.n, c.m }

// Row returns row i of the matrix itself.
func (c *CostMatrix) Row(i int, _ []float64) []float64 {
	return c.data[i*c.stride : i*c.stride+c.m : i*c.stride+c.m]
}

func (c *CostMatrix) validate() error {
	if c == nil {
		return bad(ErrShape, "geometry is a nil *CostMatrix")
	}
	return c.invalid
}

// Check returns an error for a geometry made from bad input: ErrShape, ErrCost or ErrParameter.
// Solvers call it; code that reads costs itself should call it first.
func Check(g Geometry) error { return checkGeometry("geometry", g) }

// checkGeometry is Check with the argument's name.
func checkGeometry(name string, g Geometry) error {
	if g == nil {
		return bad(ErrShape, "%s is nil", name)
	}
	if v, ok := g.(validator); ok {
		if err := v.validate(); err != nil {
			return err
		}
	}
	if n, m := g.Dims(); n < 1 || m < 1 {
		return bad(ErrShape, "%s is %d×%d: must have a source and a target", name, n, m)
	}
	return nil
}

// Cost returns the cost matrix of any geometry as a new n×m matrix. It panics with the error of
// Check if there is one.
func Cost(g Geometry) *mat.Dense {
	if err := Check(g); err != nil {
		panic(err)
	}
	n, m := g.Dims()
	data := make([]float64, n*m)
	sw := newSweep(g, 0)
	sw.each(func(w *worker, _ int, s span) {
		for i := s.Lo; i < s.Hi; i++ {
			copy(data[i*m:(i+1)*m], g.Row(i, w.cost))
		}
	})
	return mat.NewDense(n, m, data)
}
