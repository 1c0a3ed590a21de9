package semidual

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/logspace"
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
)

// gridPass goes along the axes of a separable geometry, which adds up every pair in float64.
type gridPass struct{ geometry.Separable }

func (gridPass) Certifies() bool { return true }

// Separate returns the geometry if its cost is a sum over axes, else nil.
func Separate(g cost.Geometry) geometry.Separable {
	x, _ := g.(geometry.Separable)
	return x
}

func (p gridPass) Eval(s *Function, beta []float64) float64 {
	inv, workers := 1/s.Eps, len(s.Rows.Scratch)
	kern.Scale(s.H, inv, beta)
	lse, _ := geometry.Expect(p.Axes(false), s.H, nil, inv, false, workers)
	clear(s.RowL1)
	exact := s.Marginals == nil && s.Relax == 1
	for i, v := range lse {
		switch {
		case s.A[i] == 0:
			s.Alpha[i], lse[i] = math.Inf(-1), math.Inf(-1)
		case exact:
			lse[i] = s.LogA[i] - v
			s.Alpha[i] = s.Eps * lse[i]
		default:
			lse[i] = logspace.Log(s.SetAlpha(0, i, s.Eps*v)) - v
		}
	}
	col, _ := geometry.Expect(p.Axes(true), lse, nil, inv, false, workers)
	kern.Axpy(col, 1, s.H)
	kern.Exp(s.Col, col)
	return s.RowError() + s.columnError()
}

// softmin sets −ε log Σᵢ exp((αᵢ−cᵢⱼ)/ε) for every j = cols[k].
func (p gridPass) softmin(s *Function, cols []int, set func(k int, v float64)) {
	u := make([]float64, s.N)
	kern.Scale(u, 1/s.Eps, s.Alpha)
	lse, _ := geometry.Expect(p.Axes(true), u, nil, 1/s.Eps, false, len(s.Rows.Scratch))
	for k, j := range cols {
		set(k, -s.Eps*lse[j])
	}
}

// GridSoftmin returns −ε log Σⱼ exp((βⱼ−cᵢⱼ)/ε) for every source i where the cost is separable and
// a source has no weight, else nil.
func (s *Function) GridSoftmin(beta []float64) []float64 {
	if s.grid.Separable == nil || !slices.Contains(s.A, 0) {
		return nil
	}
	h := make([]float64, s.M)
	kern.Scale(h, 1/s.Eps, beta)
	lse, _ := geometry.Expect(s.grid.Axes(false), h, nil, 1/s.Eps, false, len(s.Rows.Scratch))
	kern.Scale(lse, -s.Eps, lse)
	return lse
}

// Halved is a separable problem with every two neighbours along each axis joined, and what
// potentials of it say of the whole.
type Halved struct {
	Axes []*mat.Dense
	A, B []float64

	mixed []*geometry.Axis // targets of the whole by sources of the halves
}

// Halved returns the halved problem, nil where the cost is not separable, grids are small, or costs
// curve so much within two neighbours that the potentials at eps would not be near.
func (s *Function) Halved(eps float64) *Halved {
	if s.grid.Separable == nil {
		return nil
	}
	h := &Halved{A: s.A, B: s.B}
	curve, n, m := 0., s.N, s.M
	for _, x := range s.grid.Axes(false) {
		rows, cols := x.Cost().Dims()
		if min(rows, cols) < minHalved {
			return nil
		}
		half := averaged(x.Cost())
		whole := averaged(mat.DenseCopyOf(half.T()))
		curve += x.Curve()
		h.Axes = append(h.Axes, mat.DenseCopyOf(whole.T()))
		h.mixed = append(h.mixed, geometry.NewAxis(mat.DenseCopyOf(half.T())))
		n, m = n/rows, m/cols
		h.A, h.B = joined(h.A, n, rows), joined(h.B, m, cols)
		n, m = n*((rows+1)/2), m*((cols+1)/2)
	}
	if curve > eps {
		return nil
	}
	return h
}

// minHalved is the least length of an axis that is halved.
const minHalved = 16

// averaged returns the means of rows 2i and 2i+1, the last alone where their number is odd.
func averaged(c *mat.Dense) *mat.Dense {
	n, m := c.Dims()
	out := mat.NewDense((n+1)/2, m, nil)
	for i := range (n + 1) / 2 {
		row, other := out.RawRowView(i), c.RawRowView(min(2*i+1, n-1))
		kern.Scale(row, 0.5, c.RawRowView(2*i))
		kern.Axpy(row, 0.5, other)
	}
	return out
}

// joined adds up neighbours along the first axis, of length n, and makes it the last.
func joined(w []float64, rest, n int) []float64 {
	half := (n + 1) / 2
	out := make([]float64, rest*half)
	for i := range n {
		for r := range rest {
			out[r*half+i/2] += w[i*rest+r]
		}
	}
	return out
}

// Extend returns β at the present ε for the potentials f of the halved problem's sources.
func (h *Halved) Extend(s *Function, f []float64) []float64 {
	u := make([]float64, len(f))
	for i, a := range h.A {
		u[i] = f[i]/s.Eps + logspace.Log(a)
	}
	lse, _ := geometry.Expect(h.mixed, u, nil, 1/s.Eps, false, len(s.Rows.Scratch))
	kern.Scale(lse, -s.Eps, lse)
	return s.Start(lse)
}
