package pld

import (
	"math"

	"coupling/dp/pair"
)

// A trim says below which weights (logs) components of a mixture's P and Q are left out. With τ and τ′ what is left out of one step's P and
// Q, T steps have
//
//	|δ(ε) − δ_left(ε)| ≤ T·(τ + e^ε τ′),
//
// the total variation of what remains from what was. Batches drawn with replacement, and groups, have hundreds of components that nobody
// ever sees.
type trim struct{ p, q float64 }

// trimSlack is the relative error of δ that components left out may make.
const trimSlack = 1e-10

// mostTrimmed is the largest ε for which components of Q are left out.
const mostTrimmed = 40.0

// trimFor is what may be left out for a question about δ around e^goal, and ε up to eps.
func trimFor(steps []pair.Step, goal, eps float64) trim {
	n := 1.0
	for _, s := range steps {
		if m, ok := s.Pair.(*pair.Mixture); ok && m != nil {
			p, q := m.Components()
			n += float64(max(0, s.Times)) * float64(len(p)+len(q))
		}
	}
	cut := goal + math.Log(trimSlack/4) - math.Log(n)
	return trim{cut, cut - eps}
}

// of returns the steps without what may be left out, and whether anything was.
func (t trim) of(steps []pair.Step) (out []pair.Step, cut bool) {
	for _, s := range steps {
		m, ok := s.Pair.(*pair.Mixture)
		if ok && m != nil {
			p, q := m.Components()
			p2, q2 := drop(p, t.p), drop(q, t.q)
			if len(p2) < len(p) || len(q2) < len(q) {
				if less, err := pair.NewMixture(m.Noise(), m.Scale(), p2, q2); err == nil {
					s.Pair, cut = less, true
				}
			}
		}
		out = append(out, s)
	}
	return out, cut
}

// drop leaves out components of less weight, but never all; what remains is normalised by the sum of its weights.
func drop(all []pair.Component, logWeight float64) []pair.Component {
	var kept []pair.Component
	rest := 0.0
	for _, c := range all {
		if c.LogWeight >= logWeight {
			kept = append(kept, c)
			continue
		}
		rest += math.Exp(c.LogWeight)
	}
	if len(kept) == 0 {
		return all
	}
	for i := range kept {
		kept[i].LogWeight -= math.Log1p(-rest)
	}
	return kept
}
