package solve

import (
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"
)

// coarseStart solves the stages of large ε for the means of the leaves of trees, as long as ε is above the
// size of a leaf, and leaves the later ones.
func (r *run) coarseStart() error {
	s, last := r.s, len(r.stages)-2
	if r.Start != nil || s.Self || last < 0 {
		return nil
	}
	if h := s.Halved(r.stages[last]); h != nil {
		return r.halfStart(h, last)
	}
	l := s.Leaves()
	if l == nil {
		return nil
	}
	for last >= 0 && r.stages[last] < l.Size {
		last--
	}
	if last < 0 {
		return nil
	}
	coarse, err := r.coarser(geometry.Points(l.X, l.Y, l.Kind), l.A, l.B, last, stageTol)
	if err != nil {
		return err
	}
	f, err := Extend(geometry.MatrixFree(l.AllX, l.Y, l.Kind), coarse.Eps, coarse.B, coarse.G)
	if err != nil {
		return err
	}
	g, err := Extend(geometry.MatrixFree(l.AllY, l.X, geometry.Reversed(l.Kind)), coarse.Eps, coarse.A, coarse.F)
	if err != nil {
		return err
	}
	r.beta = s.StartAt(r.stages[last], f.Plan.F, g.Plan.F)
	r.stages = r.stages[last+1:]
	return nil
}

// halfStart solves all stages but the last for grids of half the length, which do the same.
func (r *run) halfStart(h *semidual.Halved, last int) error {
	coarse, err := r.coarser(cost.Grid(h.Axes...), h.A, h.B, last, halvedTol)
	if err != nil {
		return err
	}
	r.s.Eps = r.stages[last]
	r.beta = h.Extend(r.s, coarse.F)
	r.stages = r.stages[last+1:]
	return nil
}

// halvedTol is the tolerance of halved problems: what is smooth is cheaper to correct there.
const halvedTol = 1e-3

// coarser solves the stages up to the one at last for other measures.
func (r *run) coarser(g cost.Geometry, a, b []float64, last int, tol float64) (*transport.Plan, error) {
	c := Control{Eps: r.stages[last], Tol: tol, Anneal: r.Anneal, Workers: r.Workers}
	out, err := LBFGS(r.ctx, Problem{Geometry: g, A: a, B: b}, c, 0)
	if err != nil {
		return nil, err
	}
	return out.Plan, nil
}
