package closed

import (
	"math"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// hits is the composition of T steps P = (1−r) N(0, 1) + r N(d, 1), Q = N(0, 1) where noise is so
// little, d² ≫ 2 log 1/r, that the loss of a step shows whether the record was in its batch. With ℓ
// the loss of the plain shift and c = log (1−r)/r, the loss of a step is
//
//	log r + ℓ + log(1 + e^(c−ℓ)) where the record was in it,   log(1−r) + log(1 + e^(ℓ−c)) elsewhere,
//
// so the number h of batches with the record being binomial, and ℓ summed over these Gaussian,
//
//	δ(ε) ≥ Σ_h Bin(h | T, r) δ_h(ε − h log r − (T−h) log(1−r)),   δ_h(ε) = H_ε(N(d√h, 1)‖N(0, 1)).
//
// Let m > c. As long as ℓ ≥ m in the h batches and ℓ ≤ 2c − m elsewhere, each loss is less than
// log(1 + e^(c−m)) above that, so that δ(ε) is at most the sum at ε − T log(1 + e^(c−m)) plus the
// probability that it is not so, at most T·(r Φ(m/d − d/2) + (1−r) Φ(−(2c−m)/d − d/2)). That is
// left to be less than a part of δ by the choice of m.
type hits struct {
	log   []float64   // of Bin(h | T, r)
	of    []pair.Pair // N(d√h, 1) against N(0, 1); nil for h = 0
	loss  []float64   // h log r + (T−h) log(1−r)
	shift float64     // of ε: T log(1 + e^(c−m)) for the upper curve
	extra float64     // log of a probability that is added: 0 is −Inf
	rel   float64
	side  float64 // of what rounding may change: 1 for the upper curve, −1 for the lower
}

const (
	// hitsSlack is the log, relative to δ, of the probability that may be left to be added.
	hitsSlack = -25.0
	// roughSlack is the same where a rough answer will do.
	roughSlack = -8.0
	// mostHits bounds the number of h.
	mostHits = 20_000
)

// asHits recognises such a composition, and returns two curves that enclose its own at the question's
// number. It is false where these would not be within 1e-9 of ε of each other, or 1e-5 where the
// question asks for a rough answer.
func asHits(steps []pair.Step, ask pair.Question) (lo, hi hits, ok bool) {
	m, is := steps[0].Pair.(*pair.Mixture)
	if !is || len(steps) > 1 || m.Noise() != pair.Gaussian {
		return lo, hi, false
	}
	p, q := m.Components()
	if len(p) != 2 || len(q) != 1 || p[0].Mean != q[0].Mean {
		return lo, hi, false
	}
	d, n, stay, hit := (p[1].Mean-p[0].Mean)/m.Scale(), float64(steps[0].Times), p[0].LogWeight, p[1].LogWeight
	c := stay - hit
	if !(d > 0 && d*d/2 > 4*d+c) { // most batches with the record would not show it
		return lo, hi, false
	}
	goal, slack, width := logspace.Log(ask.At), hitsSlack, 1e-9
	if ask.Width > 0 || ask.Effort > 0 && ask.Effort < 1 { // a rough answer will do
		slack, width = roughSlack, max(1e-5, ask.Width/8)
	}
	if ask.Delta {
		goal = -700
	}
	if !lo.fill(n, d, stay, hit, max(goal, -700)+hitsSlack) {
		return lo, hi, false
	}
	if ask.Delta {
		goal = lo.LogDelta(ask.At)
	}
	budget := max(goal, -700) + slack
	tail := func(m float64) float64 {
		return logspace.Log(n) + logspace.Add(hit+logTail(d/2-m/d), stay+logTail(d/2+(2*c-m)/d))
	}
	margin := 0.0 // of m above c: as large as can be
	for tail(c+margin+1) < budget && margin < 60 {
		margin++
	}
	shift := n * math.Log1p(math.Exp(-margin))
	if size := n * math.Exp(hit) * d * d / 2; !(shift < width*size) {
		return lo, hi, false
	}
	hi = lo
	lo.extra, lo.side = math.Inf(-1), -1
	hi.shift, hi.side = shift*(1+1e-9), 1
	hi.extra = logspace.Add(hi.extra, tail(c+margin)) + 1e-9
	return lo, hi, true
}

// logTail is log Φ̄(t).
func logTail(t float64) float64 { return pair.Gaussian.LogTail(t) }

// fill lists the numbers of hits that matter; the others have a probability of extra, at most e^budget.
func (s *hits) fill(n, d, stay, hit, budget float64) bool {
	p, q := math.Exp(hit), math.Exp(stay)
	s.extra, s.rel = math.Inf(-1), 4e-12+1e-14*math.Sqrt(n)
	mode := math.Floor(n * p)
	add := func(h float64) (log float64, ok bool) {
		log = logBinomialPMF(h, n, p, q)
		var g pair.Pair
		if h > 0 {
			var err error
			if g, err = gaussianShift(math.Sqrt(h) * d); err != nil {
				return log, false
			}
			s.rel = max(s.rel, g.RelErr()+4e-12)
		}
		s.log, s.of, s.loss = append(s.log, log), append(s.of, g), append(s.loss, h*hit+(n-h)*stay)
		return log, len(s.log) < mostHits
	}
	side := func(h, step float64, ratio func(h float64) float64) bool {
		for ; h >= 0 && h <= n; h += step { // falling, by more at each step
			log, ok := add(h)
			if !ok {
				return false
			}
			r := ratio(h)
			if rest := log + logspace.Log(r) - math.Log1p(-r); r < 1 && rest < budget-1 {
				s.extra = logspace.Add(s.extra, rest)
				break
			}
		}
		return true
	}
	return side(mode, -1, func(h float64) float64 { return h / (n - h + 1) * q / p }) &&
		side(mode+1, 1, func(h float64) float64 { return (n - h) / (h + 1) * p / q })
}

// LogDelta is the sum.
func (s hits) LogDelta(eps float64) float64 {
	sum := logspace.Zero()
	sum.Add(s.extra)
	for i, g := range s.of {
		room := 1e-15 * (math.Abs(eps) + math.Abs(s.loss[i])) // roundings of a loss of two negative terms
		at := eps - s.loss[i] - s.shift - s.side*room
		switch {
		case g != nil:
			sum.Add(s.log[i] + g.LogDelta(at))
		case at < 0:
			sum.Add(s.log[i] + logspace.Log(-math.Expm1(at)))
		}
	}
	return min(0, sum.Log())
}

// RelErr is that of the binomial probabilities and of the Gaussians.
func (s hits) RelErr() float64 { return s.rel }
