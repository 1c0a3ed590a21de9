package admm

import (
	"fmt"
	"math"
	"reflect"

	"coupling/dp/internal/check"
	"coupling/lab/root"
)

// Utility is the gain of a node from an amount v ≥ 0 on one edge: concave, increasing and
// continuously differentiable (Assumption 1 of the paper). The types of this file are the built-in
// utilities.
type Utility interface {
	// Value is u(v).
	Value(v float64) float64
	// Slope is u′(v), which is at least 0 and does not increase.
	Slope(v float64) float64
}

// Linear is u(v) = A v.
type Linear struct{ A float64 }

// Log is u(v) = A log(1 + v/B).
type Log struct{ A, B float64 }

// Saturating is u(v) = A (1 − e^(−v/B)).
type Saturating struct{ A, B float64 }

// Quadratic is u(v) = A v − B v²/2 up to its summit at v = A/B, and constant from there on.
type Quadratic struct{ A, B float64 }

// Value is A v.
func (u Linear) Value(v float64) float64 { return u.A * v }

// Slope is A.
func (u Linear) Slope(float64) float64 { return u.A }

// Value is A log(1 + v/B).
func (u Log) Value(v float64) float64 { return u.A * math.Log1p(v/u.B) }

// Slope is A/(B + v).
func (u Log) Slope(v float64) float64 { return u.A / (u.B + v) }

// Value is A (1 − e^(−v/B)).
func (u Saturating) Value(v float64) float64 { return -u.A * math.Expm1(-v/u.B) }

// Slope is A/B e^(−v/B).
func (u Saturating) Slope(v float64) float64 { return u.A / u.B * math.Exp(-v/u.B) }

// Value is A v − B v²/2, and A²/2B beyond A/B.
func (u Quadratic) Value(v float64) float64 {
	v = min(v, u.A/u.B)
	return u.A*v - u.B*v*v/2
}

// Slope is max(A − B v, 0).
func (u Quadratic) Slope(v float64) float64 { return max(0, u.A-u.B*v) }

// Steepness returns the most by which the slope of u changes, at any amount, when its parameter A
// changes by 1 and B stays: 1 for Linear, whose slope is A, and for Quadratic, max(A − Bv, 0); 1/B
// for Log and Saturating, whose slopes A/(B + v) and A/B e^(−v/B) are in proportion to A and
// steepest at v = 0. Other utilities have no such parameter.
func Steepness(u Utility) (perUnit float64, known bool) {
	switch u := u.(type) {
	case Linear, Quadratic:
		return 1, true
	case Log:
		return 1 / u.B, true
	case Saturating:
		return 1 / u.B, true
	}
	return 0, false
}

// checkUtility refuses parameters with which u is not concave and increasing. A user's own utility is checked
// at a few points only.
func checkUtility(u Utility) error {
	a, b := 0.0, 1.0
	switch u := u.(type) {
	case nil:
		return bad("utility = nil")
	case Linear:
		a = u.A
	case Log:
		a, b = u.A, u.B
	case Saturating:
		a, b = u.A, u.B
	case Quadratic:
		a, b = u.A, u.B
	default:
		return checkOther(u)
	}
	return check.All(in.NotNegative(fmt.Sprintf("%T.A", u), a), in.Positive(fmt.Sprintf("%T.B", u), b))
}

func checkOther(u Utility) error {
	if v := reflect.ValueOf(u); v.Kind() == reflect.Pointer && v.IsNil() {
		return bad("utility = (%T)(nil)", u)
	}
	last := math.Inf(1)
	for _, v := range []float64{0, 0.01, 0.1, 1, 10, 100, 1000} {
		s := u.Slope(v)
		if !(s >= 0) || math.IsInf(s, 0) {
			return bad("%T: slope at v = %g is %v: must be at least 0 and finite", u, v, s)
		}
		if s > last*(1+1e-9) {
			return bad("%T: slope rises to %v at v = %g: must be concave", u, s, v)
		}
		if y := u.Value(v); math.IsNaN(y) || math.IsInf(y, 0) {
			return bad("%T: value at v = %g is %v: must be finite", u, v, y)
		}
		last = s
	}
	return nil
}

// prox returns argmin over v ≥ 0 of −u(v) + η/2 (v − c)², which solves η(v − c) = u′(v) unless it is 0.
func prox(u Utility, c, eta float64) float64 {
	if c < 0 && u.Slope(0)+eta*c <= 0 {
		return 0
	}
	switch u := u.(type) {
	case Linear:
		return max(0, c+u.A/eta)
	case Log: // (v − c)(v + B) = A/η
		p, q := u.B-c, c*u.B+u.A/eta
		root := math.Sqrt((c+u.B)*(c+u.B) + 4*u.A/eta)
		if p > 0 {
			return max(0, 2*q/(p+root)) // no cancellation
		}
		return max(0, (root-p)/2)
	case Quadratic:
		if v := (u.A + eta*c) / (u.B + eta); u.B*v <= u.A {
			return max(0, v)
		}
		return max(0, c)
	}
	lo := max(0, c)
	return decreasingRoot(func(v float64) float64 { return u.Slope(v) - eta*(v-c) }, lo, lo+max(0, u.Slope(lo))/eta)
}

// decreasingRoot returns the zero of a continuous f that does not increase, in [a, b] with f(a) ≥ 0
// ≥ f(b), to the last bits.
func decreasingRoot(f func(float64) float64, a, b float64) float64 {
	switch {
	case f(a) <= 0:
		return a
	case f(b) >= 0:
		return b
	}
	return root.Increasing(func(x float64) float64 { return -f(x) }, 0, a, b)
}
