package contour

import (
	"math"

	"coupling/dp/pair"
)

// A negligible says below which weights (logs) components of P and of Q are left out. With τ and τ′ what is left out of one step's P and
// Q, T steps have
//
//	|δ(ε) − δ_left(ε)| ≤ T·(τ + e^ε τ′),
//
// the total variation of what remains from what was. That is kept below half of trimSlack, relative to δ; every bound of log δ is widened
// by trimSlack. Batches drawn with replacement, and groups, have hundreds of components that nobody ever sees.
type negligible struct{ p, q float64 }

// trimSlack is the relative error of δ that components left out may make.
const trimSlack = 1e-12

// mostTrimmed is the largest ε for which weights of Q were left out.
const mostTrimmed = 64.0

// nothing is negligible.
var nothing = negligible{math.Inf(-1), math.Inf(-1)}

// negligibleTo is what may be left out for an error of δ of slack·e^want, at ε up to most.
func negligibleTo(steps []pair.Step, want, slack, most float64) negligible {
	cut := want + math.Log(slack/4) - math.Log(components(steps))
	return negligible{cut, cut - most}
}

// negligibleAt is what may be left out at ε: the composition is no more private than one of its steps.
func negligibleAt(steps []pair.Step, eps float64) negligible {
	if !(eps >= 0) {
		return nothing
	}
	least := math.Inf(-1)
	for _, s := range steps {
		least = max(least, s.Pair.LogDelta(eps)-s.Pair.RelErr())
	}
	return negligibleTo(steps, least, trimSlack, eps)
}

// components counts the components of all steps, as often as they are composed.
func components(steps []pair.Step) float64 {
	n := 1.0
	for _, s := range steps {
		if m, ok := s.Pair.(*pair.Mixture); ok && m != nil {
			p, q := m.Components()
			n += float64(max(0, s.Times)) * float64(len(p)+len(q))
		}
	}
	return n
}

// drop leaves out components of less weight.
func drop(all []pair.Component, logWeight float64) []pair.Component {
	var kept []pair.Component
	for _, c := range all {
		if c.LogWeight >= logWeight {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return all
	}
	return kept
}

func trimmed(parts []part) bool {
	for _, p := range parts {
		if p.pair.trimmed {
			return true
		}
	}
	return false
}

// leftOut bounds the error of log δ that components left out make.
func leftOut(parts []part) float64 {
	if trimmed(parts) {
		return trimSlack
	}
	return 0
}
