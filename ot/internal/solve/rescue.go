package solve

import (
	"cmp"
	"errors"
	"math"

	"coupling/ot/internal/fault"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/simplex"
)

// nearSolution reports an error below which one or two Newton steps by conjugate gradients solve
// the problem, as a rule. Elimination, for few targets, takes as long as many steps of L-BFGS, and so
// do the products of conjugate gradients for very many.
func (q *quasiNewton) nearSolution() bool {
	return q.err < nearError && q.s.M > denseNewton && q.s.N <= newtonDense/q.s.M
}

// rescue tries a remedy for stalled steps and reports whether there was one left: Newton steps
// resolve weakly coupled atoms, which L-BFGS does not; exact potentials leave regions where the
// slope is negligible; and reduced costs resolve less than the rounding of potentials, the only
// remedy where the least error so far is of the order of rounding.
func (q *quasiNewton) rescue(tol, least float64) (bool, error) {
	defer q.hist.clear()
	q.budget = cmp.Or(q.budget, rescueFactor*max(q.s.Evals, leastRescue))
	if q.s.Evals > q.budget {
		return false, nil
	}
	rounded := !q.s.Rebased() && least > tol && least < nearNoise*q.s.Noise() // the error left is rounding, as a rule
	if !rounded && q.err > tol && (q.rescues == 0 || q.restarted && q.rescues < maxRescues) {
		q.rescues++
		return true, q.newtonPhase(tol)
	}
	if !rounded {
		if again, err := q.restart(); again || err != nil {
			return again, err
		}
	}
	if q.refine() {
		return true, q.eval(q.beta, 1)
	}
	return false, nil
}

const (
	// After its first rescue a solve has rescueFactor times the evaluations before it, counted as
	// at least leastRescue.
	rescueFactor, leastRescue = 10, 500
	// rescueRegion is the L1 error below which a slow L-BFGS switches to Newton steps, and maxRescues how often it does
	// so at most: once before it restarts from the exact potentials.
	rescueRegion = 0.1
	maxRescues   = 10
	nearError    = 1e-4 // for nearSolution
)

// pace detects errors that fall too slowly.
type pace struct {
	steps      int
	best, last float64 // the best so far, and that at the last check
}

// slow notes err and checks now and then whether the best error has fallen enough since the last check: to a half in a
// hundred steps or, near the solution, where a Newton step may solve the problem, to a tenth in fifty.
func (p *pace) slow(err float64, near bool) bool {
	if p.steps == 0 || err < p.best {
		p.best = err
	}
	p.steps++
	every, enough := 100, 0.5
	if near {
		every, enough = 50, 0.1
	}
	if p.steps%every != 0 {
		return false
	}
	slow := p.last > 0 && p.best > enough*p.last
	p.last = p.best
	return slow
}

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
	sol, err := simplex.Solve(q.ctx, s.A, s.B, s.G, 0, func(int, int, float64) {})
	if q.ctx.Err() != nil {
		return false, q.ctx.Err()
	}
	if err != nil {
		return false, nil //nolint:nilerr // the simplex method cannot represent the masses or costs: go on
	}
	copy(q.beta, s.Start(sol.G))
	q.hist.clear()
	s.Invalidate()
	return true, q.eval(q.beta, 1)
}

// maxRestart is the largest n·m for which a stalled solve restarts from the exact potentials: about
// a second of the network simplex.
const maxRestart = 1 << 20

// feasible reports a problem that has no plan but by forbidden pairs, by exact transport, at no cost by listed pairs.
func (r *run) feasible() error {
	s, of := r.s, r.s.G
	if l := semidual.Listing(of); l != nil {
		of = semidual.AtNoCost(l)
	} else if s.N > maxRestart/s.M {
		return nil
	}
	if !s.Cost.Forbidden {
		return nil
	}
	if _, err := simplex.Solve(r.ctx, s.A, s.B, of, 0,
		func(int, int, float64) {}); errors.Is(err, fault.ErrInfeasible) {
		return err
	}
	return nil
}

// refine moves to reduced costs, once, if costs are so large against ε that the rounding of
// potentials may limit the error. It reports whether it did.
func (r *run) refine() bool {
	if r.s.Rebased() || semidual.Separate(r.s.G) != nil {
		return false
	}
	if c := r.s.Cost; max(math.Abs(c.Max), math.Abs(c.Min), c.Max-c.Min) < 100*r.s.Eps {
		return false
	}
	r.s.Rebase(r.beta)
	return true
}
