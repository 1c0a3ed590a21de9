package pair

import "math"

// A Trim says below which weights (logs) components of the P and Q of mixtures are left out. With τ and τ′ what is left out of one step's P
// and Q, T steps have
//
//	|δ(ε) − δ_left(ε)| ≤ T·(τ + e^ε τ′),
//
// the total variation of what remains from what was. Batches drawn with replacement, and groups, have hundreds of components that nobody
// ever sees.
type Trim struct{ P, Q float64 }

// NoTrim leaves out nothing.
var NoTrim = Trim{math.Inf(-1), math.Inf(-1)}

// TrimTo is what may be left out of a composition for an error of δ of slack·e^goal/2, at ε up to most.
func TrimTo(steps []Step, goal, slack, most float64) Trim {
	n := 1.0
	for _, s := range steps {
		if m, ok := s.Pair.(*Mixture); ok && m != nil {
			n += float64(max(0, s.Times)) * float64(len(m.p)+len(m.q))
		}
	}
	cut := goal + math.Log(slack/4) - math.Log(n)
	return Trim{cut, cut - most}
}

// MostPrivate bounds log δ(ε) of a composition from below: it is no more private than one of its steps.
func MostPrivate(steps []Step, eps float64) float64 {
	least := math.Inf(-1)
	for _, s := range steps {
		least = max(least, s.Pair.LogDelta(eps)-s.Pair.RelErr())
	}
	return least
}

// Of returns the pair without what is left out, and whether anything was. What remains is normalised.
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
