package contour

import (
	"slices"

	"coupling/dp/pair"
)

const (
	// trimSlack is the relative error of δ that leaving out components may cause; every bound of
	// log δ is widened by it.
	trimSlack = 1e-12
	// mostTrimmed is the largest ε for which weights of Q were left out.
	mostTrimmed = 64.0
)

// trimAt returns the Trim for ε.
func trimAt(steps []pair.Step, eps float64) pair.Trim {
	if !(eps >= 0) {
		return pair.NoTrim
	}
	return pair.TrimTo(steps, pair.MostPrivate(steps, eps), trimSlack, eps)
}

func trimmed(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.pair.trimmed })
}

// leftOut bounds the error of log δ caused by components left out.
func leftOut(parts []part) float64 {
	if trimmed(parts) {
		return trimSlack
	}
	return 0
}
