// Package penalty has the penalties of ot.Unbalanced on marginals p that differ from weights q: ρ D(p|q), which
// solvers see by its conjugate alone (Chizat et al. 2018; Séjourné et al. 2019).
//
//	                 D(p|q)                   p/q that a potential f asks for
//	KL               Σ p log(p/q) − p + q     e^(−f/ρ)
//	TotalVariation   Σ |p − q|                1; at most 1 where f = ρ, at least 1 where f = −ρ
//	ChiSquare        Σ (p − q)²/q             max(0, 1 − f/2ρ)
package penalty

import (
	"fmt"
	"math"

	"coupling/lab/logspace"
	"coupling/ot/internal/rows"
)

// Kind names a divergence D. The zero value is KL.
type Kind int

// The divergences of the table above.
const (
	KL             Kind = iota // Kullback–Leibler: mass far from its weights is cheap to leave, and never free.
	TotalVariation             // Mass stays as it is while transport costs less than ρ a side, and is dropped beyond.
	ChiSquare                  // Pearson's χ²: surplus costs more than with KL.
)

// Check returns an error unless k is one of the constants.
func (k Kind) Check() error {
	if k < KL || k > ChiSquare {
		return fmt.Errorf("penalty.Kind(%d): unknown", int(k))
	}
	return nil
}

// A Term is the penalty Rho·D on one marginal; Rho = +Inf keeps it exact.
type Term struct {
	Kind Kind
	Rho  float64
}

// Exact reports whether the marginal must be its weights.
func (t Term) Exact() bool { return math.IsInf(t.Rho, 1) }

// largestLog keeps the mass of a step finite where costs are far below −2ρ.
const largestLog = 600

// Cut reports whether Step made a share smaller than it is, to keep it finite.
func (t Term) Cut(share float64) bool {
	return t.Kind == TotalVariation && share > math.Exp(largestLog-1)
}

// Step returns the potential f that is optimal where an exact marginal would take s, that is, the maximum of
// Conjugate(f) − ε e^((f−s)/ε), and p/q = e^((f−s)/ε) there.
func (t Term) Step(s, eps float64) (f, share float64) {
	switch rho := t.Rho; {
	case t.Exact():
		return s, 1
	case t.Kind == TotalVariation:
		f = max(-rho, min(rho, s))
		return f, math.Exp(min(largestLog, (f-s)/eps))
	case t.Kind == ChiSquare:
		// e^((f−s)/ε) = 1 − f/2ρ is w + log w = log k + k − s/ε for w = k·p/q, k = 2ρ/ε.
		k := 2 * rho / eps
		share = omega(logspace.Log(k)+k-s/eps) / k
		if share > 0.5 {
			return s + eps*logspace.Log(share), share
		}
		return 2 * rho * (1 - share), share
	default:
		f = s * (rho / (rho + eps))
		return f, math.Exp(-f / rho)
	}
}

// omega returns the w with w + log w = z, Wright's ω, by Newton's method.
func omega(z float64) float64 {
	w := math.Exp(z)
	if z < -36 { // w = e^z to the last digit
		return w
	}
	if z > 1 {
		w = z - logspace.Log(z)
	}
	for range 20 {
		next := w * (1 + z - logspace.Log(w)) / (1 + w)
		if done := math.Abs(next-w) <= 0x1p-51*next; done {
			return next
		}
		w = next
	}
	return w
}

// atBound is the relative distance from ±ρ within which a potential of TotalVariation is there.
const atBound = 1e-9

// Bounded returns whether potentials end at −Rho and Rho, and whether f is at one of these.
func (t Term) Bounded(f float64) (bounded, at bool) {
	bounded = t.Kind == TotalVariation && !t.Exact()
	return bounded, bounded && math.Abs(f) >= t.Rho*(1-atBound)
}

// Share returns the p/q that a potential asks for. Where that is a set, or the rounding of f, it is the element nearest
// to got, today's p/q.
func (t Term) Share(f, got float64) float64 {
	switch {
	case t.Exact():
		return 1
	case t.Kind == TotalVariation:
		if _, at := t.Bounded(f); at && (f > 0) == (got < 1) {
			return got
		}
		return 1
	case t.Kind == ChiSquare:
		want := max(0, 1-f/(2*t.Rho))
		if math.Abs(want-got) < 0x1p-50 {
			return got
		}
		return want
	}
	return math.Exp(-f / t.Rho)
}

// Conjugate returns −D*(−f) for a unit of weight, what it adds to the dual.
func (t Term) Conjugate(f float64) float64 {
	switch {
	case t.Exact():
		return f
	case t.Kind == TotalVariation:
		return min(f, t.Rho)
	case t.Kind == ChiSquare:
		f = min(f, 2*t.Rho)
		return f - f*f/(4*t.Rho)
	}
	return -t.Rho * math.Expm1(-f/t.Rho)
}

// Of returns ρ D(p|q), 0 where the marginal is exact.
func (t Term) Of(p, q []float64) float64 {
	if t.Exact() {
		return 0
	}
	var s rows.Sum
	for i, v := range p {
		switch w := q[i]; {
		case t.Kind == TotalVariation:
			s.Add(math.Abs(v - w))
		case v == 0:
			s.Add(w)
		case t.Kind == ChiSquare:
			s.Add((v - w) * (v - w) / w)
		default:
			s.Add(v * logspace.Log(v/w))
			s.Add(w - v)
		}
	}
	return t.Rho * s.Value()
}
