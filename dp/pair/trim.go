package pair

import (
	"math"

	"coupling/lab/logspace"
)

// A Trim holds the weights (logs) below which components of the P and Q of mixtures are left out.
// If τ and τ′ are the masses left out of one step's P and Q, T steps have
//
//	|δ(ε) − δ_left(ε)| ≤ T·(τ + e^ε τ′),
//
// the total variation between the two. Batches drawn with replacement, and groups, have hundreds of
// components of negligible weight.
type Trim struct{ P, Q float64 }

// NoTrim leaves out nothing.
var NoTrim = Trim{math.Inf(-1), math.Inf(-1)}

// TrimTo returns the Trim of a composition for an error of δ of slack·e^goal/2, at ε up to most.
func TrimTo(steps []Step, goal, slack, most float64) Trim {
	n := 1.0
	for _, s := range steps {
		if m, ok := s.Pair.(*Mixture); ok && m != nil {
			n += float64(max(0, s.Times)) * float64(len(m.p)+len(m.q))
		}
	}
	cut := goal + logspace.Log(slack/4) - logspace.Log(n)
	return Trim{cut, cut - most}
}

// MostPrivate bounds log δ(ε) of a composition from below: it is no more private than one of its steps.
func MostPrivate(steps []Step, eps float64) float64 {
	least := math.Inf(-1)
	for _, s := range steps {
		under, _ := Under(s.Pair)
		least = max(least, under.LogDelta(eps)-under.RelErr())
	}
	return least
}

// Of returns the pair without the components left out, normalised, and whether any was.
func (t Trim) Of(p Pair) (Pair, bool) {
	m, ok := p.(*Mixture)
	if !ok || m == nil {
		return p, false
	}
	over, under := heavy(m.p, t.P), heavy(m.q, t.Q)
	if len(over) == len(m.p) && len(under) == len(m.q) {
		return p, false
	}
	less, err := NewMixture(m.noise, m.scale, over, under)
	if err != nil {
		return p, false
	}
	return less, true
}

// heavy returns the components of at least a weight, normalised by the sum of the others' weights, but never none.
func heavy(all []Component, logWeight float64) []Component {
	var kept []Component
	rest := 0.0
	for _, c := range all {
		if c.LogWeight >= logWeight {
			kept = append(kept, c)
		} else {
			rest += math.Exp(c.LogWeight)
		}
	}
	if len(kept) == 0 {
		return all
	}
	for i := range kept {
		kept[i].LogWeight -= math.Log1p(-rest)
	}
	return kept
}
