package solve

import (
	"context"
	"math"

	"coupling/ot/internal/fault"
	"coupling/ot/internal/geometry"
)

// Sinkhorn solves by Sinkhorn steps relaxed by a factor, which 0 chooses from the observed rate.
func Sinkhorn(ctx context.Context, p Problem, c Control, relax float64) (*Result, error) {
	if err := checkRelax(relax); err != nil {
		return nil, err
	}
	r, err := begin(ctx, p, c)
	if err != nil {
		return nil, err
	}
	stage := func(tol float64, last bool) error { return r.sinkhornStage(tol, relax, last) }
	return r.finish(r.anneal(stage))
}

// kernelSpan is the range of the costs in units of ε up to which Scaling works. Scalings then lie within e^±300 of each
// other, and no product of them with the kernel under- or overflows.
const kernelSpan = 300

// Scaling solves by Sinkhorn steps with a kernel that is stored.
func Scaling(ctx context.Context, p Problem, c Control, relax float64) (*Result, error) {
	if err := checkRelax(relax); err != nil {
		return nil, err
	}
	if c.Anneal != 0 && c.Anneal != 1 {
		return nil, bad(fault.ErrParameter, "Scaling: Anneal = %g: must be 0 or 1, there is no annealing", c.Anneal)
	}
	c.Anneal = 1
	r, err := begin(ctx, p, c)
	if err != nil {
		return nil, err
	}
	s := r.s
	if n, m := s.N, s.M; n > geometry.MaxHeld/m {
		return nil, bad(fault.ErrParameter, "Scaling: a kernel of %d×%d exceeds 1 GiB: use LBFGS", n, m)
	}
	if span := s.Cost.Max - s.Cost.Min; span > kernelSpan*s.Eps {
		return nil, bad(fault.ErrUnsupported, "Scaling: Eps = %g: the costs span %g ε, more than %d: use LBFGS", c.Eps,
			span/c.Eps, kernelSpan)
	}
	s.AlwaysStore()
	s.StartStage(r.Tol)
	return r.finish(r.sinkhornStage(r.Tol, relax, true))
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

// checkRelax reports an over-relaxation out of range.
func checkRelax(relax float64) error {
	if math.IsNaN(relax) || relax != 0 && (relax < 1 || relax >= 2) {
		return bad(fault.ErrParameter, "Relax = %g: must be in [1, 2), or 0 for the observed rate", relax)
	}
	return nil
}
