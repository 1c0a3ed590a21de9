package ot

import (
	"errors"

	"coupling/ot/exact"
)

// maxRestart is the largest n·m for which a stalled solve restarts from the exact potentials: about
// a second of the network simplex.
const maxRestart = 1 << 20

// restart moves, once, to the potentials of unregularised transport, and reports whether it did.
// Where costs span many thousands of ε and weights many powers of ten, the potentials of small
// atoms have far to move, but those atoms contribute almost nothing to the L1 error and to the
// slope. The simplex method counts masses exactly, so it resolves every atom; its potentials are
// within a few ε of the solution.
func (q *quasiNewton) restart() (bool, error) {
	s := q.s
	if q.restarted || s.N > maxRestart/s.M {
		return false, nil
	}
	q.restarted = true
	sol, err := exact.Simplex{}.Solve(q.ctx, s.A, s.B, s.G)
	if q.ctx.Err() != nil {
		return false, q.ctx.Err()
	}
	if err != nil {
		return false, nil //nolint:nilerr // the simplex method cannot represent the masses or costs; the solve goes on as before
	}
	copy(q.beta, s.Start(sol.G))
	q.hist.clear()
	s.Invalidate()
	return true, q.eval(q.beta, 1)
}

// feasible reports a problem that has no plan but by forbidden pairs, by exact transport.
func (r *run) feasible() error {
	s := r.s
	if !s.Cost.Forbidden || s.N > maxRestart/s.M {
		return nil
	}
	if _, err := (exact.Simplex{}).Solve(r.ctx, s.A, s.B, s.G); errors.Is(err, ErrInfeasible) {
		return err
	}
	return nil
}
