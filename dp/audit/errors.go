package audit

import (
	"fmt"

	"coupling/dp"
)

// bad builds an error about a parameter.
func bad(format string, args ...any) error {
	return fmt.Errorf("audit: %s: %w", fmt.Sprintf(format, args...), dp.ErrParameter)
}

// checkDelta accepts δ in [0, 1).
func checkDelta(delta float64) error {
	if !(delta >= 0 && delta < 1) {
		return bad("delta = %v: must be in [0, 1)", delta)
	}
	return nil
}

// usualConfidence is the confidence where none is given.
const usualConfidence = 0.95

// confident fills in the default.
func confident(confidence float64) (float64, error) {
	if confidence == 0 {
		return usualConfidence, nil
	}
	if !(confidence > 0 && confidence < 1) {
		return 0, bad("Confidence = %v: must be in (0, 1), or 0 for %v", confidence, usualConfidence)
	}
	return confidence, nil
}
