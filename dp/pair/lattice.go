package pair

import "math"

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
	top := -math.Expm1(-1/scale) / (1 + math.Exp(-1/scale))
	return lattice{[]wide{wideOf(top)}, -1 / scale}.shifted(step, logW, logV)
}

// DiscreteGaussian returns the pair of integer noise P(k) ∝ e^(−k²/2σ²) on a vector where each
// record moves at most the given number of values, each by at most step. The proof is that of
// DiscreteLaplace for the sum of the moved values, a sufficient statistic: its law is log-concave
// as a convolution, and each record moves it by values·step.
func DiscreteGaussian(sigma float64, values, step int, logW, logV []float64) (*Discrete, error) {
	if err := in.Positive("sigma", sigma); err != nil {
		return nil, err
	}
	if values < 1 {
		return nil, bad("values = %d: must be at least 1", values)
	}
	// Beyond 40 σ√values lies less than 2e^−800 (the sum is subgaussian), below the smallest float64. A shift further out
	// lists the mass under both.
	shift := float64(len(logW)+len(logV)-2) * float64(step)
	reach := math.Ceil(40*sigma) + shift
	sum := math.Ceil(40*sigma*math.Sqrt(float64(values))) + shift*float64(values)
	if !(sum < maxPoints) || reach*sum*float64(values-1) > maxLatticeWork {
		return nil, bad("sigma = %v on %d values: too many points for an exact pair", sigma, values)
	}
	one := make([]wide, int(reach)+1)
	var total wide
	for k := len(one) - 1; k >= 0; k-- { // small terms first
		one[k] = gaussianWeight(k, sigma)
		total = total.plus(one[k])
		if k > 0 {
			total = total.plus(one[k])
		}
	}
	for k := range one {
		one[k] = one[k].scaled(1 / total.float())
	}
	law := one
	for range values - 1 {
		law = convolved(law, one, int(sum))
	}
	return lattice{at: law}.shifted(values*step, logW, logV)
}

// gaussianWeight returns e^(−k²/2σ²) for k < 2^26. The rounding of k²·(1/2σ²), which is large far out, is put back.
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
			out[k] = out[k].plus(b[max(j, -j)].times(a[max(k-j, j-k)]))
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

// shifted returns the pair of mixtures of shifted laws. Geometric tails, on which the loss is constant, are one point each.
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
		return nil, bad("step = %d: a shift by %v is too large for an exact pair", step, span)
	}
	low, high := -(len(v)-1)*step-len(l.at)+1, (len(w)-1)*step+len(l.at)-1
	var pts []point
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
