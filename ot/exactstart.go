package ot

import (
	"coupling/ot/exact"
)

// maxRestart is the largest n·m for which a solve that does not get on starts again from the exact potentials: a
// second of the network simplex or so.
const maxRestart = 1 << 20

// restart moves, once, to the potentials of unregularised transport, and reports whether it did. Where costs span many
// thousands of ε and weights many powers of ten, atoms of small weight have far to go and no L1 error, hence no slope
// worth the name, to show them the way; the simplex method counts masses exactly and sees them all. From there it is a few
// ε to the solution.
func (q *quasiNewton) restart() (bool, error) {
	s := q.s
	if q.restarted || s.n > maxRestart/s.m {
		return false, nil
	}
	q.restarted = true
	sol, err := exact.Simplex{}.Solve(q.ctx, s.a, s.b, s.g)
	if q.ctx.Err() != nil {
		return false, q.ctx.Err()
	}
	if err != nil {
		return false, nil //nolint:nilerr // masses or costs that it cannot count: no worse than before
	}
	copy(q.beta, s.start(sol.G))
	q.hist.clear()
	s.invalidate()
	return true, q.eval(q.beta, 1)
}
