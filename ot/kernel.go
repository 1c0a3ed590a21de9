package ot

import (
	"math"

	"coupling/lab/device/cpu"
)

// kern is the set of vector kernels in use: AVX-512, AVX2 or plain Go.
var kern cpu.Kernels[float64]

// mixed is the same for rows held in float32.
var mixed cpu.Mixed

// softmaxRow writes dst[j] = exp((beta[j]−c[j]−mx)/ε), inv = 1/ε, with mx the largest beta[j]−c[j],
// and returns mx and the sum of dst, which lies in [1, m]. Differences are taken before dividing by
// ε, so that cancellation is exact however large the costs are against ε. beta[j] = −Inf gives 0.
func softmaxRow(dst, beta, c []float64, inv float64) (mx, sum float64) {
	mx = kern.RowMax(beta, c, 1)
	return mx, kern.RowExpScaled(dst, beta, c, mx, inv)
}

// axpy adds w·x to dst.
func axpy(dst, x []float64, w float64) { kern.Axpy(dst, w, x) }

// constant is a vector of ones, for subtract.
var constant = func() (v [256]float64) {
	for i := range v {
		v[i] = 1
	}
	return v
}()

// subtract subtracts by from every element of v.
func subtract(v []float64, by float64) {
	for lo := 0; lo < len(v); lo += len(constant) {
		w := v[lo:min(lo+len(constant), len(v))]
		kern.RowLogits(w, w, constant[:len(w)], by)
	}
}

// dot returns Σ xⱼ yⱼ.
func dot(x, y []float64) float64 { return kern.Dot(x, y) }

// noise is the order of the marginal error that rounding in the fast passes causes, whatever the
// potentials.
func (s *semidual) noise() float64 {
	const ulp = 0x1p-52
	return ulp * (8 + max(math.Abs(s.cost.Max), math.Abs(s.cost.Min))/s.eps)
}

// fusedSafe bounds the sums that byQuotients accepts: outside it, entries that are not negligible may
// have been cut off.
const fusedSafe = 1e100

// prepare sets up rows for β at s.eps.
func (s *semidual) prepare(beta []float64) {
	if s.arithmetic == byDifferences {
		return
	}
	if s.shiftEps != s.eps {
		s.shiftEps = s.eps
		for i := range s.shift {
			s.shift[i] = math.NaN()
		}
	}
	kern.Scale(s.h, 1/s.eps, beta)
}

// targets are those that rows are evaluated over: all, or some.
type targets struct {
	g       Geometry
	beta, h []float64 // h is β/ε
}

// row writes dst[j] = exp((βⱼ−cᵢⱼ−ref)/ε), which is row i of T up to a factor, and returns its sum and ref.
func (s *semidual) row(w *worker, dst []float64, i int, t *targets) (sum, ref float64) {
	inv, buf := 1/s.eps, w.cost[:len(dst)]
	if s.arithmetic == byDifferences {
		ref, sum = softmaxRow(dst, t.beta, t.g.Row(i, buf), inv)
		return sum, ref
	}
	var c []float64
	shift := s.shift[i]
	if r, ok := t.g.(Fused); ok && shift == shift {
		sum = r.ExpRow(dst, buf, i, t.h, inv, shift)
	} else {
		c = t.g.Row(i, buf)
		if shift == shift {
			sum = kern.RowExpAt(dst, t.h, c, inv, shift)
		}
	}
	if !(sum > 1/fusedSafe && sum < fusedSafe) {
		if c == nil {
			c = t.g.Row(i, buf)
		}
		shift, sum = kern.RowExp(dst, t.h, c, inv)
	}
	s.shift[i] = shift + math.Log(sum)
	return sum, s.eps * shift
}

// shift adds by to every element of v.
func shift(v []float64, by float64) {
	for i := range v {
		v[i] += by
	}
}
