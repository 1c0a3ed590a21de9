package exact

import (
	"errors"
	"fmt"
	"math"
)

// What the errors of this package wrap, for errors.Is.
var (
	// ErrShape reports lengths that do not fit each other or are zero.
	ErrShape = errors.New("shape mismatch")
	// ErrWeights reports a weight that is negative or not finite, or weights that sum to zero.
	ErrWeights = errors.New("weights must be finite, non-negative and not all zero")
	// ErrUnbalanced reports total masses that differ by more than rounding.
	ErrUnbalanced = errors.New("total masses must agree to 1e-9")
	// ErrCost reports a cost, a point or an exponent that is not finite or out of range.
	ErrCost = errors.New("cost out of range")
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
			return nil, fmt.Errorf("ot/exact: %s[%d] = %v: %w", name, i, v, ErrWeights)
		}
		total += v
	}
	if total == 0 || math.IsInf(total, 1) {
		return nil, fmt.Errorf("ot/exact: %s: total mass = %v: %w", name, total, ErrWeights)
	}
	return w, nil
}
