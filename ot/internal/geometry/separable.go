package geometry

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/logspace"
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

// Axis is the cost along one axis of a grid.
type Axis struct {
	cost    *mat.Dense
	isMonge bool
}

// NewAxis returns the axis of a cost, n×m.
func NewAxis(c *mat.Dense) *Axis { return &Axis{c, isMonge(c)} }

// Cost returns the costs along the axis.
func (x *Axis) Cost() *mat.Dense { return x.cost }

// Curve returns the mean over neighbours of |c_ij + c_(i+1)(j+1) − c_i(j+1) − c_(i+1)j|, 2 for squares of pixels.
func (x *Axis) Curve() (sum float64) {
	n, m := x.cost.Dims()
	for i := range n - 1 {
		a, b := x.cost.RawRowView(i), x.cost.RawRowView(i+1)
		for j := range m - 1 {
			sum += math.Abs(a[j] + b[j+1] - a[j+1] - b[j])
		}
	}
	return sum / float64(max(1, (n-1)*(m-1)))
}

// isMonge reports whether c_ij + c_(i+1)(j+1) ≤ c_i(j+1) + c_(i+1)j everywhere, as convex functions of the
// difference of two rising coordinates do: then a row of exp(h−c) has more of its sum at larger j than the row
// before.
func isMonge(c *mat.Dense) bool {
	n, m := c.Dims()
	for i := range n - 1 {
		a, b := c.RawRowView(i), c.RawRowView(i+1)
		for j := range m - 1 {
			most := max(math.Abs(a[j]), math.Abs(a[j+1]), math.Abs(b[j]), math.Abs(b[j+1]))
			if a[j]+b[j+1]-a[j+1]-b[j] > 0x1p-50*most {
				return false
			}
		}
	}
	return true
}

// negligible is the logarithm, against the largest, of entries whose sum is below rounding.
const negligible = 45

// Expect returns log Σⱼ exp(h_j − c_ij/ε) for every source i, with inv = 1/ε, by a pass along each axis, and
// the mean under these weights of a field over the targets, if not nil, plus that of the cost where withCost is
// set. Time is n times the sum of the axes' lengths, less where ε is small and costs are convex.
func Expect(axes []*Axis, h, field []float64, inv float64, withCost bool, workers int) (lse, mean []float64) {
	for k := len(axes) - 1; k >= 0; k-- {
		x := axes[k]
		n, m := x.cost.Dims()
		rest := len(h) / m
		out := make([]float64, n*rest)
		p := &axisPass{Axis: x, h: h, out: out, field: field, inv: inv, withCost: withCost, rest: rest}
		if field != nil {
			p.mean = make([]float64, n*rest)
		}
		sweep := rows.NewSweep(rest, n*m/8, workers, func() []float64 { return make([]float64, 2*m) })
		sweep.Each(func(w []float64, _ int, s rows.Span) {
			for r := s.Lo; r < s.Hi; r++ {
				p.rows(w, r, 0, n, 0, m)
			}
		})
		h, field = out, p.mean
	}
	return h, field
}

// axisPass reduces the last axis of a tensor and makes it the first.
type axisPass struct {
	*Axis
	h, out      []float64
	field, mean []float64
	inv         float64
	withCost    bool
	rest        int // the number of rows of h
}

// rows computes rows [lo, hi) of the axis for row r of h, whose entries outside [from, to) are negligible
// there. The middle row bounds the others where the cost is Monge: what is negligible there at small j is so
// below, and at large j above.
func (p *axisPass) rows(w []float64, r, lo, hi, from, to int) {
	if lo >= hi {
		return
	}
	mid := (lo + hi) / 2
	_, m := p.cost.Dims()
	h, c := p.h[r*m+from:r*m+to], p.cost.RawRowView(mid)[from:to]
	x := w[:len(h)]
	first, last := 0, len(h)
	top := kern.RowLogits(x, h, c, p.inv)
	if p.isMonge {
		cut := top - negligible
		for first < last && !(x[first] >= cut) {
			first++
		}
		for last > first && !(x[last-1] >= cut) {
			last--
		}
	}
	p.finish(w, r, mid, r*m+from+first, x[first:last], c[first:last], top)
	if !p.isMonge {
		first, last = 0, to-from
	}
	p.rows(w, r, lo, mid, from, from+last)
	p.rows(w, r, mid+1, hi, from+first, to)
}

// finish sets entry i of row r from x = h − c/ε, whose largest is top; at is the place of the first of them in h.
func (p *axisPass) finish(w []float64, r, i, at int, x, c []float64, top float64) {
	to := i*p.rest + r
	if math.IsInf(top, -1) {
		p.out[to] = top
		return
	}
	e := w[len(w)/2:][:len(x)]
	sum := kern.ExpAt(e, x, top)
	p.out[to] = top + logspace.Log(sum)
	if p.field == nil {
		return
	}
	mean := kern.Dot(e, p.field[at:at+len(x)])
	if p.withCost {
		mean += kern.Dot(e, c)
	}
	p.mean[to] = mean / sum
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
