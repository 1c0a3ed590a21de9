package soft

import "math"

// far computes a row's weights where the kernels overflow: every point so far away, or inv so
// large, that no exp(h_j − inv·|x−y_j|²) is left, or that squares are infinite. It takes
// differences of exponents from the nearest point's, with distances scaled by the largest
// coordinate difference. Points that share the largest exponent share the weight. It returns the
// logarithm of the sum, which may be −Inf.
func (p *Points) far(t []float64, x []float64, inv float64) (lse float64) {
	scale := 0.0
	for j := range p.m {
		for k, v := range p.points[j*p.d : (j+1)*p.d] {
			if d := math.Abs(x[k]/2 - v/2); d > scale && p.h[j] > math.Inf(-1) {
				scale = d
			}
		}
	}
	if scale == 0 {
		scale = 1
	}
	best := -1
	for j := range p.m { // |x−y_j|²/scale²
		t[j] = 0
		for k, v := range p.points[j*p.d : (j+1)*p.d] {
			d := (x[k]/2 - v/2) / scale
			t[j] += 4 * d * d
		}
		if p.h[j] > math.Inf(-1) && (best < 0 || p.less(t, best, j, inv, scale)) {
			best = j
		}
	}
	near, top := t[best], p.h[best]
	sum := 0.0
	for j, v := range t {
		if math.IsInf(p.h[j], -1) {
			v = near // no weight, however near
		}
		t[j] = math.Exp(p.h[j] - top - product(v-near, inv, scale))
		sum += t[j]
	}
	for j := range t {
		t[j] /= sum
	}
	return top - product(near, inv, scale) + math.Log(sum)
}

// less reports whether point j has a larger exponent than point i.
func (p *Points) less(t []float64, i, j int, inv, scale float64) bool {
	return p.h[j]-p.h[i] > product(t[j]-t[i], inv, scale)
}

// product is v·inv·scale², 0 where v is, whatever overflows.
func product(v, inv, scale float64) float64 {
	if v == 0 {
		return 0
	}
	return v * (scale * inv) * scale
}
