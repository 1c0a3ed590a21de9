package pair

import (
	"math"
	"slices"

	"coupling/dp/internal/check"
	"coupling/lab/logspace"
)

// Errors of all packages under dp, for errors.Is.
var (
	// ErrParameter marks a parameter outside its range.
	ErrParameter = check.ErrParameter
	// ErrNoPair marks a part of an event for which no dominating pair is known under the relation.
	ErrNoPair = check.ErrNoPair
	// ErrUnbounded marks a question whose only certified answer is infinite.
	ErrUnbounded = check.ErrUnbounded
	// ErrNotApplicable marks a composition that an accountant does not handle; another one may.
	ErrNotApplicable = check.ErrNotApplicable
)

const in = check.In("pair")

var bad = in.Bad

// Pair is a dominating pair (P, Q), described by its privacy loss L = log p/q.
type Pair interface {
	// LogDelta returns log δ(ε) = log ∫ max(p − e^ε q, 0), for any real ε; −Inf where δ = 0. At ε =
	// +Inf it is the log of the P-mass on which q = 0, at −Inf it is 0.
	LogDelta(eps float64) float64
	// LogTails returns log P(L > ε) and log Q(L > ε).
	LogTails(eps float64) (logP, logQ float64)
	// LogMoment returns K(α) = log ∫ p^α q^(1−α) for α ≥ 1 with a bound on its absolute error: K is never larger than
	// k + errBound. It is +Inf where the integral diverges. For α < 0 ask Swap() for 1 − α. NaN for other α.
	LogMoment(alpha float64) (k, errBound float64)
	// Support describes the range of L and its atoms.
	Support() Support
	// RelErr bounds the relative error of δ and of tail probabilities.
	RelErr() float64
	// Swap returns the pair (Q, P).
	Swap() Pair
}

// Line is a pair of densities on a real coordinate x along which the privacy loss is nondecreasing.
type Line interface {
	Pair
	// At returns log q(x) and the loss L(x). The loss has a small relative (not absolute) error.
	At(x float64) (logQ, loss float64)
	// Threshold returns the smallest x with L(x) ≥ ε, −Inf when L ≥ ε everywhere, +Inf when L < ε everywhere.
	Threshold(eps float64) float64
}

// Atom is a point of positive probability of the privacy loss.
type Atom struct {
	Loss       float64 // log P/Q; ±Inf where Q or P vanishes
	P, Q       float64 // its probability under P and Q, which may underflow
	LogP, LogQ float64 // their logs, which do not
}

// atomOf returns the atom with probabilities of the given logs.
func atomOf(loss, logP, logQ float64) Atom {
	return Atom{Loss: loss, P: math.Exp(logP), Q: math.Exp(logQ), LogP: logP, LogQ: logQ}
}

// Support is the range of the privacy loss.
type Support struct {
	Min, Max float64 // infimum and supremum of L, which may be infinite
	Atoms    []Atom  // the points of positive probability, by increasing loss
	Discrete bool    // the atoms carry all the mass
}

// Infinite returns the P-mass on which L = +Inf: the limit of δ(ε) as ε grows.
func (s Support) Infinite() float64 {
	if n := len(s.Atoms); n > 0 && math.IsInf(s.Atoms[n-1].Loss, 1) {
		return s.Atoms[n-1].P
	}
	return 0
}

// swapped is the support of (Q, P).
func (s Support) swapped() Support {
	out := Support{Min: -s.Max, Max: -s.Min, Discrete: s.Discrete}
	for _, a := range slices.Backward(s.Atoms) {
		out.Atoms = append(out.Atoms, Atom{Loss: -a.Loss, P: a.Q, Q: a.P, LogP: a.LogQ, LogQ: a.LogP})
	}
	return out
}

// Delta returns the hockey-stick divergence δ(ε) = H(P‖Q) at e^ε, for any real ε. It is 0 where it
// underflows: use LogDelta.
func Delta(p Pair, eps float64) float64 { return math.Exp(p.LogDelta(eps)) }

// Renyi returns the Rényi divergence D_α(P‖Q) = log ∫ p^α q^(1−α) / (α−1) of any real order α > 1 with a bound on its
// error. It may be +Inf; it is NaN for α ≤ 1.
func Renyi(p Pair, alpha float64) (value, errBound float64) {
	if !(alpha > 1) {
		return math.NaN(), 0
	}
	k, e := p.LogMoment(alpha)
	return k / (alpha - 1), e/(alpha-1) + 4e-16*math.Abs(k)/(alpha-1)
}

// trivialMoment reports whether K(alpha) is known without the pair, and returns it: 0 at order 1, NaN below.
func trivialMoment(alpha float64) (k float64, known bool) {
	if !(alpha >= 1) {
		return math.NaN(), true
	}
	return 0, alpha == 1
}

// reflectDelta turns log δ of (Q, P) at −ε into log δ of (P, Q) at ε < 0: δ(ε) = 1 − e^ε + e^ε δ′(−ε).
func reflectDelta(eps, logOther float64) float64 {
	return min(0, logspace.Add(logspace.Log(-math.Expm1(eps)), eps+logOther))
}
