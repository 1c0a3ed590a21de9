package ot

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
)

// VJP is the derivative of a function ℓ(T) through the plan.
type VJP struct {
	// Cost is ∂ℓ/∂c, n×m.
	Cost *mat.Dense
	// A and B are ∂ℓ/∂a and ∂ℓ/∂b, each up to a constant (mass stays 1); <A,a> = <B,b>.
	A, B []float64
	// Method is the method that solved the system; Status and Residual (of CG) say how well. Status
	// is Undetermined where A and B are arbitrary between the sides of Plan.Coupling; Cost is not
	// affected.
	Method   Method
	Status   Status
	Residual float64
}

// VJP returns the vector–Jacobian product of the plan: for v = ∂ℓ/∂T, n×m, the derivatives of ℓ
// with respect to the costs and the weights, by implicit differentiation. With u, s the solution of
// Diag(T1)u + Ts = (T∘v)1, Tᵀu + Diag(Tᵀ1)s = (T∘v)ᵀ1:
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
	cost, da, db, ad, err := b.settings().VJP(ctx, p.t, row)
	if err != nil {
		return nil, err
	}
	out := &VJP{Cost: cost, A: da, B: db, Method: Method(ad.Method), Status: systemStatus(ad), Residual: ad.Residual}
	if p.determined("VJP by weights") != nil {
		out.Status = worse(out.Status, Undetermined)
	}
	return out, nil
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

// HessianX returns H v, n×d: the second derivative of the regularised losses by the sources of a
// Points geometry with the cost SqEuclidean, times v, n×d, without H itself, of (n·d)² entries. It
// is the derivative of Gradient.X along v by implicit differentiation: one linear system, as that
// of VJP, and two passes. ErrUnconverged is returned with the product where conjugate gradients did
// not converge.
func (b Backward) HessianX(ctx context.Context, p *Plan, v *mat.Dense) (*mat.Dense, error) {
	if err := b.check(p); err != nil {
		return nil, err
	}
	c, err := p.cloud()
	if err != nil {
		return nil, err
	}
	if c.Kind != cost.PointCost(SqEuclidean) {
		return nil, bad(ErrUnsupported, "HessianX: the cost is %v: must be SqEuclidean", c.Kind)
	}
	n, d := c.X().Dims()
	if err := wantField("HessianX: v", v, n, d); err != nil {
		return nil, err
	}
	out, ad, err := b.settings().SecondX(ctx, p.t, v)
	if err == nil && !ad.Converged {
		err = unconverged("HessianX", ad.Residual)
	}
	return out, err
}
