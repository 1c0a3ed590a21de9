package exact

import (
	"fmt"
	"math"

	"coupling/ot/internal/fault"
	"coupling/ot/internal/rows"
)

// The kinds of error of this package, for errors.Is; they are those of package ot.
var (
	// ErrShape reports lengths that do not fit each other or are zero.
	ErrShape = fault.ErrShape
	// ErrWeights reports a weight that is negative or not finite, or weights that sum to zero.
	ErrWeights = fault.ErrWeights
	// ErrUnbalanced reports total masses that differ by more than 1e-9 of their size. It is an ErrWeights.
	ErrUnbalanced = fault.Sub("total masses must agree to 1e-9", fault.ErrWeights)
	// ErrCost reports a cost that is NaN, −Inf or too large, or a point or an exponent that is not finite or out of range.
	ErrCost = fault.ErrCost
	// ErrInfeasible reports a problem that has no plan without the pairs that a cost of +Inf forbids.
	ErrInfeasible = fault.ErrInfeasible
)

// bad builds an error of one of these kinds.
func bad(kind error, format string, args ...any) error {
	return fmt.Errorf("ot/exact: %s: %w", fmt.Sprintf(format, args...), kind)
}

// weights returns w checked, or uniform weights where w is nil.
func weights(name string, w []float64, n int) ([]float64, error) {
	uniform, total, err := rows.Weights(make([]float64, n), name, w, "atoms", bad)
	switch {
	case err != nil || w == nil:
		return uniform, err
	case math.IsInf(total, 1):
		return nil, bad(ErrWeights, "%s sums to %g: must be finite", name, total)
	}
	return w, nil
}
