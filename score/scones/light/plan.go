package light

import (
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/lab/device/cpu/dense"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Plan is the KL-regularised plan in the form of LightSB (Korotin, Gushchin and Burnaev 2024), ε = λ/2:
//
//	π(y|x) ∝ exp(⟨x,y⟩/ε) v(y),     v(y) = exp((ψ(y) − |y|²)/λ) τ(y) = Σ_k exp(A_k) N(y; R_k, ε S_k),
//
// so that y given x is a mixture of N(R_k + S_k x, ε S_k) with weights ∝ exp(A_k + (xᵀS_k x +
// 2R_kᵀx)/2ε): it is sampled directly, and needs no score of the target. One component is exact
// between Gaussians. Make one by Fit.
type Plan struct {
	Lambda float64
	A      []float64
	R      [][]float64
	Root   []*mat.TriDense // lower L_k, S_k = L_k L_kᵀ
}

// String describes the fit in a line.
func (l *Plan) String() string {
	k, d := l.Dims()
	return fmt.Sprintf("light plan of %d components on R^%d, λ %.4g", k, d, l.Lambda)
}

// Dims returns the number of components and the dimension.
func (l *Plan) Dims() (k, d int) { return len(l.A), len(l.R[0]) }

// tilted returns for each row of x the logarithms A_k + (xᵀS_k x + 2R_kᵀx)/2ε, and their log-sum-exp: log c(x).
func (l *Plan) tilted(x *mat.Dense) (logs *mat.Dense, all []float64) {
	n, _ := x.Dims()
	k, d := l.Dims()
	logs, all = mat.NewDense(n, k, nil), make([]float64, n)
	lx := mat.NewDense(n, d, nil)
	for c := range k {
		dense.Multiply(lx, x, mat.DenseCopyOf(l.Root[c]))
		for i := range n {
			row := lx.RawRowView(i)
			logs.Set(i, c, l.A[c]+(floats.Dot(row, row)+2*floats.Dot(l.R[c], x.RawRowView(i)))/l.Lambda)
		}
	}
	for i := range n {
		all[i] = floats.LogSumExp(logs.RawRowView(i))
	}
	return logs, all
}

// Barycentric returns E[y|x] at each row of x.
func (l *Plan) Barycentric(x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	k, _ := l.Dims()
	out := mat.NewDense(n, d, nil)
	logs, all := l.tilted(x)
	for c := range k {
		mean := l.mean(c, x)
		for i := range n {
			floats.AddScaled(out.RawRowView(i), math.Exp(logs.At(i, c)-all[i]), mean.RawRowView(i))
		}
	}
	return out
}

// mean is R_c + S_c x.
func (l *Plan) mean(c int, x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	s := new(mat.Dense)
	s.Mul(l.Root[c], l.Root[c].T())
	out := mat.NewDense(n, d, nil)
	dense.Multiply(out, x, s)
	for i := range n {
		floats.Add(out.RawRowView(i), l.R[c])
	}
	return out
}

// Sample draws one y for each row of x, exactly. Cost N·K·d².
func (l *Plan) Sample(rng *rand.Rand, x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	k, _ := l.Dims()
	logs, all := l.tilted(x)
	from := make([]int, n)
	for i := range from {
		u := rng.Float64()
		for c := range k {
			from[i] = c
			if u -= math.Exp(logs.At(i, c) - all[i]); u < 0 {
				break
			}
		}
	}
	z := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			z.Set(i, j, math.Sqrt(l.Lambda/2)*rng.NormFloat64())
		}
	}
	out, noise := mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
	for c := range k {
		mean := l.mean(c, x)
		dense.Multiply(noise, z, mat.DenseCopyOf(l.Root[c].T()))
		for i := range n {
			if from[i] == c {
				floats.AddTo(out.RawRowView(i), mean.RawRowView(i), noise.RawRowView(i))
			}
		}
	}
	return out
}
