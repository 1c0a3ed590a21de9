package dp

import (
	"context"
	"math"
)

// TradeOff bounds the trade-off function of an event from below: no test of x against x′ with the
// type I error α has a type II error β below At(α). For a test that answers x on S, α = P(M(x′) ∈ S)
// and β = P(M(x) ∉ S). The bound is the largest of the lines
//
//	β ≥ 1 − δ(ε) − e^ε α
//
// of some ε, below 0 and above, of which every one holds (Dong, Roth, Su 2022).
type TradeOff struct{ lines []line }

// line is the guarantee (ε, δ) as β ≥ top − slope·α, which holds as it is rounded.
type line struct{ top, slope float64 }

// at returns the line's β.
func (l line) at(alpha float64) float64 { return l.top - l.slope*alpha }

// TradeOff returns the trade-off function of the event that g was computed for, from δ at the given
// number ≥ 3 of values of ε, from −E to E, where E is the larger of g's and of the ε at δ = 1e-3.
// Errors and cost are those of as many questions within a thousandth, milliseconds each where closed
// forms or contours apply; ErrParameter if g was put together by hand.
func (g Guarantee) TradeOff(ctx context.Context, points int) (TradeOff, error) {
	if g.about == nil || points < 3 {
		return TradeOff{},
			bad("trade-off function of %d points: must be at least 3, of a guarantee that was computed", points)
	}
	s := *g.about
	if s.by == Accountant(Best{}) {
		s.by = Best{Width: 1e-3}
	}
	most := math.Abs(g.Epsilon)
	if at, err := EpsilonBy(ctx, s.by, s.event, s.relation, 1e-3); err == nil { // else g's will do
		most = max(most, at.Epsilon)
	}
	var t TradeOff
	for k := range points {
		eps := most * (2*float64(k)/float64(points-1) - 1)
		at, err := DeltaBy(ctx, s.by, s.event, s.relation, eps)
		if err != nil {
			return TradeOff{}, err
		}
		t.lines = append(t.lines, line{(1 - at.Delta) * (1 - 1e-15), math.Exp(eps) * (1 + 1e-15)})
	}
	return t, nil
}

// At returns the bound of the type II error at a type I error in [0, 1]; NaN elsewhere.
func (t TradeOff) At(alpha float64) float64 {
	if !(alpha >= 0 && alpha <= 1) {
		return math.NaN()
	}
	beta := 0.0
	for _, l := range t.lines {
		beta = max(beta, l.at(alpha))
	}
	return beta
}

// GDP returns, rounded up, the least μ such that the event is at least as private as μ-Gaussian
// differential privacy at every type I error a in [alpha, 1 − alpha]: G_μ(a) = Φ(Φ⁻¹(1−a) − μ) ≤
// At(a); +Inf where At is 0. It claims nothing beyond: the tails of most events but Gaussians are not
// those of any useful μ. Between two corners of At, which is a polygon, the convex G_μ lies below its
// chord, so that the corners suffice. ErrParameter for alpha outside (0, 1/2).
func (t TradeOff) GDP(alpha float64) (float64, error) {
	if !(alpha > 0 && alpha < .5) {
		return math.NaN(), bad("alpha = %v: must be in (0, 1/2)", alpha)
	}
	mu := max(0, t.gdpAt(alpha), t.gdpAt(1-alpha))
	for i, a := range t.lines {
		for _, b := range t.lines[:i] {
			if at := (a.top - b.top) / (a.slope - b.slope); at > alpha && at < 1-alpha &&
				a.at(at) >= t.At(at)*(1-1e-9)-1e-12 {
				mu = max(mu, t.gdpAt(at))
			}
		}
	}
	return mu * (1 + 1e-12), nil
}

// gdpAt is the least μ with G_μ(alpha) ≤ At(alpha), with room for the rounding of 2p − 1 in the
// quantiles, which their slope magnifies.
func (t TradeOff) gdpAt(alpha float64) float64 {
	quantile := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
	from, to := quantile(1-alpha), quantile(t.At(alpha))
	return from - to + 4e-15*(math.Exp(from*from/2)+math.Exp(to*to/2))
}
