package pair

import (
	"math"
	"slices"

	"coupling/lab/logspace"
)

// Symmetric is the pair whose profile is that of a given pair for ε ≥ 0 and of its swap for ε < 0: it dominates a
// mechanism for which the given pair dominates at ε ≥ 0 in both directions. Its loss has an atom at 0. The one use is
// sampling without replacement under substitution (advanced joint convexity).
type Symmetric struct{ half integrable }

// NewSymmetric returns the symmetric pair of a Gaussian or Laplace mixture, of norm noise, or of a finite pair.
func NewSymmetric(half Pair) (Pair, error) {
	switch h := half.(type) {
	case integrable:
		return &Symmetric{h}, nil
	case *Discrete:
		rest := 1.0
		var pts []point
		for _, a := range h.points {
			if a.loss > 0 {
				rest -= a.p.float() + a.q.float()
				pts = append(pts, a, point{p: a.q, q: a.p, diff: a.diff.scaled(-1)})
			}
		}
		if rest < -1e-9 {
			return nil, bad("half = %v: its losses are positive too often for a symmetric pair", h)
		}
		return discrete(append(pts, pointOf(max(0, rest), max(0, rest), 0)), h.lossErr), nil
	}
	return nil, bad("half = %T: must be a *Mixture, a *Norm or a *Discrete", half)
}

// LogDelta returns log δ(ε).
func (s *Symmetric) LogDelta(eps float64) float64 {
	if eps < 0 {
		return reflectDelta(eps, s.half.LogDelta(-eps))
	}
	return s.half.LogDelta(eps)
}

// LogTails returns log P(L > ε) and log Q(L > ε); under P the law of −L is that of L under Q.
func (s *Symmetric) LogTails(eps float64) (logP, logQ float64) {
	if eps >= 0 {
		return s.half.LogTails(eps)
	}
	// P(L ≤ ε) = Q(L ≥ −ε) and the other way round; the half has atoms at its ends only.
	lp, lq := s.half.LogTails(-eps)
	p, q := math.Exp(lp), math.Exp(lq)
	for _, a := range s.half.Support().Atoms {
		if a.Loss == -eps {
			p, q = p+a.P, q+a.Q
		}
	}
	return math.Log1p(-min(1, q)), math.Log1p(-min(1, p))
}

// LogMoment returns log ∫ p^α q^(1−α): E_Q[(e^(βL) − 1)(e^L − e^(−βL)); L > 0] plus one, in terms of the half.
func (s *Symmetric) LogMoment(alpha float64) (k, errBound float64) {
	if k, known := trivialMoment(alpha); known {
		return k, 0
	}
	beta := alpha - 1
	logH := func(l float64) float64 {
		if l <= 0 {
			return math.Inf(-1)
		}
		return logspace.Expm1(beta*l) + l + logspace.OneMinusExp(-alpha*l)
	}
	zero := s.half.Threshold(0)
	breaks := []float64{zero}
	for _, b := range s.half.span(beta) {
		if b > zero {
			breaks = append(breaks, b)
		}
	}
	logM, relErr, ok := integrateLoss(s.half, beta, breaks, logH)
	for _, a := range s.half.Support().Atoms {
		if a.Loss > 0 {
			logM = logspace.Add(logM, a.LogQ+logH(a.Loss))
		}
	}
	if !ok { // the two halves together
		a, ea := s.half.LogMoment(alpha)
		b, eb := s.half.Swap().LogMoment(alpha)
		return logspace.Add(a, b), ea + eb
	}
	return momentFromExcess(logM, relErr+s.RelErr())
}

// Support returns the range of the loss with its atoms.
func (s *Symmetric) Support() Support {
	h := s.half.Support()
	h.Atoms = slices.DeleteFunc(slices.Clone(h.Atoms), func(a Atom) bool { return a.Loss <= 0 })
	lp, lq := s.half.LogTails(0)
	rest := max(0, 1-math.Exp(lp)-math.Exp(lq))
	return Support{Min: -h.Max, Max: h.Max, Atoms: slices.Concat(h.swapped().Atoms,
		[]Atom{atomOf(0, logspace.Log(rest), logspace.Log(rest))}, h.Atoms)}
}

// RelErr is that of the half.
func (s *Symmetric) RelErr() float64 { return s.half.RelErr() }

// Swap returns the pair itself.
func (s *Symmetric) Swap() Pair { return s }
