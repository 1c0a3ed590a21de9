package ot

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
)

// At small ε the pairs that carry mass are few. Between points in at most three dimensions trees
// find them without a pass over all pairs: atoms are put in the order of two trees, in which each
// leaf of sources has mass with a few ranges of targets, a pattern. Evaluations go over the
// pattern, and those of the stages of large ε over the means of leaves; the last goes over all
// pairs (Schmitzer 2019).

// treeOrder is the order of a problem, and what is known of its patterns.
type treeOrder struct {
	of         *instance // in the user's order
	rows, cols *tree
	cloud      *cost.Cloud
	pattern    *pattern
	beta       []float64 // β at the last evaluation
	exactAt    float64   // the ε for which its α was exact, or 0
	denseAt    float64   // the ε at which a pattern had too many pairs
}

const (
	// minSorted is the n·m from which problems are sorted, and maxSortedDim the largest dimension.
	minSorted, maxSortedDim = 1 << 20, 3
	// patternSlack is how far potentials may move against each other, in ε, until a pattern is made
	// afresh, and patternReach how far they may have moved since the last evaluation.
	patternSlack, patternReach = 8, 45
	// patternShare is the share of pairs above which a pattern is no faster than all pairs.
	patternShare = 0.4
)

// sort puts the atoms in the order of trees if that helps at a small ε, and returns beta in it.
func (s *semidual) sort(beta []float64) []float64 {
	g, ok := s.g.(*cost.Cloud)
	if !ok || s.n < minSorted/s.m || min(s.n, s.m) < 8*leafSize {
		return beta
	}
	if _, vector := g.Vector(); !vector || g.X().RawMatrix().Cols > maxSortedDim {
		return beta
	}
	o := &treeOrder{of: s.instance, rows: newTree(g.X(), s.a)}
	if o.cols = o.rows; !s.self {
		o.cols = newTree(g.Y(), s.b)
	}
	in := *s.instance
	o.cloud = g.Ordered(o.rows.order, o.cols.order)
	in.g, in.a, in.b = o.cloud, inOrder(s.a, o.rows.order), inOrder(s.b, o.cols.order)
	s.instance, s.trees = &in, o
	s.setNarrow(o.cloud)
	s.logB = inOrder(s.logB, o.cols.order)
	s.listZeros()
	return inOrder(beta, o.cols.order)
}

// unsort returns to the user's order, in which it returns beta.
func (s *semidual) unsort(beta []float64) []float64 {
	o := s.trees
	if o == nil {
		return beta
	}
	rows, cols := inverse(o.rows.order), inverse(o.cols.order)
	in := *o.of
	in.cost = s.cost
	if r, ok := s.g.(*reducedCosts); ok {
		of := &reducedCosts{of: in.g, by: r.by}
		if r.u != nil {
			of.u, of.v = inOrder(r.u, rows), inOrder(r.v, cols)
		}
		in.g = of
	}
	s.instance, s.trees = &in, nil
	s.alpha, s.logB = inOrder(s.alpha, rows), inOrder(s.logB, cols)
	s.listZeros()
	return inOrder(beta, cols)
}

// note records the point of the last evaluation.
func (o *treeOrder) note(s *semidual, beta []float64) {
	if o == nil {
		return
	}
	o.beta, o.exactAt = append(o.beta[:0], beta...), s.eps
	if s.relax != 1 {
		o.exactAt = 0
	}
	if s.certified() { // its α is exact: the next pattern is the smallest
		o.pattern = nil
	}
}

// findPattern returns the pairs to evaluate at β, nil for all.
func (s *semidual) findPattern(beta []float64) *pattern {
	o := s.trees
	if o == nil || s.final || s.newton || o.denseAt == s.eps || s.g != cost.Geometry(o.cloud) || o.beta == nil {
		return nil
	}
	if p := o.pattern; p != nil && p.eps == s.eps {
		if _, spread := drift(beta, p.base); spread <= p.slack*s.eps {
			return p
		}
	}
	moved := math.Inf(1)
	if o.exactAt == s.eps {
		_, moved = drift(beta, o.beta)
		moved /= s.eps
	}
	// Sums over some of the pairs are too small, hence the α too large that make rows exact there:
	// a pattern made from them has every pair that it must have. So where the potentials are known
	// only roughly, a first pattern gives such an α.
	if moved > patternReach {
		if p := s.newPattern(beta, patternSlack); p != nil {
			relax := s.relax
			s.relax = 1
			p.eval(s, beta)
			s.relax = relax
			o.beta, moved = append(o.beta[:0], beta...), 0
		}
	}
	if o.pattern = nil; moved <= patternReach {
		o.pattern = s.newPattern(o.beta, moved+patternSlack)
	}
	if o.pattern == nil {
		o.denseAt = s.eps
	}
	return o.pattern
}

// newPattern returns the pairs that may carry mass by the present α and beta, nil where there are
// too many. The sum of the entries left out is below a thousandth of the stage's tolerance.
func (s *semidual) newPattern(beta []float64, slack float64) *pattern {
	o := s.trees
	p := &pattern{eps: s.eps, slack: slack, base: append([]float64(nil), beta...), ptr: []int{0}}
	find := search{
		pattern: p, rows: o.rows, cols: o.cols, cloud: o.cloud, alpha: s.alpha,
		cut: math.Log(1e-3*s.stageTol/float64(s.n+s.m)) - slack, most: int(patternShare * float64(s.n) * float64(s.m)),
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
	cloud cost.Cloud
	col   []float64
}

func (*pattern) certifies() bool { return false }

// eval goes over the pairs of the pattern.
func (p *pattern) eval(s *semidual, beta []float64) float64 {
	s.prepare(beta)
	s.columns(func(w *worker, k int, r span, part []float64) {
		near := &w.near
		for lo, hi := r.Lo, 0; lo < r.Hi; lo = hi {
			hi = min((lo/leafSize+1)*leafSize, r.Hi)
			ranges := p.ranges[p.ptr[lo/leafSize]:p.ptr[lo/leafSize+1]]
			s.trees.cloud.Only(&near.cloud, ranges)
			near.g, near.h, near.beta, near.col = &near.cloud, near.h[:0], near.beta[:0], near.col[:0]
			for _, c := range ranges {
				near.h, near.beta = append(near.h, s.h[c.Lo:c.Hi]...), append(near.beta, beta[c.Lo:c.Hi]...)
			}
			near.col = append(near.col, near.h...)
			clear(near.col)
			for i := lo; i < hi; i++ {
				if s.a[i] == 0 {
					s.alpha[i] = math.Inf(-1)
					continue
				}
				e := w.exp[:len(near.col)]
				sum, ref := s.row(w, e, i, &near.targets)
				kern.Axpy(near.col, s.setAlpha(k, i, ref+s.eps*math.Log(sum))/sum, e)
			}
			at := 0
			for _, c := range ranges {
				kern.Axpy(part[c.Lo:c.Hi], 1, near.col[at:at+c.Hi-c.Lo])
				at += c.Hi - c.Lo
			}
		}
	})
	return s.rowError() + s.reduce(nil)
}

// leafMeans is a problem of the means of the leaves of both trees, and the mean cost of moving from the middle of a leaf of
// sources to its corner.
type leafMeans struct {
	x, y   *mat.Dense
	a, b   []float64
	size   float64
	kind   cost.PointCost
	fx, fy *mat.Dense // all points, in the order of the trees
}

// leaves returns the means of the leaves, nil where atoms are in the user's order or costs are reduced.
func (s *semidual) leaves() *leafMeans {
	o := s.trees
	if o == nil || s.g != cost.Geometry(o.cloud) {
		return nil
	}
	l := &leafMeans{kind: o.cloud.Kind, fx: o.cloud.X(), fy: o.cloud.Y()}
	l.x, l.a, l.size = o.rows.means(l.fx, s.a, l.kind)
	l.y, l.b, _ = o.cols.means(l.fy, s.b, l.kind)
	return l
}

// startAt is start at another ε with the potentials f of the sources too, from which the first pattern is made.
func (s *semidual) startAt(eps float64, f, g []float64) []float64 {
	s.eps = eps
	beta := s.start(g)
	for i, v := range f {
		s.alpha[i] = v + s.eps*math.Log(s.a[i])
	}
	s.trees.beta = append(s.trees.beta, beta...)
	return beta
}

// means returns the means of the leaves, their weights, and the mean cost of moving from the middle
// of a leaf to its corner.
func (t *tree) means(x *mat.Dense, w []float64, kind cost.PointCost) (at *mat.Dense, mass []float64, size float64) {
	var flat []float64
	d := x.RawMatrix().Cols
	for _, n := range t.nodes {
		if n.kids[0] > 0 {
			continue
		}
		mean, sum := mat.NewVecDense(d, nil), 0.0
		for i := n.Lo; i < n.Hi; i++ {
			mean.AddScaledVec(mean, w[i], x.RowView(i))
			sum += w[i]
		}
		if mean.ScaleVec(1/sum, mean); sum == 0 {
			copy(mean.RawVector().Data, n.centre)
		}
		flat, mass = append(flat, mean.RawVector().Data...), append(mass, sum)
		size += sum * kind.Cost(n.radius, make([]float64, d))
	}
	return mat.NewDense(len(mass), d, flat), mass, size
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
