package pair

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"coupling/lab/logspace"
)

// A Union is the pair of a mechanism that draws one of several, with weights that are the same
// under P and Q, and releases which one. So δ(ε) = Σ w_i δ_i(ε).
type Union struct {
	parts   []Pair
	logW    []float64
	support Support
}

// NewUnion returns the union of pairs with weights that sum to one.
func NewUnion(weights []float64, parts ...Pair) (*Union, error) {
	sum := 0.0
	u := &Union{support: Support{Min: math.Inf(1), Max: math.Inf(-1), Discrete: true}}
	if len(weights) != len(parts) {
		return nil, bad("%d weights for %d pairs: must be equal", len(weights), len(parts))
	}
	for i, w := range weights {
		if sum += w; !(w >= 0) {
			return nil, bad("weight = %v: must be at least 0", w)
		}
		if w > 0 {
			u.parts, u.logW = append(u.parts, parts[i]), append(u.logW, logspace.Log(w))
		}
	}
	if !(math.Abs(sum-1) <= 1e-9) {
		return nil, bad("weights sum to %v: must sum to 1", sum)
	}
	u.merge()
	return u, nil
}

// merge fills in the support.
func (u *Union) merge() {
	all := &u.support
	for i, p := range u.parts {
		s := p.Support()
		all.Min, all.Max, all.Discrete = min(all.Min, s.Min), max(all.Max, s.Max), all.Discrete && s.Discrete
		for _, a := range s.Atoms {
			a = atomOf(a.Loss, a.LogP+u.logW[i], a.LogQ+u.logW[i])
			at, known := slices.BinarySearchFunc(all.Atoms, a,
				func(x, y Atom) int { return cmp.Compare(x.Loss, y.Loss) })
			if known {
				b := all.Atoms[at]
				all.Atoms[at] = atomOf(a.Loss, logspace.Add(a.LogP, b.LogP), logspace.Add(a.LogQ, b.LogQ))
			} else {
				all.Atoms = slices.Insert(all.Atoms, at, a)
			}
		}
	}
}

// sum returns log Σ w_i e^(of(i)).
func (u *Union) sum(of func(p Pair) float64) float64 {
	s := logspace.Zero()
	for i, p := range u.parts {
		s.Add(u.logW[i] + of(p))
	}
	return s.Log()
}

// LogDelta returns log δ(ε).
func (u *Union) LogDelta(eps float64) float64 {
	return min(0, u.sum(func(p Pair) float64 { return p.LogDelta(eps) }))
}

// LogTails returns log P(L > ε) and log Q(L > ε).
func (u *Union) LogTails(eps float64) (logP, logQ float64) {
	logP = u.sum(func(p Pair) float64 { l, _ := p.LogTails(eps); return l })
	logQ = u.sum(func(p Pair) float64 { _, l := p.LogTails(eps); return l })
	return min(0, logP), min(0, logQ)
}

// LogMoment returns log ∫ p^α q^(1−α) with a bound on its error, as log(1 + Σ w_i (e^k_i − 1)),
// without cancellation for small k.
func (u *Union) LogMoment(alpha float64) (k, errBound float64) {
	if k, known := trivialMoment(alpha); known {
		return k, 0
	}
	low, high := logspace.Zero(), logspace.Zero()
	for i, p := range u.parts {
		k, e := p.LogMoment(alpha)
		low.Add(u.logW[i] + logspace.Expm1(k))
		high.Add(u.logW[i] + logspace.Expm1(k+e))
	}
	k = logspace.OnePlusExp(low.Log())
	return k, logspace.OnePlusExp(high.Log()) - k + 1e-14*k
}

// Support returns the range of the loss and all atoms.
func (u *Union) Support() Support { return u.support }

// RelErr is the largest one's.
func (u *Union) RelErr() (most float64) {
	for _, p := range u.parts {
		most = max(most, p.RelErr())
	}
	return most + 1e-14
}

// Swap returns (Q, P).
func (u *Union) Swap() Pair {
	s := &Union{logW: u.logW, support: u.support.swapped()}
	for _, p := range u.parts {
		s.parts = append(s.parts, p.Swap())
	}
	return s
}

// String shows the parts.
func (u *Union) String() string { return fmt.Sprintf("union of %v", u.parts) }
