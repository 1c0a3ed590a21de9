package ot

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/internal/rows"
)

// VJP is the derivative of a function ℓ(T) through the plan.
type VJP struct {
	// Cost is ∂ℓ/∂c, n×m.
	Cost *mat.Dense
	// A and B are ∂ℓ/∂a and ∂ℓ/∂b, each up to a constant (mass stays 1); <A,a> = <B,b>.
	A, B []float64
	// Method is the method that solved the system; Status and Residual (of CG) say how well.
	Method   Method
	Status   Status
	Residual float64
}

// VJP returns the vector–Jacobian product of the plan: for v = ∂ℓ/∂T, n×m, the derivatives of ℓ with respect to the
// costs and the weights, by implicit differentiation. With u, s the solution of Diag(T1)u + Ts = (T∘v)1,
// Tᵀu + Diag(Tᵀ1)s = (T∘v)ᵀ1:
//
//	∂ℓ/∂c = T∘(u ⊕ s − v)/ε,   ∂ℓ/∂a = u,   ∂ℓ/∂b = s.
//
// Potentials p ⊕ q in v, however large, change Cost by no more than the rounding of v itself.
// The weights' derivatives are 0 where the weight is 0.
func (b Backward) VJP(ctx context.Context, p *Plan, v *mat.Dense) (*VJP, error) {
	if err := b.check(p); err != nil {
		return nil, err
	}
	n, m := p.Dims()
	if err := wantField("VJP: v", v, n, m); err != nil {
		return nil, err
	}
	row := func(i int, dst, _, _ []float64) { copy(dst, v.RawRowView(i)) }
	ad, err := b.solveShifted(ctx, p, row)
	if err != nil {
		return nil, err
	}
	out := &VJP{Cost: mat.NewDense(n, m, nil), A: make([]float64, n), B: ad.potentials(), Method: ad.method, Status: ad.status, Residual: ad.resid}
	p.eachLog(func(i int, t, logT []float64) {
		dst := out.Cost.RawRowView(i)
		if p.mass[i] > 0 {
			copy(dst, v.RawRowView(i))
			if ad.base != nil {
				axpy(dst, ad.base, -1)
			}
			out.A[i] = (dot(t, dst) - dot(t, ad.v)) / p.mass[i]
		}
		ad.derivative(i, dst, t, logT, row)
		for j := range dst {
			dst[j] *= t[j] / p.Eps
		}
	})
	for j, w := range p.B {
		if w == 0 {
			out.B[j] = 0
		}
	}
	balance(p.A, out.A, p.B, out.B)
	return out, nil
}

// potentials returns s of VJP, with the base added back.
func (a *adjoint) potentials() []float64 {
	out := append([]float64(nil), a.v...)
	if a.base != nil {
		axpy(out, a.base, 1)
	}
	return out
}

// wantField reports a matrix that is not n×m and finite.
func wantField(name string, v *mat.Dense, n, m int) error {
	if v == nil {
		return bad(ErrShape, "%s is nil, want %d×%d", name, n, m)
	}
	if r, c := v.Dims(); r != n || c != m {
		return bad(ErrShape, "%s is %d×%d, want %d×%d", name, r, c, n, m)
	}
	for i := range n {
		for j, x := range v.RawRowView(i) {
			if x-x != 0 {
				return bad(ErrParameter, "%s[%d,%d] = %g: must be finite", name, i, j, x)
			}
		}
	}
	return nil
}

// balance shifts u and v oppositely so that <a,u> = <b,v>.
func balance(a, u, b, v []float64) {
	d := (rows.Dot(a, u) - rows.Dot(b, v)) / 2
	shift(u, -d)
	shift(v, d)
}
