package closed

import (
	"math"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// repeated is the composition of one pair on two points with itself, such as randomised response:
// the number k of outcomes with the larger loss is binomial, and
//
//	δ(ε) = Σ_k C(T,k) p^k (1−p)^(T−k) max(0, 1 − e^(ε−L_k)),   L_k = k·high + (T−k)·low,
//
// at ε + shift to allow for the rounding of L_k.
type repeated struct {
	times     int
	high, low pair.Atom
	shift     float64
}

// maxRepeated keeps the sums, of some 100·√T terms, short.
const maxRepeated = 1_000_000_000

// asRepeated recognises such a composition, which may be written in several steps, and returns two
// profiles that enclose its own.
func asRepeated(steps []pair.Step) (lo, hi repeated, ok bool) {
	first, times, ok := same(steps)
	if !ok || times > maxRepeated {
		return lo, hi, false
	}
	const least = 1e-290 // below which probabilities have fewer digits
	pts := first.Points()
	if len(pts) != 2 || math.IsInf(pts[0].Loss, 0) || math.IsInf(pts[1].Loss, 0) || pts[0].P < least ||
		pts[1].P < least {
		return lo, hi, false
	}
	shift := 1e-15 * float64(times) * max(math.Abs(pts[0].Loss), math.Abs(pts[1].Loss))
	return repeated{times, pts[1], pts[0], shift}, repeated{times, pts[1], pts[0], -shift}, true
}

// same returns the finite pair of all steps and how often it is composed, and false if there are several.
func same(steps []pair.Step) (d *pair.Discrete, times int, ok bool) {
	d, ok = steps[0].Pair.(*pair.Discrete)
	for _, s := range steps {
		ok = ok && s.Pair == pair.Pair(d) && s.Times <= math.MaxInt-times
		times += s.Times
	}
	return d, times, ok
}

// RelErr is that of the binomial probability of the first term and of the sum: the error of p is
// 1e-16·√(Tp/(1−p)) standard deviations of k, or less, of which up to 40 matter.
func (r repeated) RelErr() float64 {
	return 4e-12 + 1e-14*math.Sqrt(float64(r.times))
}

// LogDelta sums upwards from the first k whose loss exceeds ε, or from where the probabilities
// below are less than e^−800.
func (r repeated) LogDelta(eps float64) float64 {
	eps = max(0, eps+r.shift)
	n := float64(r.times)
	gap := r.high.Loss - r.low.Loss
	first := max(0, math.Floor((eps-n*r.low.Loss)/gap)) // one term too early is 0
	mean, sd := n*r.high.P, math.Sqrt(n*r.high.P*r.low.P)
	first = max(first, math.Floor(mean-40*sd-800))
	if first > n {
		return math.Inf(-1)
	}
	logP := logBinomialPMF(first, n, r.high.P, r.low.P)
	odds := r.high.P / r.low.P
	term, sum := 1.0, 0.0
	for k := first; k <= n; k++ {
		if excess := k*r.high.Loss + (n-k)*r.low.Loss - eps; excess > 0 {
			sum += term * -math.Expm1(-excess)
		}
		term *= (n - k) / (k + 1) * odds
		if k > mean && term < 1e-20*sum {
			break
		}
		if sum > 1e250 || term > 1e280 { // the first term may be far below the mode
			logP += logspace.Log(1e200)
			term, sum = term*1e-200, sum*1e-200
		}
	}
	return min(0, logP+logspace.Log(sum))
}

// logBinomialPMF returns log Bin(k | n, p), q = 1 − p, by Loader's formula, which has no large
// terms that cancel (Loader 2000, "Fast and accurate computation of binomial probabilities").
func logBinomialPMF(k, n, p, q float64) float64 {
	switch k {
	case 0:
		return n * logOf(q, p)
	case n:
		return n * logOf(p, q)
	}
	return stirlingError(n) - stirlingError(k) - stirlingError(n-k) -
		deviance(k, n*p) - deviance(n-k, n*q) + 0.5*logspace.Log(n/(2*math.Pi*k*(n-k)))
}

// logOf is log p from p and 1 − p, of which the one near 1 has lost the digits of the other.
func logOf(p, rest float64) float64 {
	if p < .5 {
		return logspace.Log(p)
	}
	return math.Log1p(-rest)
}

// stirlingError is log n! minus Stirling's approximation of it.
func stirlingError(n float64) float64 {
	if n < 16 {
		l, _ := math.Lgamma(n + 1)
		return l - (n+0.5)*logspace.Log(n) + n - 0.5*logspace.Log(2*math.Pi)
	}
	w := 1 / (n * n)
	return (1./12 - w*(1./360-w*(1./1260-w*(1./1680-w/1188)))) / n
}

// deviance is x log(x/m) + m − x ≥ 0.
func deviance(x, m float64) float64 {
	d := (x - m) / (x + m)
	if math.Abs(d) > 0.1 {
		return x*logspace.Log(x/m) + m - x
	}
	// x log((1+d)/(1−d)) − (x−m) = (x−m)d + 2x Σ_{j≥1} d^(2j+1)/(2j+1).
	sum, power := (x-m)*d, 2*x*d
	for j := 1.0; j < 50; j++ {
		power *= d * d
		next := sum + power/(2*j+1)
		if next == sum {
			break
		}
		sum = next
	}
	return sum
}
