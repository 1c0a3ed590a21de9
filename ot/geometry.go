package ot

import (
	"gonum.org/v1/gonum/mat"
)

// Geometry is the cost c(i, j) of moving a unit of mass from source i to target j. It is where speed lives: solvers
// read costs only row by row, so a geometry may hold its matrix or make each row when it is asked.
//
// Dense, Points and MatrixFree make geometries; any other type with these two methods works with every solver, as fast as Dense
// where its rows are. Methods of Fused and Frugal are optional and make more of a geometry that has them; a type that embeds
// one of this package's has those of that one, and gradients with respect to points.
type Geometry interface {
	// Dims returns the number of sources n and of targets m.
	Dims() (n, m int)
	// Row returns the m costs of source i. It may fill and return buf, which has length m, or return storage of its
	// own, which the caller does not change. It is called from several goroutines at once, each with its own buf.
	Row(i int, buf []float64) []float64
}

// Fused is a Geometry that makes a row of exponentials faster than from its costs: without storing them.
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

// isQuick reports whether a geometry makes exponentials as fast as memory delivers costs.
func isQuick(g Geometry) bool {
	f, ok := underneath(g).(interface{ Quick() bool })
	return ok && f.Quick()
}

// validator is a geometry that can find fault with itself, or with being nil, before anything else is asked of it.
type validator interface {
	validate() error
}

// CostMatrix is a geometry that was given as its matrix.
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

// Check reports what is wrong with a geometry that was made from bad input: ErrShape, ErrCost or ErrParameter. Solvers do it
// themselves; what reads costs on its own should do it first.
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

// Cost returns the cost matrix of any geometry as a new n×m matrix. It panics with the error of Check where there is one.
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
