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

// AtNoCost returns the allowed pairs of a list at the cost 0.
func AtNoCost(g geometry.Listed) geometry.Listed {
	return geometry.Relist(g, func(_ int, _ []int32, costs []float64) []float64 {
		out := make([]float64, len(costs))
		for k, v := range costs {
			if math.IsInf(v, 1) {
				out[k] = v
			}
		}
		return out
	})
}

// relist computes the costs of the listed pairs.
func (r *ReducedCosts) relist() {
	of := Listing(r.of)
	if of == nil {
		return
	}
	r.list = geometry.Relist(of, func(i int, targets []int32, costs []float64) []float64 {
		v := make([]float64, len(targets))
		if r.v != nil {
			for k, j := range targets {
				v[k] = r.v[j]
			}
		}
		rows.Reduce(v, costs, r.Source(i), v)
		return v
	})
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
