package semidual

import (
	"math"
	"slices"

	"coupling/lab/logspace"
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/rows"
)

// At small ε the pairs that carry mass are few. Between points in at most three dimensions trees
// find them without a pass over all pairs: atoms are put in the order of two trees, in which each
// leaf of sources has mass with a few ranges of targets, a pattern. Evaluations go over the
// pattern; the last goes over all pairs (Schmitzer 2019).

// treeOrder is the order of a problem, and what is known of its patterns.
type treeOrder struct {
	of         *Instance // in the user's order
	rows, cols *tree
	cloud      *geometry.Cloud
	pattern    *pattern
	beta       []float64 // β at the last evaluation
	exactAt    float64   // the ε for which its α was exact, or 0
	denseAt    float64   // the ε at which a pattern had too many pairs
}

const (
	// maxSortedDim is the largest dimension in which problems are sorted.
	maxSortedDim = 3
	// patternSlack is how far potentials may move against each other, in ε, until a pattern is made
	// afresh, and patternReach how far they may have moved since the last evaluation.
	patternSlack, patternReach = 8, 45
	// patternShare is the share of pairs above which a pattern is no faster than all pairs.
	patternShare = 0.4
)

// Sort puts the atoms in the order of trees where these can be made, and returns beta in it.
func (s *Function) Sort(beta []float64) []float64 {
	g, ok := s.G.(*geometry.Cloud)
	if !ok || min(s.N, s.M) < 8*leafSize {
		return beta
	}
	if _, vector := g.Vector(); !vector || g.X().RawMatrix().Cols > maxSortedDim {
		return beta
	}
	o := &treeOrder{of: s.Instance, rows: newTree(g.X(), s.A)}
	if o.cols = o.rows; !s.Self {
		o.cols = newTree(g.Y(), s.B)
	}
	in := *s.Instance
	o.cloud = g.Ordered(o.rows.order, o.cols.order)
	in.G, in.A, in.B = o.cloud, inOrder(s.A, o.rows.order), inOrder(s.B, o.cols.order)
	s.Instance, s.Trees = &in, o
	s.setGeometry(o.cloud)
	s.LogA, s.LogB = inOrder(s.LogA, o.rows.order), inOrder(s.LogB, o.cols.order)
	s.listZeros()
	return inOrder(beta, o.cols.order)
}

// Unsort returns to the user's order, in which it returns beta.
func (s *Function) Unsort(beta []float64) []float64 {
	o := s.Trees
	if o == nil {
		return beta
	}
	rows, cols := inverse(o.rows.order), inverse(o.cols.order)
	in := *o.of
	in.Cost = s.Cost
	if r, ok := s.G.(*ReducedCosts); ok {
		of := &ReducedCosts{of: in.G, by: r.by}
		if r.u != nil {
			of.u, of.v = inOrder(r.u, rows), inOrder(r.v, cols)
		}
		in.G = of
	}
	s.Instance, s.Trees = &in, nil
	s.Alpha, s.LogA, s.LogB = inOrder(s.Alpha, rows), inOrder(s.LogA, rows), inOrder(s.LogB, cols)
	s.listZeros()
	return inOrder(beta, cols)
}

// note records the point of the last evaluation.
func (o *treeOrder) note(s *Function, beta []float64) {
	if o == nil {
		return
	}
	o.beta, o.exactAt = append(o.beta[:0], beta...), s.Eps
	if s.Relax != 1 {
		o.exactAt = 0
	}
	if s.Certified() { // its α is exact: the next pattern is the smallest
		o.pattern = nil
	}
}

// findPattern returns the pairs to evaluate at β, nil for all.
func (s *Function) findPattern(beta []float64) *pattern {
	o := s.Trees
	if o == nil || s.Final || s.newton || o.denseAt == s.Eps || s.G != cost.Geometry(o.cloud) || o.beta == nil {
		return nil
	}
	if p := o.pattern; p != nil && p.eps == s.Eps {
		if _, spread := Drift(beta, p.base); spread <= p.slack*s.Eps {
			return p
		}
	}
	moved := math.Inf(1)
	if o.exactAt == s.Eps {
		_, moved = Drift(beta, o.beta)
		moved /= s.Eps
	}
	// Sums over some of the pairs are too small, hence the α too large that make rows exact there:
	// a pattern made from them has every pair that it must have. So where the potentials are known
	// only roughly, a first pattern gives such an α.
	if moved > patternReach {
		if p := s.newPattern(beta, patternSlack); p != nil {
			relax := s.Relax
			s.Relax = 1
			p.Eval(s, beta)
			s.Relax = relax
			o.beta, moved = append(o.beta[:0], beta...), 0
		}
	}
	if o.pattern = nil; moved <= patternReach {
		o.pattern = s.newPattern(o.beta, moved+patternSlack)
	}
	if o.pattern == nil {
		o.denseAt = s.Eps
	}
	return o.pattern
}

// newPattern returns the pairs that may carry mass by the present α and beta, nil where there are
// too many. The sum of the entries left out is below a thousandth of the stage's tolerance.
func (s *Function) newPattern(beta []float64, slack float64) *pattern {
	o := s.Trees
	p := &pattern{eps: s.Eps, slack: slack, base: slices.Clone(beta), ptr: []int{0}}
	find := search{
		pattern: p,
		rows:    o.rows,
		cols:    o.cols,
		cloud:   o.cloud,
		alpha:   s.Alpha,
		cut:     logspace.Log(1e-3*s.stageTol/float64(s.N+s.M)) - slack,
		most:    int(patternShare * float64(s.N) * float64(s.M)),
	}
	find.form, _ = o.cloud.Vector()
	if !find.block(0, []int{0}) {
		return nil
	}
	return p
}

// nearTargets are the targets of a block of rows, with the sums of their columns.
type nearTargets struct {
	targets
	cloud geometry.Cloud
	col   []float64
}

func (*pattern) Certifies() bool { return false }

// Eval goes over the pairs of the pattern.
func (p *pattern) Eval(s *Function, beta []float64) float64 {
	s.prepare(beta)
	s.columns(func(w *Worker, k int, r rows.Span, part []float64) {
		near := &w.near
		for lo, hi := r.Lo, 0; lo < r.Hi; lo = hi {
			hi = min((lo/leafSize+1)*leafSize, r.Hi)
			ranges := p.ranges[p.ptr[lo/leafSize]:p.ptr[lo/leafSize+1]]
			s.Trees.cloud.Only(&near.cloud, ranges)
			near.g, near.h, near.beta, near.col = &near.cloud, near.h[:0], near.beta[:0], near.col[:0]
			for _, c := range ranges {
				near.h, near.beta = append(near.h, s.H[c.Lo:c.Hi]...), append(near.beta, beta[c.Lo:c.Hi]...)
			}
			near.col = append(near.col, near.h...)
			clear(near.col)
			for i := lo; i < hi; i++ {
				if s.A[i] == 0 {
					s.Alpha[i] = math.Inf(-1)
					continue
				}
				e := w.Exp[:len(near.col)]
				sum, ref := s.row(w, e, i, &near.targets)
				kern.Axpy(near.col, s.SetAlpha(k, i, ref+s.Eps*logspace.Log(sum))/sum, e)
			}
			at := 0
			for _, c := range ranges {
				kern.Axpy(part[c.Lo:c.Hi], 1, near.col[at:at+c.Hi-c.Lo])
				at += c.Hi - c.Lo
			}
		}
	})
	return s.Error()
}

// inOrder returns v in an order.
func inOrder(v []float64, order []int) []float64 {
	out := make([]float64, len(v))
	for k, i := range order {
		out[k] = v[i]
	}
	return out
}

// inverse returns the place of each element in an order.
func inverse(order []int) []int {
	out := make([]int, len(order))
	for k, i := range order {
		out[i] = k
	}
	return out
}
