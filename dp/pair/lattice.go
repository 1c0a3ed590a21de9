package pair

import "math"

// A lattice is a law on the integers that is symmetric and log-concave: at holds P(k) for k = 0, 1, …, and beyond the last it is geometric
// with the factor e^logFall, or of mass below the smallest float64 where logFall is 0.
type lattice struct {
	at      []float64
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
	return lattice{[]float64{top}, -1 / scale}.shifted(step, logW, logV)
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
	// Beyond 40 σ√values lies less than 2e^−800 (the sum is subgaussian), below the smallest float64.
	reach := math.Ceil(40 * sigma)
	sum := math.Ceil(40 * sigma * math.Sqrt(float64(values)))
	if !(sum < maxPoints) || reach*sum*float64(values-1) > maxLatticeWork {
		return nil, bad("sigma = %v on %d values: too many points for an exact pair", sigma, values)
	}
	one := make([]float64, int(reach)+1)
	total := 0.0
	for k := len(one) - 1; k >= 0; k-- { // small terms first
		one[k] = math.Exp(-float64(k) * float64(k) / (2 * sigma * sigma))
		total += one[k]
		if k > 0 {
			total += one[k]
		}
	}
	for k := range one {
		one[k] /= total
	}
	law := one
	for range values - 1 {
		law = convolved(law, one, int(sum))
	}
	return lattice{at: law}.shifted(values*step, logW, logV)
}

// convolved returns the law of the sum of two symmetric ones, up to most.
func convolved(a, b []float64, most int) []float64 {
	out := make([]float64, min(len(a)+len(b)-1, most+1))
	for k := range out {
		for j := max(1-len(a)+k, 1-len(b)); j < len(b) && j-k < len(a); j++ { // b at j, a at k − j
			out[k] += b[max(j, -j)] * a[max(k-j, j-k)]
		}
	}
	return out
}

// p returns P(k) and P(k) − P(j).
func (l lattice) p(k, j int) (p, diff float64) {
	k, j = max(k, -k), max(j, -j)
	if l.logFall < 0 { // geometric everywhere
		p = l.at[0] * math.Exp(l.logFall*float64(k))
		return p, p * -math.Expm1(l.logFall*float64(j-k))
	}
	at := func(k int) float64 {
		if k < len(l.at) {
			return l.at[k]
		}
		return 0
	}
	return at(k), at(k) - at(j)
}

// shifted returns the pair of mixtures of shifted laws. Geometric tails, on which the loss is constant, are one point each.
func (l lattice) shifted(step int, logW, logV []float64) (*Discrete, error) {
	if step < 1 {
		return nil, bad("step = %d: must be at least 1", step)
	}
	w, restW := plain(logW)
	v, restV := plain(logV)
	low, high := -float64(len(v)-1)*float64(step)-float64(len(l.at)-1), float64(len(w)-1)*float64(step)+float64(len(l.at)-1)
	if n := high - low + 1; n > maxPoints || n*float64(len(w)+len(v)) > maxLatticeWork {
		return nil, bad("step = %d: a shift by %v is too large for an exact pair", step, high-low)
	}
	var pts []point
	for k := int(low); k <= int(high); k++ {
		mass := 1.0 // of the point and of those merged into it, over P(k)
		if l.logFall < 0 && (k == int(low) || k == int(high)) {
			mass = -1 / math.Expm1(l.logFall)
			if low == high { // both tails
				mass = 1 / l.at[0]
			}
		}
		pts = append(pts, l.point(k, step, mass, w, v))
	}
	if l.logFall == 0 || restW || restV { // mass that is not listed counts as certain disclosure
		const least = math.SmallestNonzeroFloat64
		pts = append(pts, point{p: least, diff: least}, point{q: least, diff: -least})
	}
	sumP, sumQ := 0.0, 0.0
	for _, a := range pts {
		sumP, sumQ = sumP+a.p, sumQ+a.q
	}
	if !(math.Abs(sumP-1) <= 1e-9 && math.Abs(sumQ-1) <= 1e-9) { // as for noise so small that 1/scale is infinite
		return nil, bad("noise on integers: its probabilities sum to %v and %v by rounding: must sum to 1", sumP, sumQ)
	}
	return discrete(pts), nil
}

// point sums the masses at k; their difference is summed separately, so that nothing cancels where
// the mixtures are nearly equal.
func (l lattice) point(k, step int, mass float64, w, v []float64) (out point) {
	for i, w := range w {
		if w > 0 {
			there, more := l.p(k-i*step, k)
			out.p += w * there
			out.diff += w * more
		}
	}
	for j, v := range v {
		if v > 0 {
			there, more := l.p(k+j*step, k)
			out.q += v * there
			out.diff -= v * more
		}
	}
	out.p, out.q, out.diff = out.p*mass, out.q*mass, out.diff*mass
	return out
}

// plain returns weights from their logs, without the last ones if these underflow, and whether any
// did.
func plain(logW []float64) (w []float64, rest bool) {
	n := 0
	for i, l := range logW {
		w = append(w, math.Exp(l))
		switch {
		case w[i] > 0:
			n = i + 1
		case !math.IsInf(l, -1):
			rest = true
		}
	}
	return w[:n], rest
}
