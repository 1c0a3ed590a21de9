package pair

import (
	"fmt"
	"math"

	"coupling/lab/logspace"
)

// Sampled returns the pair ((1−r)Q + rP, Q), which dominates the removal of one record that is in
// the batch with probability r, for a pair p = (P, Q) that dominates the removal of a record of the
// batch (advanced joint convexity: Balle, Barthe, Gaboardi 2018, Theorem 2; Zhu, Dong, Wang 2022).
// Finite pairs stay finite and mixtures mixtures.
func Sampled(p Pair, rate float64) (Pair, error) {
	if err := in.Rate(rate); err != nil {
		return nil, err
	}
	if rate == 1 {
		return p, nil
	}
	switch p := p.(type) {
	case *Discrete:
		pts := make([]point, len(p.points))
		for i, a := range p.points {
			pts[i] = point{p: a.q.scaled(1 - rate).plus(a.p.scaled(rate)), q: a.q, diff: a.diff.scaled(rate)}
		}
		return discrete(pts, p.lossErr), nil
	case *Mixture:
		over, q := p.Components()
		mixed := scaled(over, logspace.Log(rate))
		if m, err := NewMixture(p.noise, p.scale, append(mixed, scaled(q, math.Log1p(-rate))...), q); err == nil {
			return m, nil
		}
	case *Norm:
		if !p.swapped {
			s := *p
			s.rate *= rate
			return &s, nil
		}
	case *Moments:
		return SampledMoments(p, rate)
	}
	return &sampled{base: p, rate: rate}, nil
}

// scaled returns components with their weights multiplied.
func scaled(c []Component, logFactor float64) []Component {
	out := make([]Component, len(c))
	for i, c := range c {
		out[i] = Component{LogWeight: c.LogWeight + logFactor, Mean: c.Mean}
	}
	return out
}

// sampled is ((1−r)Q + rP, Q) of any pair, or swapped.
type sampled struct {
	base    Pair
	rate    float64
	swapped bool
}

// sampleLoss is the sampled loss log(1 + r(e^l − 1)).
func sampleLoss(loss, rate float64) float64 {
	if rate == 1 {
		return loss
	}
	if loss > 30 {
		return logspace.Add(loss+logspace.Log(rate), math.Log1p(-rate))
	}
	return math.Log1p(rate * math.Expm1(loss))
}

// unsampleLoss is its inverse; −Inf below the least sampled loss.
func unsampleLoss(eps, rate float64) float64 {
	if rate == 1 {
		return eps
	}
	if eps > 30 {
		return logspace.Sub(eps, math.Log1p(-rate)) - logspace.Log(rate)
	}
	return math.Log1p(max(-1, math.Expm1(eps)/rate))
}

// LogDelta is the profile of the pair at a changed ε.
func (s *sampled) LogDelta(eps float64) float64 {
	return sampledDelta(eps, s.rate, s.swapped, s.base)
}

// sampledDelta is log δ of the sampled pair, or of its swap.
func sampledDelta(eps, rate float64, swapped bool, base Pair) float64 {
	stay := math.Log1p(-rate) // the least loss of ((1−r)Q + rP, Q)
	switch {
	case math.IsNaN(eps):
		return math.NaN()
	case !swapped && eps <= stay:
		return logspace.Log(-math.Expm1(eps))
	case !swapped:
		return min(0, logspace.Log(rate)+base.LogDelta(unsampleLoss(eps, rate)))
	case eps >= -stay:
		return math.Inf(-1)
	}
	// q − e^ε((1−r)q + r p) = c(q − e^ε″ p), c = 1 − e^ε(1−r), e^ε″ = e^ε r/c.
	logC := logspace.OneMinusExp(eps + stay)
	return min(0, logC+base.Swap().LogDelta(eps+logspace.Log(rate)-logC))
}

// LogTails are those of the pair at a changed ε, mixed.
func (s *sampled) LogTails(eps float64) (logP, logQ float64) {
	stay, hit := math.Log1p(-s.rate), logspace.Log(s.rate)
	switch {
	case math.IsNaN(eps):
		return math.NaN(), math.NaN()
	case !s.swapped && eps < stay:
		return 0, 0
	case s.swapped && eps >= -stay:
		return math.Inf(-1), math.Inf(-1)
	case s.swapped:
		q, p := s.base.Swap().LogTails(-unsampleLoss(-eps, s.rate))
		return q, min(0, logspace.Add(stay+q, hit+p))
	}
	p, q := s.base.LogTails(unsampleLoss(eps, s.rate))
	return min(0, logspace.Add(stay+q, hit+p)), q
}

// LogMoment bounds the log moment: removals of integer orders from those of the pair, by the
// binomial theorem, with chords between; insertions by joint convexity, (1−r) + r·e^K.
func (s *sampled) LogMoment(alpha float64) (k, errBound float64) {
	if k, known := trivialMoment(alpha); known {
		return k, 0
	}
	base := s.base
	if s.swapped {
		base = base.Swap()
	}
	moment := func(order float64) float64 {
		k, e := base.LogMoment(order)
		return k + e
	}
	convex := mixedMoment(s.rate, moment(alpha))
	low := math.Floor(alpha)
	if s.swapped || !(alpha < 64) {
		return convex, 1e-13 * convex
	}
	k = SampledMoment(moment, s.rate, int(low), 1)
	if low < alpha {
		k = k*(low+1-alpha) + SampledMoment(moment, s.rate, int(low)+1, 1)*(alpha-low)
	}
	k = min(k, convex)
	return k, 1e-13 * k
}

// mixedMoment returns log((1−r) + r·e^k) for k ≥ 0.
func mixedMoment(rate, k float64) float64 { return sampleLoss(k, rate) }

// Support returns the range of the loss with its atoms.
func (s *sampled) Support() Support {
	b := s.base.Support()
	out := Support{Min: sampleLoss(b.Min, s.rate), Max: sampleLoss(b.Max, s.rate), Discrete: b.Discrete}
	for _, a := range b.Atoms {
		logP := logspace.Add(math.Log1p(-s.rate)+a.LogQ, logspace.Log(s.rate)+a.LogP)
		p := (1-s.rate)*a.Q + s.rate*a.P
		out.Atoms = append(out.Atoms, Atom{Loss: sampleLoss(a.Loss, s.rate), P: p, Q: a.Q, LogP: logP, LogQ: a.LogQ})
	}
	if s.swapped {
		return out.swapped()
	}
	return out
}

// RelErr is that of the pair.
func (s *sampled) RelErr() float64 { return s.base.RelErr() + 1e-14 }

// Swap returns (Q, P).
func (s *sampled) Swap() Pair { return &sampled{s.base, s.rate, !s.swapped} }

// String shows the pair.
func (s *sampled) String() string { return fmt.Sprintf("%v at rate %g", s.base, s.rate) }
