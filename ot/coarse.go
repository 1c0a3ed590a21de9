package ot

import "coupling/ot/cost"

// coarseStart solves the stages of large ε for the means of the leaves of trees, as long as ε is above the
// size of a leaf, and leaves the later ones.
func (r *run) coarseStart() error {
	s, last := r.s, len(r.stages)-2
	if r.Start != nil || s.self {
		return nil
	}
	l := s.leaves()
	if l == nil {
		return nil
	}
	for last >= 0 && r.stages[last] < l.size {
		last--
	}
	if last < 0 {
		return nil
	}
	solver := LBFGS{Eps: r.stages[last], Tol: stageTol, Anneal: r.Anneal, Workers: r.Workers}
	coarse, err := solver.Solve(r.ctx, Problem{Geometry: cost.Points(l.x, l.y, l.kind), A: l.a, B: l.b})
	if err != nil {
		return err
	}
	f, err := coarse.At(l.fx)
	if err != nil {
		return err
	}
	g, err := coarse.AtTargets(l.fy)
	if err != nil {
		return err
	}
	r.beta = s.startAt(r.stages[last], f.F, g.F)
	r.stages = r.stages[last+1:]
	return nil
}
