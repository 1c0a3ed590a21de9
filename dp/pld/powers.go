package pld

import (
	"math"

	"coupling/lab/logspace"
)

// A powers is a product of powers of transforms, coefficient by coefficient, with bounds of the
// true coefficients.
type powers struct {
	value []complex128
	worst []float64 // |value| plus a bound of its error
}

func newPowers(n int) *powers {
	p := &powers{make([]complex128, n), make([]float64, n)}
	for j := range n {
		p.value[j], p.worst[j] = 1, 1
	}
	return p
}

// byHand is the largest power that is taken by multiplication: that is faster than by logarithms,
// and its rounding grows as theirs.
const byHand = 1024

// multiply multiplies by the power of a transform each coefficient of which is off by at most eta.
// Where true and computed coefficients are z and z + e, |(z + e)^T − z^T| ≤ (|z| + |e|)^T − |z|^T.
func (p *powers) multiply(transform []complex128, times, eta float64) {
	const none = -80 // log of a negligible coefficient
	floor := math.Exp(2 * none / times)
	under := math.Exp(times*logspace.Log(math.Exp(none/times)+eta)) * (1 + 1e-9)
	hand := times <= byHand
	slack := 1 + (8+4*times)*ulp
	for j, z := range transform {
		square := real(z)*real(z) + imag(z)*imag(z)
		if square < floor {
			p.value[j] = 0
			p.worst[j] *= under
			continue
		}
		if hand {
			v, w := power(z, math.Sqrt(square)*(1+4*ulp)+eta, int(times))
			p.value[j] *= v
			p.worst[j] *= w * slack
			continue
		}
		log, arg := 0.5*logspace.Log(square), times*math.Atan2(imag(z), real(z))
		lw := times * log
		v := math.Exp(lw)
		sin, cos := math.Sincos(arg)
		p.value[j] *= complex(v*cos, v*sin)
		// log(a + η) ≤ log a + η/a
		p.worst[j] *= math.Exp(lw+times*eta*math.Exp(-log)) * (1 + ulp*(12+4*math.Abs(lw)+2*math.Abs(arg)))
	}
}

// power returns z^n and x^n.
func power(z complex128, x float64, n int) (complex128, float64) {
	v, w := complex(1, 0), 1.0
	for {
		if n&1 != 0 {
			v *= z
			w *= x
		}
		if n >>= 1; n == 0 {
			return v, w
		}
		z *= z
		x *= x
	}
}

// into stores the product, and returns the sums over all frequencies of the sizes and of the errors.
func (p *powers) into(spectrum []complex128) (total, wrong float64) {
	last := len(p.value) - 1
	for j, z := range p.value {
		double := 2.0
		if j == 0 || j == last {
			double = 1
		}
		v := math.Sqrt(real(z)*real(z) + imag(z)*imag(z))
		total += double * v
		wrong += double * (max(0, p.worst[j]-v) + 8*ulp*v)
	}
	copy(spectrum, p.value)
	return total, wrong
}
