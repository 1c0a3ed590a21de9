package geometry

import (
	"math"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/internal/fault"
	"coupling/ot/internal/rows"
)

// Separable is a Geometry between the points of two grids whose cost is a sum of one cost for each axis. Points
// are in row-major order. Axes(false) has the costs of each axis, sources by targets, and Axes(true) their
// transposes.
type Separable interface {
	Geometry
	Axes(transposed bool) []*Axis
}

// Lines makes a public geometry Separable, as Held makes one Pointed.
type Lines struct{ along, transposed []*Axis }

// AlongLines returns the Lines of the costs of each axis.
func AlongLines(costs []*mat.Dense) (l Lines) {
	for _, c := range costs {
		l.along = append(l.along, NewAxis(c))
		l.transposed = append(l.transposed, NewAxis(mat.DenseCopyOf(c.T())))
	}
	return l
}

// Axes returns the axes.
func (l Lines) Axes(transposed bool) []*Axis {
	if transposed {
		return l.transposed
	}
	return l.along
}

// Axis is the cost along one axis of a grid.
type Axis struct {
	cost *mat.Dense
	// isMonge says that c_ij + c_(i+1)(j+1) ≤ c_i(j+1) + c_(i+1)j everywhere, as with convex functions of the
	// difference of two rising coordinates: then a row of exp(h−c) has more of its sum at larger j than the row before.
	isMonge bool
	held    atomic.Pointer[tables] // of the last ε
}

// NewAxis returns the axis of a cost, n×m.
func NewAxis(c *mat.Dense) *Axis {
	x := &Axis{cost: c, isMonge: true}
	x.bends(func(by, size float64) { x.isMonge = x.isMonge && !(by > 0x1p-50*size) })
	return x
}

// Cost returns the costs along the axis.
func (x *Axis) Cost() *mat.Dense { return x.cost }

// Curve returns the mean over neighbours of |c_ij + c_(i+1)(j+1) − c_i(j+1) − c_(i+1)j|, 2 for squares of pixels.
func (x *Axis) Curve() (sum float64) {
	n, m := x.cost.Dims()
	x.bends(func(by, _ float64) { sum += math.Abs(by) })
	return sum / float64(max(1, (n-1)*(m-1)))
}

// bends calls f with every c_ij + c_(i+1)(j+1) − c_i(j+1) − c_(i+1)j and the largest size of the four.
func (x *Axis) bends(f func(by, size float64)) {
	n, m := x.cost.Dims()
	for i := range n - 1 {
		a, b := x.cost.RawRowView(i), x.cost.RawRowView(i+1)
		for j := range m - 1 {
			f(a[j]+b[j+1]-a[j+1]-b[j], max(math.Abs(a[j]), math.Abs(a[j+1]), math.Abs(b[j]), math.Abs(b[j+1])))
		}
	}
}

// Expect returns log Σⱼ exp(h_j − c_ij/ε) for every source i, with inv = 1/ε, by a pass along each axis, and
// the mean under these weights of a field over the targets, if not nil, plus that of the cost where withCost is
// set. Time is n times the sum of the axes' lengths, less where ε is small and costs are convex.
func Expect(axes []*Axis, h, field []float64, inv float64, withCost bool, workers int) (lse, mean []float64) {
	for k := len(axes) - 1; k >= 0; k-- {
		n, m := axes[k].cost.Dims()
		rest := len(h) / m
		p := &axisPass{
			tables:   axes[k].tables(inv),
			h:        h,
			out:      make([]float64, n*rest),
			field:    field,
			withCost: withCost,
			rest:     rest,
		}
		if field != nil {
			p.mean = make([]float64, n*rest)
		}
		sweep := rows.NewSweep(rest, n*m/8, workers, p.scratch)
		sweep.Each(func(w *axisScratch, _ int, s rows.Span) {
			for r := s.Lo; r < s.Hi; r += tileRows {
				p.tile(w, r, min(r+tileRows, s.Hi))
			}
		})
		h, field = p.out, p.mean
	}
	return h, field
}

// ScanSeparable is Scan by the axes: Min and Max bound the costs, as the least and largest along each axis add up to.
func ScanSeparable(g Separable, a, b []float64, bad newError) (s Stats, err error) {
	s.Mass = 1
	axes := g.Axes(false)
	for k, x := range axes {
		n, m := x.cost.Dims()
		for i := range n {
			for j, c := range x.cost.RawRowView(i) {
				if c-c != 0 {
					return s, bad(fault.ErrCost, "cost[%d,%d] = %g along axis %d: must be finite", i, j, c, k)
				}
			}
		}
		lo, hi := mat.Min(x.cost), mat.Max(x.cost)
		s.Min, s.Max = s.Min+lo, s.Max+hi
		s.Mean += mat.Inner(marginal(a, axes, k, false, n), x.cost, marginal(b, axes, k, true, m))
	}
	if math.IsInf(s.Max-s.Min, 0) || math.IsInf(s.Mean, 0) {
		return s, bad(fault.ErrCost, "costs from %g to %g: their range must be finite", s.Min, s.Max)
	}
	return s, nil
}

// marginal returns the sums of weights over all axes but k, whose length is n.
func marginal(w []float64, axes []*Axis, k int, targets bool, n int) *mat.VecDense {
	inner := 1
	for _, x := range axes[k+1:] {
		sources, m := x.cost.Dims()
		if inner *= sources; targets {
			inner = inner / sources * m
		}
	}
	out := mat.NewVecDense(n, nil)
	for i, v := range w {
		at := i / inner % n
		out.SetVec(at, out.AtVec(at)+v)
	}
	return out
}
