package pair

import (
	"fmt"
	"math"

	"coupling/lab/logspace"
)

// A lattice is a law on the integers that is symmetric and log-concave: at holds P(k) for k = 0, 1, …, and beyond the
// last it is geometric with the factor e^logFall, or of mass below the smallest float64 where logFall is 0.
type lattice struct {
	at      []wide
	logFall float64
}

const (
	// maxPoints bounds the size of a pair on a lattice.
	maxPoints = 1 << 20
	// maxLatticeWork bounds the number of terms in its sums.
	maxLatticeWork = 200_000_000
)

// DiscreteLaplace returns the pair of integer noise P(k) ∝ e^(−|k|/scale) on a vector of any
// dimension, where each record moves the values by at most step in total (L1): P = Σ w_i f(k −
// i·step), Q = Σ v_j f(k + j·step), from log w and log v, with i removed and j inserted records in
// the batches.
//
// Proof, for any symmetric log-concave law on the integers whose trade-off function at a shift s is
// f_s. Batches B_i with i removed records are i steps from one without, A, and f_{r+s} is f_r after
// f_s, as thresholds (with the tie drawn) are the best tests and a shift takes one to another. So
// B_i and A are at least as hard to distinguish as a shift by i·step in one coordinate, whichever
// coordinates move: a test that holds under A with probability a holds under B_i at most, and under
// B′_j at least, as often as the threshold of that level on one coordinate does after the shift;
// and that threshold attains Σ w_i P(B_i) − e^ε Σ v_j P(B′_j) for this pair.
func DiscreteLaplace(scale float64, step int, logW, logV []float64) (*Discrete, error) {
	if err := in.Positive("scale", scale); err != nil {
		return nil, err
	}
	logW, logV = relevant(logW, float64(step)/scale), relevant(logV, float64(step)/scale)
	top := -math.Expm1(-1/scale) / (1 + math.Exp(-1/scale))
	return lattice{[]wide{wideOf(top)}, -1 / scale}.shifted(step, logW, logV)
}

// DiscreteGaussian returns the pair of integer noise P(k) ∝ e^(−k²/2σ²) on a vector where each
// record moves at most the given number of values, each by at most step. The proof is that of
// DiscreteLaplace for the sum of the moved values, a sufficient statistic: its law is log-concave
// as a convolution, and each record moves it by values·step.
//
// It is exact, a *Discrete, below σ = 64. From there it is the pair of continuous noise, of a σ
// that is smaller by 0.04 % or less for few values: see ContinuousSigma.
func DiscreteGaussian(sigma float64, values, step int, logW, logV []float64) (Pair, error) {
	if err := in.Positive("sigma", sigma); err != nil {
		return nil, err
	}
	if values < 1 {
		return nil, bad("values = %d: must be at least 1", values)
	}
	const fine = 64
	unit := float64(step) * math.Sqrt(float64(values))
	if below, ok := ContinuousSigma(sigma, values, unit*float64(len(logW)+len(logV)-2)); ok && sigma >= fine &&
		step >= 1 {
		return Shifted(Gaussian, below/unit, logW, logV)
	}
	return discreteGaussian(sigma, values, step, logW, logV)
}

func discreteGaussian(sigma float64, values, step int, logW, logV []float64) (*Discrete, error) {
	shift := float64(len(logW)+len(logV)-2) * float64(step)
	law, ok := gaussianSum(sigma, values, shift)
	if !ok {
		return nil, tooLarge("sigma = %v on %d values", sigma, values)
	}
	d, err := lattice{at: law}.shifted(values*step, logW, logV)
	if err != nil {
		return nil, err
	}
	if logW[len(logW)-1] == 0 && logV[len(logV)-1] == 0 { // certainly
		d.power = func(times int) (*Discrete, error) {
			if times > math.MaxInt32/values/step {
				return nil, tooLarge("%d × %d values", times, values)
			}
			return discreteGaussian(sigma, values*times, step, logW, logV)
		}
	}
	return d, nil
}

// tooLarge is the error of a pair of too many points.
func tooLarge(format string, args ...any) error {
	return fmt.Errorf("pair: %s: too many points for an exact pair: %w", fmt.Sprintf(format, args...), ErrNotApplicable)
}

// gaussianSum returns the law of the sum of the values' noises, out to a shift of each beyond 40 of
// its standard deviations: there lies less than 2e^−800 (the sum is subgaussian), below the
// smallest float64. It returns false where points are too many.
//
// The noises k of n values with the sum s have Σk² = s²/n + |x|², where x goes through a translate
// of the lattice A_{n−1}, so that P(s) ∝ e^(−s²/2nσ²)·Θ(s), Θ = Σ e^(−|x|²/2σ²). By Poisson
// summation Θ varies by at most the sum of e^(−2π²σ²|y|²) over the dual lattice but 0: over y in
// Zⁿ, less their mean, of median 0, for which |y|² ≥ ½Σy². That is at most (1 + 2q/(1−q))ⁿ − 1 for
// q = e^(−π²σ²). Below the rounding the law is the discrete Gaussian of σ√n.
func gaussianSum(sigma float64, n int, shift float64) ([]wide, bool) {
	reach := math.Ceil(40*sigma) + shift
	all := math.Ceil(40*sigma*math.Sqrt(float64(n))) + shift*float64(n)
	smooth := float64(n)*math.Exp(-math.Pi*math.Pi*sigma*sigma) < 1e-17
	switch {
	case !(all < maxPoints) || !smooth && 4*all*all > maxLatticeWork:
		return nil, false
	case n == 1 || smooth:
		return gaussianLaw(sigma*math.Sqrt(float64(n)), int(all)), true
	}
	law, square := []wide{wideOf(1)}, gaussianLaw(sigma, int(reach))
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			law = convolved(law, square, int(all))
		}
		if n > 1 {
			square = convolved(square, square, int(all))
		}
	}
	return law, true
}

// gaussianLaw returns the law P(k) ∝ e^(−k²/2σ²) for k up to reach, beyond which lies nothing.
func gaussianLaw(sigma float64, reach int) []wide {
	law := make([]wide, reach+1)
	var total wide
	for k := reach; k >= 0; k-- { // small terms first
		law[k] = gaussianWeight(k, sigma)
		total = total.plus(law[k])
		if k > 0 {
			total = total.plus(law[k])
		}
	}
	for k := range law {
		law[k] = law[k].scaled(1 / total.float())
	}
	return law
}

// ContinuousSigma returns σ′ such that Gaussian noise of σ′ on the reals dominates, for every δ,
// discrete Gaussian noise of σ on vectors of dim integers, of which neighbouring ones are a shift
// apart (L2); false if the bound is loose:
//
//	σ′² = σ² − r² ≥ σ²/2,   2π²r² = log 4.001d + 60 + (shift/2σ)².
//
// Proof. Let h(x) ∝ φ_σ′(x)·Z(x) on the reals, Z(x) = Σ_k e^(−(k−x)²/2r²), and draw an integer k
// from x with probability e^(−(k−x)²/2r²)/Z(x). Then k has exactly the discrete Gaussian law of σ,
// and because Z has period 1 the same kernel takes h(· − v) to the law shifted by v, for every
// integer v. So the mechanism is h(· − v) after processing. Z varies by a factor e^a at most, a ≤
// 4.001·e^(−2π²r²) (Poisson summation), over d coordinates e^(da), hence
//
//	δ(ε) ≤ e^(da) δ_μ(ε),   μ = shift/σ′,   ε ≥ 0,
//
// with δ_μ the profile of the continuous Gaussian. From ∂δ_μ/∂μ = φ(ε/μ − μ/2) follows ∂log δ_μ/∂log μ ≥
// e^(−μ²/8), so that a μ larger by the factor 1 + 2da·e^(μ²/8) < 1 + 1e-25 makes up for e^(da). ∎
//
// Poisson sampling and composition preserve this for one record. For groups and for batches of
// fixed size with sampling the same proof gives the mixture's δ times e^(da) for each step, less
// than 1 + 1e-26, which lies below the rounding of all accountants.
func ContinuousSigma(sigma float64, dim int, shift float64) (float64, bool) {
	ratio := shift / sigma
	r2 := (logspace.Log(4.001*float64(dim)) + 60 + ratio*ratio/4) / (2 * math.Pi * math.Pi)
	const rounding = 1e-14
	return math.Sqrt(sigma*sigma-r2) * (1 - rounding), r2 <= sigma*sigma/2
}

// gaussianWeight returns e^(−k²/2σ²) for |k| < 2^26. The rounding of k²·(1/2σ²), which is large far out, is put back.
func gaussianWeight(k int, sigma float64) wide {
	if k == 0 {
		return wideOf(1)
	}
	x, c := float64(k), 0.5/sigma/sigma
	e := x * x * c
	return wideExp(-e, -math.FMA(x*x, c, -e))
}

// convolved returns the law of the sum of two symmetric ones, up to most.
func convolved(a, b []wide, most int) []wide {
	out := make([]wide, min(len(a)+len(b)-1, most+1))
	for k := range out {
		for j := max(1-len(a)+k, 1-len(b)); j < len(b) && j-k < len(a); j++ { // b at j, a at k − j
			x, y := b[max(j, -j)], a[max(k-j, j-k)]
			out[k] = out[k].plus(wide{x.frac * y.frac, x.exp + y.exp})
		}
	}
	return out
}

// mass returns P(k).
func (l lattice) mass(k int) wide {
	switch k = max(k, -k); {
	case k < len(l.at):
		return l.at[k]
	case l.logFall == 0:
		return wide{}
	}
	e := l.logFall * float64(k)
	return l.at[0].times(wideExp(e, math.FMA(l.logFall, float64(k), -e)))
}

// p returns P(k) and P(k) − P(j).
func (l lattice) p(k, j int) (p, diff wide) {
	p = l.mass(k)
	if fall := l.logFall * float64(max(j, -j)-max(k, -k)); fall != 0 && math.Abs(fall) < 1 { // geometric everywhere
		return p, p.scaled(-math.Expm1(fall))
	}
	return p, p.minus(l.mass(j))
}

// shifted returns the pair of mixtures of shifted laws. Geometric tails, on which the loss is
// constant, are one point each.
func (l lattice) shifted(step int, logW, logV []float64) (*Discrete, error) {
	if step < 1 {
		return nil, bad("step = %d: must be at least 1", step)
	}
	w, v := wides(logW), wides(logV)
	var restW, restV wide // mass that is not listed counts as certain disclosure
	if l.logFall == 0 {
		restW, restV = wideExp(-799, 0), wideExp(-799, 0)
	}
	span := float64(len(w)+len(v)-2)*float64(step) + 2*float64(len(l.at)-1)
	if tooMany(span, w, v) { // then without weights that underflow
		w, restW = heaviest(w, restW)
		v, restV = heaviest(v, restV)
		span = float64(len(w)+len(v)-2)*float64(step) + 2*float64(len(l.at)-1)
	}
	if tooMany(span, w, v) {
		return nil, tooLarge("step = %d: a shift by %v", step, span)
	}
	low, high := -(len(v)-1)*step-len(l.at)+1, (len(w)-1)*step+len(l.at)-1
	pts := make([]point, 0, high-low+3)
	for k := low; k <= high; k++ {
		mass := 1.0 // of the point and of those merged into it, over P(k)
		if l.logFall < 0 && (k == low || k == high) {
			mass = -1 / math.Expm1(l.logFall)
			if low == high { // both tails
				mass = 1 / l.at[0].float()
			}
		}
		pts = append(pts, l.point(k, step, mass, w, v))
	}
	pts = append(pts, point{p: restW, diff: restW}, point{q: restV, diff: restV.scaled(-1)})
	sumP, sumQ := 0.0, 0.0
	for _, a := range pts {
		sumP, sumQ = sumP+a.p.float(), sumQ+a.q.float()
	}
	if !(math.Abs(sumP-1) <= 1e-9 && math.Abs(sumQ-1) <= 1e-9) { // as for noise so small that 1/scale is infinite
		return nil, bad("noise on integers: its probabilities sum to %v and %v by rounding: must sum to 1", sumP, sumQ)
	}
	return discrete(pts, weightErr(logW)+weightErr(logV)), nil
}

// weightErr bounds the relative error of weights, that of Binomial and of their logs.
func weightErr(logW []float64) (e float64) {
	for _, l := range logW {
		if !math.IsInf(l, -1) && l != 0 {
			e = max(e, 4e-16*(float64(len(logW))-l))
		}
	}
	return e
}

// point sums the masses at k; their difference is summed separately, so that nothing cancels where
// the mixtures are nearly equal.
func (l lattice) point(k, step int, mass float64, w, v []wide) (out point) {
	for i, w := range w {
		if w.frac > 0 {
			there, more := l.p(k-i*step, k)
			out.p, out.diff = out.p.plus(w.times(there)), out.diff.plus(w.times(more))
		}
	}
	for j, v := range v {
		if v.frac > 0 {
			there, more := l.p(k+j*step, k)
			out.q, out.diff = out.q.plus(v.times(there)), out.diff.minus(v.times(more))
		}
	}
	out.p, out.q, out.diff = out.p.scaled(mass), out.q.scaled(mass), out.diff.scaled(mass)
	return out
}

// wides returns weights from their logs.
func wides(logW []float64) []wide {
	w := make([]wide, len(logW))
	for i, l := range logW {
		w[i] = wideExp(l, 0)
	}
	return w
}

// heaviest returns the weights up to the last that does not underflow, and the sum of rest and the others.
func heaviest(w []wide, rest wide) ([]wide, wide) {
	for ; len(w) > 1 && w[len(w)-1].float() == 0; w = w[:len(w)-1] {
		rest = rest.plus(w[len(w)-1])
	}
	return w, rest
}

// tooMany reports whether points that span so many integers, or the sums over weights in them, are too many.
func tooMany(span float64, weights ...[]wide) bool {
	terms := 0.0
	for _, list := range weights {
		for _, w := range list {
			if w.frac > 0 {
				terms++
			}
		}
	}
	return span+1 > maxPoints || (span+1)*terms > maxLatticeWork
}
