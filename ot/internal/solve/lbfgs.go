package solve

import (
	"cmp"
	"context"

	"coupling/ot/internal/fault"
)

// LBFGS solves by L-BFGS on the semi-dual with a memory of so many steps; 0 is 20.
func LBFGS(ctx context.Context, p Problem, c Control, memory int) (*Result, error) {
	q, err := beginLBFGS(ctx, p, c, memory)
	if err != nil {
		return nil, err
	}
	if err := q.coarseStart(); err != nil {
		return q.finish(err)
	}
	return q.finish(q.anneal(q.stage))
}

// beginLBFGS checks the input and sets up the first ε.
func beginLBFGS(ctx context.Context, p Problem, c Control, memory int) (*quasiNewton, error) {
	if memory < 0 {
		return nil, bad(fault.ErrParameter, "Memory = %d: must be ≥ 0 (0 is 20)", memory)
	}
	r, err := begin(ctx, p, c)
	if err != nil {
		return nil, err
	}
	return r.quasiNewton(memory), nil
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
