package ot

import "context"

// Sinkhorn solves by alternate scaling in the log domain (Cuturi 2013; Schmitzer 2019), stable at
// every ε. One iteration is one fused pass over the costs with one exponential for each, which
// makes the rows exact and sums the columns. ε is annealed, and the last stage is over-relaxed
// (Thibault et al. 2021; Lehmann et al. 2022).
//
// The zero value with Eps set works. LBFGS is faster at small ε. Memory besides the costs is that of LBFGS for
// a stored kernel.
type Sinkhorn struct {
	// Eps is the ε > 0 of the problem, in units of cost, and Tol stops when the L1 error of the
	// marginals is at most Tol; 0 is 1e-9.
	Eps, Tol float64
	// Relax in [1, 2) is the over-relaxation; 1 is plain Sinkhorn, and 0 chooses it from the observed rate.
	Relax float64
	Control
}

// From returns the solver that starts from the KL potentials g.
func (o Sinkhorn) From(g []float64) Solver {
	o.Start = g
	return o
}

// Solve returns the plan of p. A solve that did not reach Tol returns its plan with a Status that
// says so; errors are for bad input, and, with the plan so far, for a context that ended.
func (o Sinkhorn) Solve(ctx context.Context, p Problem) (*Plan, error) {
	if err := checkRelax(o.Relax); err != nil {
		return nil, err
	}
	r, err := o.Control.begin(ctx, p, o.Eps, o.Tol)
	if err != nil {
		return nil, err
	}
	stage := func(tol float64, last bool) error { return r.sinkhornStage(tol, o.Relax, last) }
	return r.finish("sinkhorn", r.anneal(stage))
}

// sinkhornStage iterates at the present ε until the error is at most tol.
func (r *run) sinkhornStage(tol, relax float64, last bool) error {
	omega := relaxation{fixed: relax, omega: 1}
	if !last {
		omega.fixed = 1
	}
	if err := r.residentSteps(tol, &omega, 0); err != nil {
		return err
	}
	best := stagnation{monotone: true}
	for {
		w := omega.omega
		if err := r.eval(r.beta, w); err != nil {
			return err
		}
		if r.err <= tol && w != 1 {
			// Only a plan with exact rows is returned.
			if err := r.eval(r.beta, 1); err != nil {
				return err
			}
			w = 1
		}
		if last && r.columnsConverged(tol) {
			if err := r.certify(); err != nil {
				return err
			}
		}
		switch {
		case r.err <= tol && (!last || r.columnsConverged(tol)):
			r.status = Converged
			return nil
		case r.iter >= r.MaxIter:
			r.status = IterationLimit
			return r.exactRows(w)
		case best.stalled(r.merit(tol), r.s.Noise()):
			if last && r.refine() {
				best = stagnation{monotone: true}
				omega = relaxation{fixed: 1, omega: 1}
				continue
			}
			r.status = Stagnated
			return r.exactRows(w)
		}
		r.iter++
		if r.err <= tol {
			omega = relaxation{fixed: 1, omega: 1} // plain steps from here
			w = 1
		}
		r.s.Sinkhorn(r.beta, w)
		omega.observe(r.err, 1)
	}
}

// exactRows ends a stage. If the last evaluation was relaxed or did not read every cost, it
// evaluates again, so that the plan has exact rows and the reported error is the plan's.
func (r *run) exactRows(w float64) error {
	if w != 1 {
		r.s.Uncertify()
	}
	return r.certify()
}
