package solve

import "coupling/ot/cost"

// coarseStart solves all stages but the last for grids of half the length, which do the same, where a solve
// for that is near.
func (r *run) coarseStart() error {
	s, last := r.s, len(r.stages)-2
	if r.Start != nil || s.Self || last < 0 {
		return nil
	}
	h := s.Halved(r.stages[last])
	if h == nil {
		return nil
	}
	c := Control{Eps: r.stages[last], Tol: halvedTol, Anneal: r.Anneal, Workers: r.Workers}
	out, err := LBFGS(r.ctx, Problem{Geometry: cost.Grid(h.Axes...), A: h.A, B: h.B}, c, 0)
	if err != nil {
		return err
	}
	s.Eps = r.stages[last]
	r.beta = h.Extend(s, out.Plan.F)
	r.stages = r.stages[last+1:]
	return nil
}

// halvedTol is the tolerance of halved problems: what is smooth is cheaper to correct there.
const halvedTol = 1e-3
