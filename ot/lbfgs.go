package ot

import (
	"cmp"
	"context"

	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/semidual"
)

// LBFGS solves by L-BFGS on the semi-dual, the forward pass of "Efficient, stable, and analytic
// differentiation of the Sinkhorn loss": the m target potentials are the variables, the source
// potentials follow exactly, and one evaluation is one fused pass over the costs. It is fast
// because of the metric ε/max(b, Tᵀ1), in which the first step is near Sinkhorn's; ε-annealing with a loose inner
// tolerance; a line search on slopes alone, which suffices for a convex function and has no noise
// floor above that of the gradient; Sinkhorn steps, which ascend from any point, wherever a step
// fails; and a few Newton steps where atoms are so weakly coupled that L-BFGS would need thousands
// of its own.
//
// The zero value with Eps set works. Memory besides the costs: 2·Memory+64 vectors of m, and for a stored kernel up
// to n·m float32, and where Tol is below 1e-6 and the geometry holds its costs anyway, n·m float64.
type LBFGS struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Tol stops when the L1 error of the marginals is at most Tol; 0 is 1e-9.
	Tol float64
	// Memory is the number of past steps from which the Hessian is estimated; 0 is 20.
	Memory int
	Control
}

// From returns the solver that starts from the KL potentials g.
func (o LBFGS) From(g []float64) Solver {
	o.Start = g
	return o
}

// Solve returns the plan of p. A solve that did not reach Tol returns its plan with a Status that
// says so; errors are for bad input, and, with the plan so far, for a context that ended.
func (o LBFGS) Solve(ctx context.Context, p Problem) (*Plan, error) {
	q, err := o.quasiNewton(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := q.coarseStart(); err != nil {
		return q.finish("lbfgs", err)
	}
	return q.finish("lbfgs", q.anneal(q.stage))
}

// quasiNewton checks the input and sets up the first ε.
func (o LBFGS) quasiNewton(ctx context.Context, p Problem) (*quasiNewton, error) {
	if o.Memory < 0 {
		return nil, bad(ErrParameter, "Memory = %d: must be ≥ 0 (0 is 20)", o.Memory)
	}
	r, err := o.Control.begin(ctx, p, o.Eps, o.Tol)
	if err != nil {
		return nil, err
	}
	return r.quasiNewton(o.Memory), nil
}

// quasiNewton returns the L-BFGS state of a run, of so many steps; 0 is 20.
func (r *run) quasiNewton(memory int) *quasiNewton {
	v := func() []float64 { return r.s.Memory.Zeros(r.s.M) }
	hist := newHistory(cmp.Or(memory, 20), r.s.M, r.s.Memory)
	return &quasiNewton{run: r, hist: hist, dir: v(), grad: v(), next: v(), oldGrad: v(), least: v()}
}

// stage minimises at the present ε until the error is at most tol.
func (q *quasiNewton) stage(tol float64, last bool) error {
	q.hist.clear()
	q.s.WantLists(last)
	if err := q.residentSteps(tol, &relaxation{fixed: 1, omega: 1}, contraction); err != nil {
		return err
	}
	if err := q.eval(q.beta, 1); err != nil {
		return err
	}
	return q.descend(tol, last)
}

// descend is stage from a point that has been evaluated.
func (q *quasiNewton) descend(tol float64, last bool) error {
	best, slow := stagnation{}, pace{}
	for {
		if last && q.err <= tol {
			if err := q.certifyIfConverged(tol); err != nil {
				return err
			}
		}
		isStalled := best.stalled(q.err, q.s.Noise())
		if best.since == 0 {
			copy(q.least, q.beta)
		}
		isStalled = isStalled || last && q.err <= tol && !q.columnsConverged(tol)
		switch {
		case q.err <= tol && !isStalled:
			q.status = Converged
			return nil
		case q.iter >= q.MaxIter:
			q.status = IterationLimit
			return q.certify()
		case last && (isStalled || slow.slow(q.err, q.nearSolution()) && q.err < rescueRegion):
			again, err := q.rescue(tol, best.best)
			if err != nil {
				return err
			}
			if !again && isStalled {
				if q.status = Stagnated; q.err > tol {
					copy(q.beta, q.least)
					q.s.Uncertify()
				}
				return q.certify()
			}
			if slow = (pace{}); again {
				best = stagnation{}
			}
			continue
		case isStalled:
			return nil // the next ε may do better
		}
		q.iter++
		q.s.WantLists(last)
		if err := q.step(); err != nil {
			return err
		}
	}
}

// certifyIfConverged polishes the columns and certifies the plan if its L1 error is at most tol; as
// a rule its Status is then Converged.
func (q *quasiNewton) certifyIfConverged(tol float64) error {
	if !q.columnsConverged(tol) {
		if err := q.polishColumns(tol); err != nil {
			return err
		}
	}
	return q.certify()
}

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

// halfStart solves all stages but the last for grids of half the length, which do the same.
func (r *run) halfStart(h *semidual.Halved, last int) error {
	solver := LBFGS{Eps: r.stages[last], Tol: halvedTol, Control: Control{Anneal: r.Anneal, Workers: r.Workers}}
	coarse, err := solver.Solve(r.ctx, Problem{Geometry: cost.Grid(h.Axes...), A: h.A, B: h.B})
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

// Solve returns the plan of p at ε by LBFGS, to an L1 marginal error of 1e-9.
func Solve(ctx context.Context, p Problem, eps float64) (*Plan, error) {
	return LBFGS{Eps: eps}.Solve(ctx, p)
}
