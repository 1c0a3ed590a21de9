package derivative

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu"
	"coupling/lab/device/cpu/dense"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"
)

// SecondX returns the product of the second derivative of the regularised losses by x with v, for
// the cost |x−y|²: with ċ_ij = 2⟨vᵢ, xᵢ−yⱼ⟩ the plan moves by Ṫ = T∘(u ⊕ s − ċ)/ε, whose rows sum
// to 0, and so the gradient 2 Σⱼ T_ij(xᵢ−yⱼ) moves by 2 (T1)ᵢvᵢ − 2 Σⱼ Ṫ_ij yⱼ.
func (b Settings) SecondX(ctx context.Context, p *transport.Plan, v *mat.Dense) (*mat.Dense, *Adjoint, error) {
	n, m := p.Dims()
	_, d := v.Dims()
	y := p.Points().Y()
	field := func(i int, dst, _, _ []float64) { // but for a constant of the row
		for j := range dst {
			dst[j] = -2 * kern.Dot(v.RawRowView(i), y.RawRowView(j))
		}
	}
	ad, err := b.solveShifted(ctx, p, field)
	if err != nil {
		return nil, nil, err
	}
	out, targets := mat.NewDense(n, d, nil), dense.View(y)
	p.Blocks(nil, func(w *semidual.Worker, _, lo, hi int) {
		block, logT := w.Block[:(hi-lo)*m], make([]float64, m)
		for i := lo; i < hi; i++ {
			row := block[(i-lo)*m : (i-lo+1)*m]
			p.LogRow(i, w.Exp, logT, w.Cost)
			ad.derivative(i, row, w.Exp, logT, field)
			kern.Mul(row, row, w.Exp)
			kern.Axpy(out.RawRowView(i), 2*p.Mass[i], v.RawRowView(i))
		}
		w.Gemm.Add(dense.View(out).Slice(lo, hi), -2/p.Eps, cpu.Dense(block, hi-lo, m), targets)
	})
	return out, ad, nil
}
