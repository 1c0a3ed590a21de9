package exact

import (
	"fmt"
	"math"

	"coupling/ot/internal/fault"
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

// weights returns w checked, or uniform weights where w is nil.
func weights(name string, w []float64, n int) ([]float64, error) {
	if w == nil {
		w = make([]float64, n)
		for i := range w {
			w[i] = 1 / float64(n)
		}
		return w, nil
	}
	if len(w) != n {
		return nil, fmt.Errorf("ot/exact: len(%s) = %d, want %d: %w", name, len(w), n, ErrShape)
	}
	total := 0.
	for i, v := range w {
		if !(v >= 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("ot/exact: %s[%d] = %v: must be finite and >= 0: %w", name, i, v, ErrWeights)
		}
		total += v
	}
	if total == 0 || math.IsInf(total, 1) {
		return nil, fmt.Errorf("ot/exact: %s: total mass = %v: must be > 0 and finite: %w", name, total, ErrWeights)
	}
	return w, nil
}
