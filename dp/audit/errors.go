package audit

import "coupling/dp/internal/check"

const in = check.In("audit")

var bad = in.Bad

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
