package pair

import (
	"math"

	"coupling/lab/logspace"
)

// Noise is a family of noise on the real line, described at scale 1. Its density f is positive,
// symmetric about 0 and log-concave, without which bounds are wrong: dptest.Noise checks that it is.
// Values must be comparable. Gaussian and Laplace have closed forms; for others of a user's own δ is
// integrated, and takes about a tenth of a millisecond.
type Noise interface {
	String() string
	// LogDensity returns log f(t).
	LogDensity(t float64) float64
	// LogRatio returns log f(t−d)/f(t), with a small relative error also where it is near 0, and
	// its limit, which may be infinite, at t = ±Inf. Rounding included, it never exceeds the limit on
	// d's side, which bounds the loss.
	LogRatio(t, d float64) float64
	// LogTail returns log P(X > t), with a relative error of P of at most 1e-13.
	LogTail(t float64) float64
	// Reach returns how far beyond the larger of 0 and d the integral of f(t−d)^(1+β) f(t)^−β is
	// negligible: at most e^−700 of it for β ≥ 0, d ≥ 0. It is +Inf where the integral diverges.
	Reach(beta, d float64) float64
}

var (
	// Gaussian has density ∝ exp(−x²/2σ²); its scale is σ.
	Gaussian Noise = gaussian{}
	// Laplace has density ∝ exp(−|x|/λ); its scale is λ.
	Laplace Noise = laplace{}
)

// forms are what a mixture of noise needs beyond the interface. With a(u) the ratio of a shift d,
//
//	gain      log ∫_t^∞ f(u) (e^a(u) − e^a(t)) du for d ≥ 0, and of (e^a(t) − e^a(u)) for d ≤ 0
//	furthest  (α−1)·D_α between noise and noise shifted by d ≥ 0, or a bound of it
//	slope     the derivative of a at u
type forms interface {
	Noise
	gain(t, d float64) float64
	furthest(alpha, d float64) float64
	slope(t, d float64) float64
}

// formsOf returns the closed forms of a noise, or integrals where it has none.
func formsOf(n Noise) forms {
	if f, closed := n.(forms); closed {
		return f
	}
	return integrated{n}
}

type gaussian struct{}

func (gaussian) String() string { return "gaussian" }

func (gaussian) LogDensity(t float64) float64 { return -t*t/2 - logSqrt2Pi }

func (gaussian) LogRatio(t, d float64) float64 { return d * (t - d/2) }

func (gaussian) LogTail(t float64) float64 { return logNormalTail(t) }

func (gaussian) Reach(beta, d float64) float64 { return beta*d + 40 }

func (gaussian) slope(_, d float64) float64 { return d }

func (gaussian) furthest(alpha, d float64) float64 { return alpha * (alpha - 1) / 2 * d * d }

func (g gaussian) gain(t, d float64) float64 {
	a, down := g.LogRatio(t, d), max(0, -d)
	if diff, ok := logMillsDiff(t+down, math.Abs(d)); ok {
		return a - t*t/2 - logSqrt2Pi + diff
	}
	more, less := logNormalTail(t-d), a+logNormalTail(t)
	if d < 0 {
		more, less = less, more
	}
	// Here log R(t) is at least so much below log R(t−|d|): of large squares rounding may leave no difference.
	return logspace.Sub(more, min(less, more-min(.15, math.Abs(d)/2)))
}

type laplace struct{}

func (laplace) String() string { return "laplace" }

func (laplace) LogDensity(t float64) float64 { return -math.Abs(t) - math.Ln2 }

// LogRatio is |t| − |t−d|: −|d| on the far side of 0, +|d| beyond d, slope 2 between.
func (laplace) LogRatio(t, d float64) float64 {
	if d > 0 {
		return 2*min(max(t, 0), d) - d
	}
	return 2*min(max(-t, 0), -d) + d
}

func (laplace) LogTail(t float64) float64 {
	if t > 0 {
		return -t - math.Ln2
	}
	return math.Log1p(-math.Exp(t) / 2)
}

func (laplace) Reach(float64, float64) float64 { return 750 }

func (laplace) slope(t, d float64) float64 {
	switch {
	case d > 0 && t >= 0 && t < d:
		return 2
	case d < 0 && t <= 0 && t > d:
		return -2
	}
	return 0
}

// furthest is Proposition 6 of Mironov 2017, arranged to keep its relative accuracy for small d:
// e^K = α/(2α−1)·e^((α−1)d) + (α−1)/(2α−1)·e^(−αd).
func (laplace) furthest(alpha, d float64) float64 {
	if alpha*d > 1 {
		a := logspace.Log(alpha/(2*alpha-1)) + (alpha-1)*d
		b := logspace.Log((alpha-1)/(2*alpha-1)) - alpha*d
		return logspace.Add(a, b)
	}
	return math.Log1p(alpha * (alpha - 1) / (2*alpha - 1) * laplaceSeries(alpha, d))
}

// laplaceSeries returns (e^((α−1)d) − 1)/(α−1) + (e^(−αd) − 1)/α = Σ_{n≥2} dⁿ/n! ((α−1)ⁿ⁻¹ + (−1)ⁿ αⁿ⁻¹).
func laplaceSeries(alpha, d float64) float64 {
	sum, power := 0.0, d
	a, b := 1.0, -1.0
	for n := 2.0; n < 40; n++ {
		power *= d / n
		a *= alpha - 1
		b *= -alpha
		sum += power * (a + b)
		if math.Abs(power*b) < 1e-18*math.Abs(sum) {
			break
		}
	}
	return sum
}

func (l laplace) gain(t, d float64) float64 {
	a := l.LogRatio(t, d)
	s := max(t, min(0, d))
	if s >= max(0, d) { // flat from here
		return math.Inf(-1)
	}
	if d < 0 {
		return a + logspace.OneMinusExp(s)
	}
	return a - s + logspace.Expm1(d-s)
}

// integrated has integrals in place of closed forms.
type integrated struct{ Noise }

// integralErr is the relative error that these may have.
const integralErr = 1e-11

// furthest is the most that a ratio can be.
func (n integrated) furthest(alpha, d float64) float64 {
	return (alpha - 1) * n.LogRatio(math.Inf(1), d)
}

// slope is not known; see tilted.
func (n integrated) slope(float64, float64) float64 { return math.NaN() }

// gain integrates to where what remains, at most the tail times the largest ratio, is negligible. It
// is NaN, which accountants refuse, where the integral is not accurate.
func (n integrated) gain(t, d float64) float64 {
	a := n.LogRatio(t, d)
	up := func(u float64) float64 { return a + logspace.Expm1(n.LogRatio(u, d)-a) }
	rest := func(u float64) float64 { return n.LogTail(u - d) }
	if d < 0 {
		up = func(u float64) float64 { return a + logspace.OneMinusExp(n.LogRatio(u, d)-a) }
		rest = func(u float64) float64 { return a + n.LogTail(u) }
	}
	f := positive{
		log: func(u float64) float64 { return n.LogDensity(u) + up(u) },
		bound: func(low, high float64) float64 {
			return n.LogDensity(max(low, -high, 0)) + up(high) + 1e-9
		},
		noise: func(u float64) float64 {
			b := n.LogRatio(u, d)
			return 1e-15 * (100 + math.Abs(n.LogDensity(u)) + math.Abs(a) + math.Abs(b)/-math.Expm1(-math.Abs(b-a)))
		},
		width: 1,
		slack: 60,
	}
	for far := 64.0; far < 1e9; far *= 4 {
		end := max(t, d, 0) + far
		breaks := []float64{t}
		for _, b := range [...]float64{min(0, d), max(0, d), end} {
			if b > breaks[len(breaks)-1] {
				breaks = append(breaks, b)
			}
		}
		got, relErr, _ := f.integrate(breaks)
		more := rest(end)
		switch {
		case math.IsInf(got, -1) && math.IsInf(up(math.Inf(1)), -1):
			return got // the ratio is constant from t on
		case more-got < logspace.Log(integralErr/4):
			// the rounding of the ratio is one of ε: see the package's Accuracy
			if top := n.LogRatio(math.Inf(1), d); relErr > integralErr/2+1e-14*math.Abs(a/(top-a)) {
				return math.NaN()
			}
			return logspace.Add(got, more)
		}
	}
	return math.NaN()
}
