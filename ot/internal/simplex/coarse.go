package simplex

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
)

// A side of more than stride times as many points as the other is thinned: the potentials of a few
// decide those of many. The coarse problem has one point in stride, with the mass of its neighbours
// in the order given. Its dual solution is the start for the fine problem.
const stride = 4

// estimate returns an estimate of the dual potential g: the c-transform g_j = min_i C_ij − f_i of
// the coarse problem's f at all targets.
func (s *simplex) estimate() []float64 {
	rows, a := thin(s.supply.A, s.m)
	cols, b := thin(s.supply.B, s.n)
	thinned := mat.NewDense(len(rows), len(cols), nil)
	for k, i := range rows {
		row := s.row(i)
		for l, j := range cols {
			thinned.Set(k, l, row[j])
		}
	}
	part := Supplies{A: a, B: b, exp: s.supply.exp, free: s.supply.free}
	c := newSimplex(s.ctx, cost.Dense(thinned), part, nil, s.large)
	c.columns = c.transform(make([]float64, c.n))
	c.solve(0)
	s.err = cmp.Or(s.err, c.err)
	return s.transform(c.f(), rows...)
}

// transformBlock is the number of targets that a vector kernel compares at a time.
const transformBlock = 128

// transform returns g_j = min_k C(rows_k, j) − f_k, over all rows if none are given, and over the arcs that are listed
// unless there are none: others may be cheaper than f says, since they are not priced.
func (s *simplex) transform(f []float64, rows ...int) []float64 {
	g := slices.Repeat([]float64{math.Inf(1)}, s.m)
	for i, shift := range f {
		if math.IsInf(shift, -1) { // no mass
			continue
		}
		if rows != nil {
			i = rows[i]
		}
		to, cost := s.allArcs(i)
		lower(g, to, cost, shift)
	}
	fill(g, s.large-slices.Max(f))
	return g
}

// lower writes the C_ij − shift of these arcs to g where they are less; to is not read where there is one to each
// target.
func lower(g []float64, to []int32, cost []float64, shift float64) {
	if len(cost) < len(g) {
		for k, j := range to {
			g[j] = min(g[j], cost[k]-shift)
		}
		return
	}
	for lo, hi := 0, 0; lo < len(cost); lo = hi {
		hi = min(lo+transformBlock, len(cost))
		if -kern.RowMax(g[lo:hi], cost[lo:hi], 1) >= shift {
			continue // no target of the block
		}
		for j := lo; j < hi; j++ {
			g[j] = min(g[j], cost[j]-shift)
		}
	}
}

// fill writes v where g is +Inf.
func fill(g []float64, v float64) {
	for j, x := range g {
		if math.IsInf(x, 1) {
			g[j] = v
		}
	}
}

// thin groups points in runs of stride, where they are many, and returns the heaviest point of each with the mass of
// all.
func thin(w []Mass, others int) (at []int, total []Mass) {
	step := stride
	if len(w) <= stride*others {
		step = 1
	}
	for i := 0; i < len(w); i += step {
		best, sum := i, Mass{}
		for k := i; k < min(i+step, len(w)); k++ {
			if sum = sum.Add(w[k]); w[best].Less(w[k]) {
				best = k
			}
		}
		at, total = append(at, best), append(total, sum)
	}
	return at, total
}
