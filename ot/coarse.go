package ot

import "coupling/ot/internal/geometry"

// coarseStart solves the stages of large ε for the means of the leaves of trees, as long as ε is above the
// size of a leaf, and leaves the later ones.
func (r *run) coarseStart() error {
	s, last := r.s, len(r.stages)-2
	if r.Start != nil || s.Self {
		return nil
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
	solver := LBFGS{Eps: r.stages[last], Tol: stageTol, Control: Control{Anneal: r.Anneal, Workers: r.Workers}}
	coarse, err := solver.Solve(r.ctx, Problem{Geometry: geometry.Points(l.X, l.Y, l.Kind), A: l.A, B: l.B})
	if err != nil {
		return err
	}
	f, err := coarse.At(l.AllX)
	if err != nil {
		return err
	}
	g, err := coarse.AtTargets(l.AllY)
	if err != nil {
		return err
	}
	r.beta = s.StartAt(r.stages[last], f.F, g.F)
	r.stages = r.stages[last+1:]
	return nil
}
