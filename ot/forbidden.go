package ot

import (
	"context"
	"errors"
	"math"

	"coupling/ot/cost"
	"coupling/ot/exact"
)

// Pairs of cost +Inf are forbidden. Passes need no special case, since exponentials of −Inf are 0;
// code that multiplies T by a logarithm or a cost skips these pairs.

// mayForbid reports whether a cost of +Inf means a forbidden pair.
func mayForbid(g Geometry) bool {
	f, ok := g.(cost.Finite)
	return !ok || !f.Finite()
}

// allowed copies costs to dst with the least finite one for those that are +Inf, and returns them
// with the sums of b·c and of b over the finite ones (0 if there is none). NaN and −Inf make the
// sum NaN.
func allowed(dst, c, b []float64) (row []float64, mean, mass float64) {
	least := math.Inf(1)
	for j, v := range c {
		if math.IsNaN(v) || math.IsInf(v, -1) {
			return c, math.NaN(), 0
		}
		if b[j] > 0 {
			least = min(least, v)
		}
	}
	for j, v := range c {
		if dst[j] = v; math.IsInf(v, 1) {
			dst[j] = least
			continue
		}
		mean += b[j] * v
		mass += b[j]
	}
	return dst, mean, mass
}

// leaveOut sets v to 0 where the cost is +Inf.
func leaveOut(v, c []float64) {
	for j, x := range c {
		if math.IsInf(x, 1) {
			v[j] = 0
		}
	}
}

// partners returns an error for an atom of positive weight whose pairs are all forbidden.
func (in *instance) partners() error {
	partner, buf := make([]bool, in.m), make([]float64, in.m)
	for i, a := range in.a {
		paired := a == 0
		for j, v := range in.g.Row(i, buf) {
			if a > 0 && in.b[j] > 0 && !math.IsInf(v, 1) {
				paired, partner[j] = true, true
			}
		}
		if !paired {
			return bad(ErrInfeasible, "every pair of source %d is forbidden", i)
		}
	}
	for j, b := range in.b {
		if b > 0 && !partner[j] {
			return bad(ErrInfeasible, "every pair of target %d is forbidden", j)
		}
	}
	return nil
}

// feasible reports a problem that has no plan but by forbidden pairs, by exact transport.
func (in *instance) feasible(ctx context.Context) error {
	if !in.cost.forbidden || in.n > maxRestart/in.m {
		return nil
	}
	if _, err := (exact.Simplex{}).Solve(ctx, in.a, in.b, in.g); errors.Is(err, ErrInfeasible) {
		return err
	}
	return nil
}
