package ot

import (
	"context"
	"math"
)

// kernelMatrix is exp(−(c−c_min)/ε), n×m, for one ε.
type kernelMatrix struct {
	eps, min float64
	data     []float64
}

// kernelSpan is the range of the costs in units of ε up to which exp(−c/ε) is stored. Scalings then lie within e^±300
// of each other, and no product of them with the kernel under- or overflows.
const kernelSpan = 300

// kernelFits reports whether kernel scaling can be used at s.eps.
func (s *semidual) kernelFits() bool {
	return s.cost.max-s.cost.min <= kernelSpan*s.eps && s.n <= holdLimit/s.m
}

// useKernel reports whether this evaluation goes by the stored kernel, and makes it where that is due: from the
// second evaluation at an ε, since making it costs as much as one.
func (s *semidual) useKernel() bool {
	if s.pass != kernelPass || !s.kernelFits() {
		return false
	}
	if s.kernel != nil && s.kernel.eps == s.eps {
		return true
	}
	if s.kernel == nil {
		s.kernel = &kernelMatrix{data: make([]float64, s.n*s.m)}
	}
	s.kernel.eps, s.kernel.min = s.eps, s.cost.min
	inv := 1 / s.eps
	s.sw.each(func(w *worker, _ int, r span) {
		for i := r.lo; i < r.hi; i++ {
			c := s.g.Row(i, w.cost)
			dst := s.kernel.data[i*s.m : (i+1)*s.m]
			for j, v := range c {
				dst[j] = min(0, (s.kernel.min-v)*inv) // above 0 only where a weight is 0
			}
			kern.Exp(dst, dst)
		}
	})
	return true
}

// evalKernel is eval by products with the stored kernel: T_ij = uᵢ K_ij vⱼ.
func (s *semidual) evalKernel(beta []float64, relax float64) float64 {
	s.prepare(beta)
	s.sw.each(func(w *worker, k int, r span) {
		part := s.part[k]
		clear(part)
		s.rowL1[k] = 0
		for i := r.lo; i < r.hi; i++ {
			if s.a[i] == 0 {
				s.alpha[i] = math.Inf(-1)
				continue
			}
			row := s.kernel.data[i*s.m : (i+1)*s.m]
			sum := dot(row, s.h)
			mass := s.setAlpha(k, i, s.eps*math.Log(sum)+s.top-s.kernel.min, relax)
			axpy(part, row, mass/sum)
		}
	})
	for _, p := range s.part {
		kern.Mul(p, p, s.h)
	}
	return s.rowError() + s.reduce()
}

// Scaling solves by kernel scaling (Cuturi 2013): products with exp(−c/ε), no exponentials in the loop. It is the
// fastest at large ε and refuses, with ErrUnderflow, where the costs span more than 300 ε: there plain scaling loses
// entries of the kernel to underflow, and sooner or later returns nonsense. Steps are over-relaxed as Sinkhorn's are,
// and the plan returned is checked by a pass in the log domain.
//
// The zero value with Eps set works. Memory: n·m float64 besides the costs, at most 1 GiB.
type Scaling struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Tol stops when the L1 error of the marginals is at most Tol; 0 is 1e-9.
	Tol float64
	// MaxIter is the largest number of iterations; 0 is 100,000.
	MaxIter int
	// Relax in [1, 2) is the over-relaxation; 1 is plain scaling, and 0 chooses it from the observed rate.
	Relax float64
	// Start holds KL potentials g of the m targets to start from (another plan's G).
	Start []float64
	// Workers is the number of goroutines; 0 is GOMAXPROCS. The result does not depend on it.
	Workers int
	// Trace, where not nil, is called after every evaluation, from the goroutine that called Solve.
	Trace func(Step)
}

// Solve returns the plan of p. Errors are for bad input, for a kernel that would underflow and for a context that ended.
func (o Scaling) Solve(ctx context.Context, p Problem) (*Plan, error) {
	if err := checkRelax(o.Relax); err != nil {
		return nil, err
	}
	c := controls{Eps: o.Eps, Tol: o.Tol, MaxIter: o.MaxIter, Anneal: 1, Start: o.Start, Workers: o.Workers, Trace: o.Trace}
	r, err := c.begin(ctx, p)
	if err != nil {
		return nil, err
	}
	if n, m := r.s.n, r.s.m; n > holdLimit/m {
		return nil, bad(ErrParameter, "Scaling: a kernel of %d×%d exceeds 1 GiB: use LBFGS", n, m)
	}
	if !r.s.kernelFits() {
		return nil, bad(ErrUnderflow, "Scaling: Eps = %g: the costs span %g ε, more than %d: use LBFGS", o.Eps, (r.s.cost.max-r.s.cost.min)/o.Eps, kernelSpan)
	}
	r.s.pass = kernelPass
	if err := r.sinkhornStage(r.tol, o.Relax, true); err != nil {
		return nil, err
	}
	return r.finish("scaling"), nil
}

// checkRelax reports an over-relaxation out of range.
func checkRelax(relax float64) error {
	if math.IsNaN(relax) || relax != 0 && (relax < 1 || relax >= 2) {
		return bad(ErrParameter, "Relax = %g: must be in [1, 2), or 0 for the observed rate", relax)
	}
	return nil
}
