package cost

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/ot/internal/fault"
	"coupling/ot/internal/geometry"
)

// Lattice is the geometry of two grids of points, as of images or histograms, whose cost is a sum over axes.
type Lattice struct {
	lines
	n, m      int
	symmetric bool
	invalid   error
}

type lines = geometry.Lines

// Grid is the geometry between the points of two grids, in row-major order, with the cost c(i, j) = Σ_k
// axes[k](i_k, j_k): that of |x−y|² and L1, or of any other for each coordinate. The matrix of axis k has a row
// for each coordinate of the sources and a column for each of the targets; it is read, not copied. Solves take
// n·Σ_k m_k for a pass, not n·m, less at small ε where costs are convex, in memory of n and m. For 28×28 pixels
// of side 1:
//
//	line := mat.NewDense(28, 1, coordinates)
//	axis := ot.Cost(ot.Points(line, line, ot.SqEuclidean))
//	images := cost.Grid(axis, axis)
func Grid(axes ...*mat.Dense) *Lattice {
	g := &Lattice{n: 1, m: 1, symmetric: true}
	if len(axes) == 0 {
		g.invalid = fault.OT(fault.ErrShape, "Grid: there must be an axis")
	}
	for k, c := range axes {
		if c == nil || c.IsEmpty() {
			g.invalid = fault.OT(fault.ErrShape, "Grid: axis %d is empty", k)
			return g
		}
		n, m := c.Dims()
		g.n, g.m, g.symmetric = g.n*n, g.m*m, g.symmetric && mat.Equal(c, c.T())
	}
	g.lines = geometry.AlongLines(axes)
	return g
}

// Dims returns the number of sources and of targets.
func (g *Lattice) Dims() (n, m int) { return g.n, g.m }

// Row fills buf with the costs of source i.
func (g *Lattice) Row(i int, buf []float64) []float64 {
	filled := 1
	buf[0] = 0
	for _, x := range slices.Backward(g.Axes(false)) {
		n, m := x.Cost().Dims()
		row := x.Cost().RawRowView(i % n)
		for j := m - 1; j >= 0; j-- { // the first part last, since the others are made from it
			part := buf[j*filled : (j+1)*filled]
			copy(part, buf[:filled])
			floats.AddConst(row[j], part)
		}
		filled, i = filled*m, i/n
	}
	return buf[:g.m]
}

// Frugal reports that solvers are to keep memory of the order of n + m.
func (g *Lattice) Frugal() bool { return true }

// Finite reports that a cost of +Inf is an error.
func (g *Lattice) Finite() bool { return true }

// Symmetric reports whether the sources are the targets and costs are symmetric.
func (g *Lattice) Symmetric() bool { return g.symmetric }

// Validate reports axes that cannot be used.
func (g *Lattice) Validate() error {
	if g == nil {
		return fault.OT(fault.ErrShape, "geometry is a nil *cost.Lattice")
	}
	return g.invalid
}
