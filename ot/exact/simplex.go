package exact

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"coupling/ot/cost"
	"coupling/ot/internal/fault"
)

// Simplex solves the transportation problem by the network simplex method. The zero value works.
//
// Time is some n^2.4 for n = m in practice; memory is O(n + m) beside the cost.
type Simplex struct {
	// MaxPivots stops early with a feasible plan, feasible potentials and Status PivotLimit; 0
	// means no limit. The method ends without a limit, since no basis occurs twice.
	MaxPivots int
}

// Status says how a solve ended.
type Status int

const (
	// Unsolved is the status of a Solution that no solver made.
	Unsolved Status = iota
	// Optimal means that no arc has a negative reduced cost beyond the rounding of its terms.
	Optimal
	// PivotLimit means that MaxPivots was reached: look at the Certificate.
	PivotLimit
)

// String returns the name of the status.
func (s Status) String() string {
	return fault.Name("Status", int(s), "unsolved", "optimal", "pivot limit")
}

// A Solution is a plan with the potentials that prove it.
type Solution struct {
	Plan   Plan
	Value  float64   // ⟨T, C⟩
	F, G   []float64 // potentials of sources and targets, ⟨a,F⟩ = ⟨b,G⟩, F_i + G_j ≤ C_ij up to Certificate.Infeasibility
	Status Status
	Pivots int // 0 from Line

	Certificate Certificate
}

// Solve transports a to b (nil for uniform weights) at the given cost, where +Inf forbids a pair. It returns an error that wraps
// ErrShape, ErrWeights, ErrUnbalanced or ErrCost for a problem that is none, ErrInfeasible where more than 1e-9 of the mass must
// use forbidden pairs, another error where MaxPivots was reached before that is known, and the context's error when cancelled.
func (s Simplex) Solve(ctx context.Context, a, b []float64, c cost.Geometry) (*Solution, error) {
	all, err := checkCost(ctx, c)
	if err != nil {
		return nil, err
	}
	n, m := c.Dims()
	if a, err = weights("a", a, n); err != nil {
		return nil, err
	}
	if b, err = weights("b", b, m); err != nil {
		return nil, err
	}
	supply, err := quantise(a, b)
	if err != nil {
		return nil, err
	}
	x := newSimplex(ctx, all, supply)
	if err := x.run(s); err != nil {
		return nil, err
	}
	plan, err := x.plan(all.large)
	if err != nil {
		return nil, err
	}
	sol := &Solution{Plan: plan, Status: x.status, Pivots: x.pivots}
	if sol.F, sol.G = x.potentials(); x.err != nil {
		return nil, x.err
	}
	centre(a, b, sol.F, sol.G)
	if sol.Certificate, err = Certify(ctx, a, b, c, sol.Plan, sol.F, sol.G); err != nil {
		return nil, err
	}
	sol.Value = sol.Certificate.Primal
	return sol, inRange(sol.Certificate)
}

// A simplex is a solve in progress.
type simplex struct {
	ctx    context.Context
	err    error // the context's, once it has ended: the solve goes on to the next point that looks at it
	cost   cost.Geometry
	n, m   int
	supply supplies
	a, b   []mass // perturbed
	tree   *tree
	pivots int
	status Status

	buf  []float64 // the row last read
	last []float64
	at   int

	queue        []candidate // candidates from the last block, by key
	bar          float64
	atRow, atCol int // where the next block starts
}

func newSimplex(ctx context.Context, c cost.Geometry, supply supplies) *simplex {
	n, m := c.Dims()
	s := &simplex{ctx: ctx, cost: c, n: n, m: m, supply: supply, tree: newTree(n, m), buf: make([]float64, m), at: none}
	s.perturb()
	return s
}

// perturb adds low bits to all masses and in them one unit to each source, and the sum of these
// units to the last target.
func (s *simplex) perturb() {
	s.a, s.b = make([]mass, s.n), make([]mass, s.m)
	var extra mass
	for i, w := range s.supply.a {
		if w.isZero() {
			s.tree.pot[i] = math.Inf(-1)
			continue
		}
		s.a[i] = w.shl(s.supply.free).add(mass{lo: 1})
		extra.lo++
	}
	last := 0
	for j, w := range s.supply.b {
		if w.isZero() {
			s.tree.pot[s.n+j] = math.Inf(1)
			continue
		}
		s.b[j], last = w.shl(s.supply.free), j
	}
	s.b[last] = s.b[last].add(extra)
}

// row returns row i of the cost, the one before where the context has ended.
func (s *simplex) row(i int) []float64 {
	if i != s.at {
		if s.err = cmp.Or(s.err, cancelled(s.ctx, i)); s.err == nil || s.last == nil {
			s.last, s.at = s.cost.Row(i, s.buf), i
		}
	}
	return s.last
}

// patience is the number of pivots a node after which drift of the potentials is suspected and they
// are computed afresh.
const patience = 1000

// run pivots until no arc can enter. Potentials drift a little as they are shifted. When no arc
// seems able to enter, or after very many pivots, they are computed afresh, and from then on after
// every pivot. Then every pivot certainly lowers the perturbed value, so the method ends, and drift
// can neither hide nor fake an improvement.
func (s *simplex) run(opt Simplex) error {
	s.start(s.estimate())
	for careful := false; ; {
		o, ok := s.entering()
		switch {
		case s.err != nil:
			return s.err
		case !ok && careful:
			s.status = Optimal
			return nil
		case !ok:
			careful = true
			s.tree.refresh()
			continue
		case opt.MaxPivots > 0 && s.pivots >= opt.MaxPivots:
			s.status = PivotLimit
			s.tree.refresh()
			return nil
		}
		s.tree.pivot(o.i, o.j, o.cost)
		s.pivots++
		careful = careful || s.pivots > patience*(s.n+s.m)
		if s.pivots%(s.n+s.m) == 0 {
			s.err = cancelled(s.ctx, 0)
		}
		if careful || s.pivots%(s.n+s.m) == 0 {
			s.tree.refresh()
		}
	}
}

// each visits the arcs of the basis that carry mass in the problem as it was before the
// perturbation, which is less than half of the smallest mass, so that rounding removes it.
func (s *simplex) each(visit func(i, j int, w, c float64)) {
	half := mass{lo: 1}.shl(s.supply.free - 1)
	for v := range s.tree.node {
		e := &s.tree.node[v]
		flow := e.flow.add(half).shr(s.supply.free)
		if flow.isZero() {
			continue
		}
		i, j := v, int(e.parent)-s.n
		if v >= s.n {
			i, j = int(e.parent), v-s.n
		}
		visit(i, j, s.supply.weight(flow), e.cost)
	}
}

// plan returns the arcs of the basis but those that are forbidden, whose cost is large; these may carry what rounding may make.
func (s *simplex) plan(large float64) (Plan, error) {
	p := Plan{Rows: s.n, Cols: s.m}
	var all, lost wide
	s.each(func(i, j int, w, c float64) {
		if all = all.add(w); c == large {
			lost = lost.add(w)
		} else if w > 0 {
			p.Arcs = append(p.Arcs, Arc{i, j, w})
		}
	})
	if share := lost.hi / all.hi; share > massTolerance {
		if s.status == PivotLimit { // proves nothing
			return p, fmt.Errorf("ot/exact: MaxPivots = %d: too few: %.3g of the mass still uses pairs of cost +Inf", s.pivots, share)
		}
		return p, fmt.Errorf("ot/exact: %.3g of the mass must use pairs of cost +Inf: %w", share, ErrInfeasible)
	}
	p.sort()
	return p, nil
}

// potentials returns f of the tree and its c-transform g, which differs from the tree's by rounding where the basis is
// optimal and makes the pair feasible where it is not; sources without mass take the c-transform of g.
func (s *simplex) potentials() (f, g []float64) {
	f = s.tree.pot[:s.n]
	rows := make([]int, s.n)
	for i := range rows {
		rows[i] = i
	}
	g = s.transform(rows, f)
	for i := range f {
		if math.IsInf(f[i], -1) {
			f[i] = -violation(s.row(i), 0, g)
		}
	}
	return f, g
}

// centre shifts a constant from f to g so that ⟨a, f⟩ = ⟨b, g⟩, both measures scaled to total 1.
func centre(a, b, f, g []float64) {
	shift := (mean(a, f) - mean(b, g)) / 2
	for i := range f {
		f[i] -= shift
	}
	for j := range g {
		g[j] += shift
	}
}

// mean returns Σ w_k v_k / Σ w_k.
func mean(w, v []float64) float64 {
	var sum, total wide
	for k, x := range w {
		sum, total = sum.add(x*v[k]), total.add(x)
	}
	return sum.hi / total.hi
}

// inRange refuses a value that left the range of float64.
func inRange(c Certificate) error {
	if v := c.Primal + c.Dual + c.Gap; math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Errorf("ot/exact: value = %v with costs and weights this large: %w", c.Primal, ErrCost)
	}
	return nil
}
