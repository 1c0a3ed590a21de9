package dp

import (
	"errors"
	"fmt"
	"math"

	"coupling/dp/pair"
)

var (
	// ErrParameter marks a parameter outside its range, for errors.Is. It is the same in all packages under dp.
	ErrParameter = pair.ErrParameter
	// ErrNoPair marks a part of an event for which no dominating pair is known under the relation.
	ErrNoPair = errors.New("no dominating pair is known")
	// ErrUnbounded marks a question whose only certified answer is infinite.
	ErrUnbounded = errors.New("no finite bound")
)

// bad builds an error about a parameter; the message gets the package's prefix.
func bad(format string, args ...any) error {
	return fmt.Errorf("dp: %s: %w", fmt.Sprintf(format, args...), ErrParameter)
}

// noPair builds an error about a part of an event.
func noPair(part Event, format string, args ...any) error {
	return fmt.Errorf("dp: %v: %s: %w", part, fmt.Sprintf(format, args...), ErrNoPair)
}

// checkDelta accepts δ in [0, 1).
func checkDelta(delta float64) error {
	if !(delta >= 0 && delta < 1) {
		return bad("delta = %v: must be in [0, 1)", delta)
	}
	return nil
}

// checkEpsilon accepts finite ε ≥ 0.
func checkEpsilon(eps float64) error {
	if !(eps >= 0) || math.IsInf(eps, 0) {
		return bad("eps = %v: must be at least 0 and finite", eps)
	}
	return nil
}
