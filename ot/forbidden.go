package ot

import (
	"context"
	"errors"
	"math"

	"coupling/ot/exact"
)

// Pairs of cost +Inf are forbidden. Passes need no special case, since exponentials of −Inf are 0;
// code that multiplies T by a logarithm or a cost skips these pairs.

// leaveOut sets v to 0 where the cost is +Inf.
func leaveOut(v, c []float64) {
	for j, x := range c {
		if math.IsInf(x, 1) {
			v[j] = 0
		}
	}
}

// feasible reports a problem that has no plan but by forbidden pairs, by exact transport.
func (in *instance) feasible(ctx context.Context) error {
	if !in.cost.Forbidden || in.n > maxRestart/in.m {
		return nil
	}
	if _, err := (exact.Simplex{}).Solve(ctx, in.a, in.b, in.g); errors.Is(err, ErrInfeasible) {
		return err
	}
	return nil
}
