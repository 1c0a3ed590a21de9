// Package initial draws the first values of weights, as PyTorch and the papers' code do.
package initial

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Law draws the first values of a weight of the given shape: out×in for Dense, out×in×kh×kw for Conv2D,
// in×out×kh×kw for ConvTranspose2D.
type Law func(rng *rand.Rand, w []float64, shape []int)

// fanIn is PyTorch's fan-in: the size of the second axis times the kernel, also for ConvTranspose2D, whose weight
// has the axes the other way round.
func fanIn(shape []int) int {
	in := shape[1]
	for _, s := range shape[2:] {
		in *= s
	}
	return in
}

// Uniform is U(lo, hi).
func Uniform(lo, hi float64) Law {
	return func(rng *rand.Rand, w []float64, _ []int) {
		for i := range w {
			w[i] = lo + (hi-lo)*rng.Float64()
		}
	}
}

// Normal is N(mean, sigma²). DCGAN: N(0, .02²) for weights, N(1, .02²) for scales (Radford et al. 2016, §3).
func Normal(mean, sigma float64) Law {
	return func(rng *rand.Rand, w []float64, _ []int) {
		for i := range w {
			w[i] = mean + sigma*rng.NormFloat64()
		}
	}
}

// Constant is one value.
func Constant(v float64) Law {
	return func(_ *rand.Rand, w []float64, _ []int) {
		for i := range w {
			w[i] = v
		}
	}
}

// KaimingUniform is U(−b, b) with b = √(6/((1 + a²)·fan-in)) (He et al. 2015, equation 14, for a uniform law).
func KaimingUniform(a float64) Law {
	return func(rng *rand.Rand, w []float64, shape []int) {
		in := fanIn(shape)
		b := math.Sqrt(6 / ((1 + a*a) * float64(in)))
		Uniform(-b, b)(rng, w, shape)
	}
}

// Orthogonal makes the weight, as a matrix of its first axis by the others, have orthonormal rows or columns, whichever
// are fewer, uniformly distributed: Q of the QR decomposition of Gaussian numbers with the signs of R's diagonal
// (Saxe et al. 2014).
func Orthogonal() Law {
	return func(rng *rand.Rand, w []float64, shape []int) {
		rows := shape[0]
		cols := len(w) / rows
		long, short := max(rows, cols), min(rows, cols)
		q := blas64.General{Rows: long, Cols: short, Stride: short, Data: make([]float64, long*short)}
		Normal(0, 1)(rng, q.Data, nil)
		signs := orthonormalise(q)
		for i := range long {
			for j := range short {
				v := signs[j] * q.Data[i*short+j]
				if rows >= cols {
					w[i*cols+j] = v
				} else {
					w[j*cols+i] = v
				}
			}
		}
	}
}

// orthonormalise replaces a tall matrix by the Q of its QR decomposition and returns the signs of R's diagonal.
func orthonormalise(q blas64.General) (signs []float64) {
	tau, work := make([]float64, q.Cols), make([]float64, 1)
	lapack64.Geqrf(q, tau, work, -1)
	work = make([]float64, int(work[0]))
	lapack64.Geqrf(q, tau, work, len(work))
	signs = make([]float64, q.Cols)
	for j := range signs {
		signs[j] = math.Copysign(1, q.Data[j*q.Stride+j])
	}
	lapack64.Orgqr(q, tau, work, len(work))
	return signs
}

// Zeros is a generator for networks whose work is counted and whose weights do not matter: Draw
// makes zeros of it, at next to no cost.
var Zeros = new(rand.Rand)

// Draw returns new values for a weight of the given shape; a nil law is PyTorch's default for it, U(±1/√fan-in), which
// is KaimingUniform(√5). From Zeros they are zeros.
func (f Law) Draw(rng *rand.Rand, shape ...int) []float64 {
	n := 1
	for _, s := range shape {
		n *= s
	}
	w := make([]float64, n)
	if rng == Zeros {
		return w
	}
	if f == nil {
		f = KaimingUniform(math.Sqrt(5))
	}
	f(rng, w, shape)
	return w
}

// Bias is n biases by PyTorch's default, U(±1/√fan-in) of their weight's shape.
func Bias(rng *rand.Rand, n int, weight ...int) []float64 {
	in := fanIn(weight)
	bound := 1 / math.Sqrt(float64(in))
	return Uniform(-bound, bound).Draw(rng, n)
}
