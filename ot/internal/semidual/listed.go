package semidual

import (
	"math"

	"coupling/lab/logspace"
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/rows"
)

// Listing returns the geometry if it lists its allowed pairs, else nil.
func Listing(g cost.Geometry) geometry.Listed {
	if r, ok := g.(*ReducedCosts); ok {
		return r.list
	}
	l, _ := g.(geometry.Listed)
	return l
}

// Arcs returns the costs of source i and their targets, those that the geometry lists, or nil for all; buf is scratch.
func Arcs(g cost.Geometry, i int, buf []float64) (targets []int32, costs []float64) {
	if l := Listing(g); l != nil {
		return l.Arcs(i)
	}
	return nil, g.Row(i, buf)
}

// reducedList is the list of of with other costs.
type reducedList struct {
	geometry.Listed
	costs [][]float64
}

// Arcs returns the targets of source i and their costs.
func (l *reducedList) Arcs(i int) ([]int32, []float64) {
	to, _ := l.Listed.Arcs(i)
	return to, l.costs[i]
}

// AtNoCost returns the allowed pairs of a list at the cost 0.
func AtNoCost(g geometry.Listed) geometry.Listed {
	n, _ := g.Dims()
	l := &reducedList{g, make([][]float64, n)}
	for i := range l.costs {
		_, c := g.Arcs(i)
		l.costs[i] = make([]float64, len(c))
		for k, v := range c {
			if math.IsInf(v, 1) {
				l.costs[i][k] = v
			}
		}
	}
	return l
}

// relist computes the costs of the listed pairs.
func (r *ReducedCosts) relist() {
	of := Listing(r.of)
	if of == nil {
		return
	}
	n, _ := r.Dims()
	l := &reducedList{of, make([][]float64, n)}
	for i := range l.costs {
		to, c := of.Arcs(i)
		v := make([]float64, len(to))
		if r.v != nil {
			for k, j := range to {
				v[k] = r.v[j]
			}
		}
		rows.Reduce(v, c, r.Source(i), v)
		l.costs[i] = v
	}
	r.list = l
}

// listedPass goes over the allowed pairs of a geometry that lists them, in float64. On its way it fills a list
// of the entries of T for Newton steps; nil for none.
type listedPass struct {
	geometry.Listed
	list *SparseKernel
}

func (*listedPass) Certifies() bool { return true }

func (p *listedPass) Eval(s *Function, beta []float64) float64 {
	s.eachRow(func(w *Worker, k, i int, part []float64) {
		to, c := p.Arcs(i)
		e, b := w.Exp[:len(to)], w.Cost[:len(to)]
		for l, j := range to {
			b[l] = beta[j]
		}
		ref, sum := rows.Softmax(e, b, c, 1/s.Eps)
		mass := s.SetAlpha(k, i, ref+s.Eps*logspace.Log(sum))
		laplacian.Scatter(part, e, mass/sum, to)
		if p.list != nil {
			a := &p.list.spans[k]
			from := len(a.idx)
			a.idx, a.val = append(a.idx, to...), append(a.val, e...)
			a.end(i-s.Rows.Spans[k].Lo, from, mass/sum, ref)
		}
	})
	if p.list != nil {
		s.sparse = p.list
	}
	return s.Error()
}
