package pair

import (
	"fmt"
	"math"

	"coupling/dp/internal/check"
	"coupling/lab/logspace"
)

// Loss is an (ε, δ): the privacy loss is at most ε except on mass δ.
type Loss struct{ Epsilon, Delta float64 }

// Bounded returns the pair that dominates all mechanisms with H_{exp(a)}(M(x)‖M(x′)) ≤ δ_a and
// H_{exp(b)}(M(x′)‖M(x)) ≤ δ_b for there = (a, δ_a) and back = (b, δ_b). As a function of e^ε its δ
// consists of the chords between the known values at 0, e^−b, e^a and ∞, which no convex function
// with these values exceeds; with there = back it is that of Kairouz, Oh, Viswanath (2015). It has
// an atom at each corner.
func Bounded(there, back Loss) (*Discrete, error) {
	for _, l := range [...]Loss{there, back} {
		if err := check.All(in.Epsilon(l.Epsilon), in.Delta(l.Delta)); err != nil {
			return nil, err
		}
	}
	a, b, da, db := there.Epsilon, back.Epsilon, there.Delta, back.Delta
	if a+b == 0 {
		d := min(da, db) // the total variation, seen from either side
		return discrete([]point{pointOf(d, 0, d), pointOf(1-d, 1-d, 0), pointOf(0, d, -d)}, 0), nil
	}
	// δ falls, and so does that of the other direction.
	da = min(da, -math.Expm1(-b)+math.Exp(-b)*db)
	db = min(db, -math.Expm1(-a)+math.Exp(-a)*da)
	all := -math.Expm1(-(a + b))
	p := max(0, -math.Expm1(-b)-da+math.Exp(-b)*db) / all
	q := max(0, -math.Expm1(-a)-db+math.Exp(-a)*da) / all
	return discrete([]point{
		pointOf(da, 0, da),
		{p: wideOf(p), q: wideExp(-a, 0).scaled(p), diff: wideOf(p * -math.Expm1(-a))},
		{p: wideExp(-b, 0).scaled(q), q: wideOf(q), diff: wideOf(q * math.Expm1(-b))},
		pointOf(0, db, -db),
	}, 0), nil
}

// Indistinguishable returns the pair of a mechanism known only by its (ε, δ) for one record. Its
// batches have i removed records of x with probability w_i, and j inserted records of x′ with
// probability v_j; the arguments are log w and log v. With B_i and B′_j those batches, and A a
// batch without these records,
//
//	B_i ≤ e^(iε)·A + δ_i,   A ≤ e^(jε)·B′_j + δ_j,   δ_d = δ·Σ_{k<d} e^(kε)
//
// up to masses δ_i, δ_j, so that with W = Σ w_i e^(iε) and V = Σ v_j e^(−jε)
//
//	M(x) ≤ (W/V)·M(x′) + Σ w_i δ_i + (W/V)·Σ v_j e^(−jε) δ_j,
//
// and the other way round. If all of the data is used, the pair is that of (dε, δ_d) at the
// distance d (Kairouz, Oh, Viswanath 2015).
func Indistinguishable(eps, delta float64, logW, logV []float64) (Pair, error) {
	there, back := sampledLoss(logW, logV, eps, delta), sampledLoss(logV, logW, eps, delta)
	if d := len(logW) - 1; len(logV) == 1 && logW[d] == 0 { // certainly
		there = Loss{eps * float64(d), groupDelta(eps, delta, d)}
		back = there
	}
	if there.Delta >= 1 || back.Delta >= 1 {
		return nil, fmt.Errorf("pair: at this distance δ is 1: %w", ErrUnbounded)
	}
	p, err := Bounded(there, back)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// groupDelta is δ·Σ_{k<d} e^(kε), rounded up.
func groupDelta(eps, delta float64, d int) float64 {
	switch {
	case delta == 0 || d == 0:
		return 0
	case eps == 0 || d == 1: // exact for one
		return delta * float64(d)
	}
	if all := eps * float64(d); all > 700 {
		// may be infinite
		return math.Exp(logspace.Log(delta)+all+logspace.OneMinusExp(-all)-logspace.Expm1(eps)) * (1 + 1e-12)
	}
	return delta * math.Expm1(eps*float64(d)) / math.Expm1(eps) * (1 + 1e-14)
}

// sampledLoss is the bound of Indistinguishable in one direction; logW and logV are the logs of w and v.
func sampledLoss(logW, logV []float64, eps, delta float64) Loss {
	out := Loss{Epsilon: max(0, logMean(logW, eps)-logMean(logV, -eps)) * (1 + 1e-12)}
	if delta == 0 {
		return out
	}
	for i, l := range logW {
		out.Delta += math.Exp(l + logspace.Log(groupDelta(eps, delta, i)))
	}
	for j, l := range logV {
		out.Delta += math.Exp(out.Epsilon + l - eps*float64(j) + logspace.Log(groupDelta(eps, delta, j)))
	}
	out.Delta *= 1 + 1e-12
	return out
}

// logMean returns log Σ w_k e^(kε) for weights of sum one, with full relative accuracy where it is
// small.
func logMean(logW []float64, eps float64) float64 {
	sum, far := 0.0, logspace.Zero()
	for k, l := range logW {
		a := eps * float64(k)
		far.Add(l + a)
		if a < 1 {
			sum += math.Exp(l) * math.Expm1(a)
		} else {
			sum += math.Exp(l+a) - math.Exp(l)
		}
	}
	if sum > -0.5 && sum < 1e300 {
		return math.Log1p(sum)
	}
	return far.Log()
}

// Moments is a pair known only by bounds of its Rényi divergences, which are the same in both
// directions. Its RelErr is infinite: of δ it is only known that it is at most one.
type Moments struct {
	name string
	k    func(alpha float64) float64 // log ∫ p^α q^(1−α), an upper bound
}

// NewMoments returns the pair of which k bounds log ∫ p^α q^(1−α), α > 1, in both directions.
func NewMoments(name string, k func(alpha float64) float64) *Moments { return &Moments{name, k} }

// Concentrated returns the pair of ρ-zero-concentrated differential privacy: D_α ≤ ρα (Bun, Steinke 2016).
func Concentrated(rho float64) (*Moments, error) {
	if err := in.NotNegative("rho", rho); err != nil {
		return nil, err
	}
	return &Moments{fmt.Sprintf("concentrated, ρ = %g", rho),
		func(alpha float64) float64 { return rho * alpha * (alpha - 1) }}, nil
}

// SampledMoments returns the pair of a mechanism on a Poisson sample, one record inserted or
// removed, by Theorem 5 of Zhu and Wang (2019): see SampledMoment. Orders between integers take the
// chord, as the log moment is convex.
func SampledMoments(m *Moments, rate float64) (*Moments, error) {
	if err := in.Rate(rate); err != nil {
		return nil, err
	}
	if rate == 1 {
		return m, nil
	}
	at := func(alpha float64) float64 {
		if alpha > mostOrders { // joint convexity alone
			return mixedMoment(rate, m.k(alpha))
		}
		return SampledMoment(m.k, rate, int(alpha), 3)
	}
	return &Moments{fmt.Sprintf("%v at rate %g", m, rate), func(alpha float64) float64 {
		low := math.Floor(alpha)
		if alpha > mostOrders || low == alpha {
			return at(alpha)
		}
		return (at(low)*(low+1-alpha) + at(low+1)*(alpha-low)) * (1 + 1e-14)
	}}, nil
}

// mostOrders bounds the terms of a moment of a sampled mechanism.
const mostOrders = 10_000

// SampledMoment bounds the log moment of integer order alpha ≥ 1 of a mechanism on a Poisson sample
// (Zhu, Wang 2019, Theorem 5),
//
//	log[(1−r)^{α−1}(αr−r+1) + C(α,2) r²(1−r)^{α−2} e^{k(2)} + c Σ_{j≥3} C(α,j)(1−r)^{α−j} r^j e^{k(j)}],
//
// with k the log moments of the mechanism and c = 3, or 1 where the odd moments of p/q − 1 are not
// negative. Rounded up.
func SampledMoment(k func(order float64) float64, rate float64, alpha int, c float64) float64 {
	if alpha < 2 {
		return 0
	}
	if rate == 1 {
		return k(float64(alpha))
	}
	stay, hit := math.Log1p(-rate), logspace.Log(rate)
	// Σ_j C(α,j)(1−r)^{α−j} r^j = 1, so the bound is log(1 + Σ_{j≥2} … (c e^{k(j)} − 1)): no
	// cancellation for small rates.
	sum := logspace.Zero()
	for j := 2; j <= alpha; j++ {
		v := k(float64(j))
		if j > 2 {
			v += logspace.Log(c)
		}
		sum.Add(LogBinomial(alpha, j) + float64(alpha-j)*stay + float64(j)*hit + logspace.Expm1(v))
	}
	return logspace.OnePlusExp(sum.Log()) * (1 + BinomialRoom(alpha))
}

// BinomialRoom bounds the relative rounding of a sum over C(n, k), whose logs of factorials are off by
// that of their size.
func BinomialRoom(n int) float64 { return 1e-11 + 1e-14*float64(n) }

// LogBinomial returns log C(n, k).
func LogBinomial(n, k int) float64 {
	if k == 2 {
		return logspace.Log(float64(n)) + logspace.Log(float64(n-1)) - math.Ln2
	}
	a, _ := math.Lgamma(float64(n) + 1)
	b, _ := math.Lgamma(float64(k) + 1)
	c, _ := math.Lgamma(float64(n-k) + 1)
	return a - b - c
}

// LogDelta is 0: δ is at most one.
func (m *Moments) LogDelta(float64) float64 { return 0 }

// LogTails are those of δ = 1.
func (m *Moments) LogTails(float64) (logP, logQ float64) { return 0, math.Inf(-1) }

// LogMoment returns the bound of log ∫ p^α q^(1−α).
func (m *Moments) LogMoment(alpha float64) (k, errBound float64) {
	if k, known := trivialMoment(alpha); known {
		return k, 0
	}
	k = m.k(alpha)
	return k, 1e-14 * k
}

// Support is not known.
func (m *Moments) Support() Support { return Support{Min: math.Inf(-1), Max: math.Inf(1)} }

// RelErr is +Inf.
func (m *Moments) RelErr() float64 { return math.Inf(1) }

// Swap returns the pair itself.
func (m *Moments) Swap() Pair { return m }

// String shows the pair.
func (m *Moments) String() string { return m.name }
