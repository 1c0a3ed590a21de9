// Package simplex is the network simplex method for the transportation problem; package exact is
// its face and has its sources.
package simplex

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/ot/cost"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/rows"
)

// Result is a basis at the end of a solve.
type Result struct {
	// A and B are the weights, uniform ones where they were nil.
	A, B []float64
	// F and G are potentials with ⟨a, F⟩ = ⟨b, G⟩ for measures of total 1: G is the c-transform of F.
	F, G []float64
	// Pivots counts the steps, and Limited says that their limit was reached.
	Pivots  int
	Limited bool
}

// Solve transports a to b (nil for uniform weights) by at most maxPivots pivots, 0 for no limit,
// and visits the arcs that carry mass.
func Solve(ctx context.Context, a, b []float64, c cost.Geometry, maxPivots int,
	visit func(i, j int, w float64)) (*Result, error) {
	all, columns, err := checkCost(ctx, c)
	if err != nil {
		return nil, err
	}
	n, m := c.Dims()
	if a, err = Weights("a", a, n); err != nil {
		return nil, err
	}
	if b, err = Weights("b", b, m); err != nil {
		return nil, err
	}
	supply, err := Quantise(a, b)
	if err != nil {
		return nil, err
	}
	x := newSimplex(ctx, all, supply, all.list(), all.large)
	x.columns = columns
	if x.solve(maxPivots); x.err != nil {
		return nil, x.err
	}
	if err := x.arcs(visit); err != nil {
		return nil, err
	}
	r := &Result{A: a, B: b, Pivots: x.pivots, Limited: x.limited}
	if r.F, r.G = x.potentials(); x.err != nil {
		return nil, x.err
	}
	Centre(a, b, r.F, r.G)
	return r, nil
}

// A simplex is a solve in progress.
type simplex struct {
	ctx     context.Context
	err     error // the context's, once it has ended: the solve goes on to the next point that looks at it
	cost    cost.Geometry
	n, m    int
	supply  Supplies
	a, b    []Mass // perturbed
	tree    *tree
	matched *assignment // the solution, where weights are equal and no pivot was needed
	pivots  int
	limited bool // by the number of pivots

	listed  geometry.Listed // the cost, where it lists its arcs
	large   float64         // the cost of others, +Inf where there are none
	all     []int32         // every target, where none are listed
	columns []float64       // the least cost of each, which solve overwrites
	tops    []float64       // scratch of shortlist
	found   []candidate

	buf  []float64 // the row last read
	last []float64
	at   int

	queue        []candidate // candidates from the last block, by key
	bar          float64
	list         []shortlist // the arcs that are priced
	atRow, block int         // where the next block starts, and its arcs
}

func newSimplex(ctx context.Context, c cost.Geometry, supply Supplies, listed geometry.Listed, large float64) *simplex {
	n, m := c.Dims()
	s := &simplex{ctx: ctx, cost: c, n: n, m: m, supply: supply, at: None, listed: listed, large: large,
		buf: make([]float64, m)}
	if listed == nil {
		s.all = targets(m)
	}
	return s
}

// targets returns the numbers of m targets.
func targets(m int) []int32 {
	all := make([]int32, m)
	for j := range all {
		all[j] = int32(j)
	}
	return all
}

// perturb makes the tree, and adds low bits to all masses and in them one unit to each source, and the sum
// of these units to the last target.
func (s *simplex) perturb() {
	s.tree = newTree(s.n, s.m)
	s.a, s.b = make([]Mass, s.n), make([]Mass, s.m)
	var extra Mass
	for i, w := range s.supply.A {
		if w.IsZero() {
			s.tree.pot[i] = math.Inf(-1)
			continue
		}
		s.a[i] = w.shl(s.supply.free).Add(Mass{lo: 1})
		extra.lo++
	}
	last := 0
	for j, w := range s.supply.B {
		if w.IsZero() {
			s.tree.pot[s.n+j] = math.Inf(1)
			continue
		}
		s.b[j], last = w.shl(s.supply.free), j
	}
	s.b[last] = s.b[last].Add(extra)
}

// row returns row i of the cost, the one before where the context has ended.
func (s *simplex) row(i int) []float64 {
	if i != s.at {
		if s.err = cmp.Or(s.err, Cancelled(s.ctx, i)); s.err == nil || s.last == nil {
			s.last, s.at = s.cost.Row(i, s.buf), i
		}
	}
	return s.last
}

// patience is the number of pivots a node after which drift of the potentials is suspected and they
// are computed afresh.
const patience = 1000

// solve finds an optimal basis, or one after maxPivots pivots.
func (s *simplex) solve(maxPivots int) {
	isEven := maxPivots == 0 && s.supply.IsEven()
	g := s.columns
	if isEven && s.assign(g) { // not between many points of few dimensions
		return
	}
	if s.listed == nil && max(s.n, s.m) > stride*min(s.n, s.m) { // thinned, listed sources might have no pair
		g = s.estimate()
	}
	s.run(g, maxPivots)
}

// run pivots until no arc can enter. Potentials drift a little as they are shifted. When no arc
// seems able to enter, or after very many pivots, they are computed afresh, and from then on after
// every pivot. Then every pivot certainly lowers the perturbed value, so the method ends, and drift
// can neither hide nor fake an improvement.
func (s *simplex) run(g []float64, maxPivots int) {
	s.start(g)
	for careful := false; ; {
		o, ok := s.entering()
		switch {
		case s.err != nil || !ok && careful:
			return
		case !ok:
			careful = true
			s.tree.refresh()
			continue
		case maxPivots > 0 && s.pivots >= maxPivots:
			s.limited = true
			s.tree.refresh()
			return
		}
		s.tree.pivot(o.i, o.j, o.cost)
		s.pivots++
		careful = careful || s.pivots > patience*(s.n+s.m)
		if s.pivots%(s.n+s.m) == 0 {
			s.err = Cancelled(s.ctx, 0)
		}
		if careful || s.pivots%(s.n+s.m) == 0 {
			s.tree.refresh()
		}
	}
}

// each visits the arcs of the basis that carry mass in the problem as it was before the
// perturbation, which is less than half of the smallest mass, so that rounding removes it.
func (s *simplex) each(visit func(i, j int, w, c float64)) {
	if a := s.matched; a != nil {
		for i, j := range a.to {
			visit(i, int(j), s.supply.Weight(s.supply.A[i]), a.paid[i])
		}
		return
	}
	half := Mass{lo: 1}.shl(s.supply.free - 1)
	for v := range s.tree.node {
		e := &s.tree.node[v]
		flow := e.flow.Add(half).shr(s.supply.free)
		if flow.IsZero() {
			continue
		}
		i, j := v, int(e.parent)-s.n
		if v >= s.n {
			i, j = int(e.parent), v-s.n
		}
		visit(i, j, s.supply.Weight(flow), e.cost)
	}
}

// arcs visits those of the basis but those that are forbidden, whose cost is large; these may carry
// what rounding may make.
func (s *simplex) arcs(visit func(i, j int, w float64)) error {
	var lost Wide
	stuck := 0
	s.each(func(i, j int, w, c float64) {
		if c == s.large {
			stuck = i
			lost = lost.Add(w)
		} else if w > 0 {
			visit(i, j, w)
		}
	})
	share := 0.
	if lost.Hi > 0 {
		share = lost.Hi / s.supply.total()
	}
	switch {
	case !(share > massTolerance):
		return nil
	case s.limited: // proves nothing
		return fmt.Errorf("ot/exact: MaxPivots = %d: too few: %.3g of the mass still uses pairs of cost +Inf",
			s.pivots, share)
	}
	return s.cut(stuck)
}

// potentials returns f of the tree and its c-transform g, which differs from the tree's by rounding where the basis is
// optimal and makes the pair feasible where it is not; sources without mass take the c-transform of g.
func (s *simplex) potentials() (f, g []float64) {
	f = s.f()
	if s.matched != nil {
		return f, s.matched.g
	}
	g = s.transform(f)
	other := s.large - slices.Max(g)
	for i := range f {
		if math.IsInf(f[i], -1) {
			f[i] = min(s.least(i, g), other)
		}
	}
	return f, g
}

// f returns the potentials of the sources, −Inf for those without mass.
func (s *simplex) f() []float64 {
	if s.matched != nil {
		return s.matched.f
	}
	return s.tree.pot[:s.n]
}

// bad builds an error of one of these kinds.
func bad(kind error, format string, args ...any) error {
	return fmt.Errorf("ot/exact: %s: %w", fmt.Sprintf(format, args...), kind)
}

// Weights returns w checked, or uniform weights where w is nil.
func Weights(name string, w []float64, n int) ([]float64, error) {
	uniform, total, err := rows.Weights(make([]float64, n), name, w, "atoms", bad)
	switch {
	case err != nil || w == nil:
		return uniform, err
	case math.IsInf(total, 1):
		return nil, bad(fault.ErrWeights, "%s sums to %g: must be finite", name, total)
	}
	return w, nil
}

// ErrUnbalanced marks totals that differ.
var ErrUnbalanced = fault.Sub("total masses must agree to 1e-9", fault.ErrWeights)

// Violation returns max_j (f + g_j − row_j).
func Violation(row []float64, f float64, g []float64) float64 {
	return kern.RowMax(g, row[:len(g)], 1) + f
}

// Centre shifts a constant from f to g so that ⟨a, f⟩ = ⟨b, g⟩, both measures scaled to total 1.
func Centre(a, b, f, g []float64) {
	shift := (kern.Dot(a, f)/kern.Sum(a) - kern.Dot(b, g)/kern.Sum(b)) / 2
	rows.Subtract(f, shift)
	rows.Subtract(g, -shift)
}
