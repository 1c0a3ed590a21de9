package semidual

import (
	"math"

	"coupling/lab/device/cpu"
	"coupling/lab/logspace"
	"coupling/ot/cost"
	"coupling/ot/internal/rows"
)

// mixed is the same for rows held in float32.
var mixed cpu.Mixed

// kern is the set of vector kernels in use: AVX-512, AVX2 or plain Go.
var kern cpu.Kernels[float64]

// Noise is the order of the marginal error that rounding in the fast passes causes, whatever the
// potentials.
func (s *Function) Noise() float64 {
	const ulp = 0x1p-52
	return ulp * (8 + max(math.Abs(s.Cost.Max), math.Abs(s.Cost.Min))/s.Eps)
}

// fusedSafe bounds the sums that quotients may give: outside it, entries that are not negligible may
// have been cut off.
const fusedSafe = 1e100

// prepare sets up rows for β at s.eps.
func (s *Function) prepare(beta []float64) {
	if !s.quotients {
		return
	}
	if s.shiftEps != s.Eps { // sums at another ε are near enough
		kern.Scale(s.shift, s.shiftEps/s.Eps, s.shift)
		s.shiftEps = s.Eps
	}
	kern.Scale(s.H, 1/s.Eps, beta)
}

// targets are those that rows are evaluated over: all, or some.
type targets struct {
	g       cost.Geometry
	beta, h []float64 // h is β/ε
}

// row writes dst[j] = exp((βⱼ−cᵢⱼ−ref)/ε), which is row i of T up to a factor, and returns its sum and ref.
func (s *Function) row(w *Worker, dst []float64, i int, t *targets) (sum, ref float64) {
	inv, buf := 1/s.Eps, w.Cost[:len(dst)]
	if !s.quotients {
		ref, sum = rows.Softmax(dst, t.beta, t.g.Row(i, buf), inv)
		return sum, ref
	}
	var c []float64
	shift := s.shift[i]
	if r, ok := t.g.(cost.Fused); ok {
		sum = r.ExpRow(dst, buf, i, t.h, inv, shift)
	} else {
		c = t.g.Row(i, buf)
		sum = kern.RowExpAt(dst, t.h, c, inv, shift)
	}
	if !(sum > 1/fusedSafe && sum < fusedSafe) {
		if c == nil {
			c = t.g.Row(i, buf)
		}
		shift, sum = kern.RowExp(dst, t.h, c, inv)
	}
	s.shift[i] = shift + logspace.Log(sum)
	return sum, s.Eps * shift
}
