package analytic

import (
	"math"

	"coupling/ot"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// textbook is Sinkhorn's algorithm as it is usually written, in float64 or float32:
//
//	K = exp(−c/ε),  u = a/(Kv),  v = b/(Kᵀu),  T = Diag(u) K Diag(v),
//
// by matrix–vector products, with nothing done about under- and overflow. Package ot refuses to run it where K
// underflows; it is here to show what happens then.
type textbook struct {
	Eps     float64
	Tol     float64 // stop at this L1 error of the marginals
	MaxIter int     // and at this many iterations
	Single  bool    // float32
	Trace   func(ot.Step) error
}

// textbookResult is what the iterations left.
type textbookResult struct {
	T          *mat.Dense // may hold NaN
	MarginalL1 float64    // of the rows, after the last full iteration; the columns are exact but for rounding
	Iterations int
}

// solve runs the algorithm; like its usual implementations it stops at the first value that is not a number.
func (o textbook) solve(c *mat.Dense, a, b []float64) textbookResult {
	k := kernelOf(c, o.Eps, o.Single)
	n, m := c.Dims()
	u, v, ku, kv := make([]float64, n), make([]float64, m), make([]float64, m), make([]float64, n)
	for j := range v {
		v[j] = 1
	}
	out := textbookResult{MarginalL1: math.NaN()}
	for it := 1; it <= o.MaxIter; it++ {
		k.mul(kv, v)
		if it > 1 {
			out.MarginalL1 = 0
			for i, w := range a {
				out.MarginalL1 += math.Abs(u[i]*kv[i] - w)
			}
			out.Iterations = it - 1
			step := ot.Step{Iteration: it - 1, Evaluation: it - 1, Eps: o.Eps, MarginalL1: out.MarginalL1}
			if o.Trace != nil && o.Trace(step) != nil || math.IsNaN(out.MarginalL1) || out.MarginalL1 <= o.Tol {
				break
			}
		}
		for i := range u {
			u[i] = k.round(a[i] / kv[i])
		}
		k.mulT(ku, u)
		for j := range v {
			v[j] = k.round(b[j] / ku[j])
		}
	}
	out.T = mat.NewDense(n, m, nil)
	for i := range n {
		for j := range m {
			out.T.Set(i, j, u[i]*k.at(i, j)*v[j])
		}
	}
	return out
}

// textbookKernel is the matrix K in one of the two precisions.
type textbookKernel struct {
	k64      blas64.General
	k32      blas32.General
	x32, y32 []float32
	single   bool
}

func kernelOf(c *mat.Dense, eps float64, single bool) *textbookKernel {
	n, m := c.Dims()
	k := &textbookKernel{single: single}
	if single {
		k.k32 = blas32.General{Rows: n, Cols: m, Stride: m, Data: make([]float32, n*m)}
		k.x32, k.y32 = make([]float32, max(n, m)), make([]float32, max(n, m))
	} else {
		k.k64 = blas64.General{Rows: n, Cols: m, Stride: m, Data: make([]float64, n*m)}
	}
	for i := range n {
		for j, v := range c.RawRowView(i) {
			e := math.Exp(-v / eps)
			if single {
				k.k32.Data[i*m+j] = float32(e)
			} else {
				k.k64.Data[i*m+j] = e
			}
		}
	}
	return k
}

func (k *textbookKernel) at(i, j int) float64 {
	if k.single {
		return float64(k.k32.Data[i*k.k32.Stride+j])
	}
	return k.k64.Data[i*k.k64.Stride+j]
}

// round rounds to the precision of the kernel.
func (k *textbookKernel) round(x float64) float64 {
	if k.single {
		return float64(float32(x))
	}
	return x
}

func (k *textbookKernel) mul(y, x []float64)  { k.product(blas.NoTrans, y, x) }
func (k *textbookKernel) mulT(y, x []float64) { k.product(blas.Trans, y, x) }

func (k *textbookKernel) product(t blas.Transpose, y, x []float64) {
	if !k.single {
		blas64.Gemv(t, 1, k.k64, blas64.Vector{N: len(x), Inc: 1, Data: x}, 0,
			blas64.Vector{N: len(y), Inc: 1, Data: y})
		return
	}
	for i, v := range x {
		k.x32[i] = float32(v)
	}
	blas32.Gemv(t, 1, k.k32, blas32.Vector{N: len(x), Inc: 1, Data: k.x32}, 0,
		blas32.Vector{N: len(y), Inc: 1, Data: k.y32})
	for i := range y {
		y[i] = float64(k.y32[i])
	}
}
