package ot

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
	"coupling/ot/internal/derivative"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/transport"
	"coupling/ot/penalty"
)

// Gradient is the gradient of a loss at a plan. Its linear system, if it has one, has been solved;
// each method takes one pass over the plan.
type Gradient struct {
	// Loss is what was differentiated.
	Loss Loss
	// Method is the method that solved the linear system of the sharp loss; Status and Residual (of
	// CG, relative) say how well.
	Method   Method
	Status   Status
	Residual float64

	p  *Plan
	of *derivative.Gradient
}

// Gradient differentiates a loss at the plan. For an unbalanced plan the loss must be RegKL, the
// whole objective. The regularised losses cost nothing: ∂/∂c = T. The sharp loss has the gradient
// of "Efficient, stable, and analytic differentiation of the Sinkhorn loss", in a form without
// cancellation:
//
//	∂<T,c>/∂c = T∘(1 + log T + u ⊕ v),   Diag(a)u + Tv = −(T∘log T)1,   Tᵀu + Diag(b)v = −(T∘log T)ᵀ1.
//
// No ε appears, and shifts of the cost drop out.
func (b Backward) Gradient(ctx context.Context, p *Plan, loss Loss) (*Gradient, error) {
	g := &Gradient{Loss: loss, p: p, of: &derivative.Gradient{Plan: p.t}, Status: Converged}
	if loss < Sharp || loss > RegEntropy {
		return nil, bad(ErrParameter, "loss = Loss(%d): unknown", int(loss))
	}
	if p.penalties != nil && loss == RegKL {
		return g, nil
	}
	if err := b.check(p); err != nil {
		return nil, err
	}
	if loss != Sharp {
		return g, nil
	}
	ad, err := b.settings().Entropy(ctx, p.t)
	if err != nil {
		return nil, err
	}
	g.of.Adjoint, g.Method, g.Status, g.Residual = ad, Method(ad.Method), systemStatus(ad), ad.Residual
	return g, nil
}

// Grad is Backward{}.Gradient without a context.
func (p *Plan) Grad(loss Loss) (*Gradient, error) {
	return Backward{}.Gradient(context.Background(), p, loss)
}

// GradCost returns the gradient of the sharp loss with respect to the n×m costs. The error is
// Grad's, or ErrUnconverged if conjugate gradients did not converge; Grad returns the unconverged
// gradient.
func (p *Plan) GradCost() (*mat.Dense, error) {
	g, err := p.convergedGrad()
	if err != nil {
		return nil, err
	}
	return g.Cost(), nil
}

// GradX returns the gradient, n×d, of the sharp loss with respect to the sources of a Points
// geometry. The error is Grad's or X's, or ErrUnconverged.
func (p *Plan) GradX() (*mat.Dense, error) {
	g, err := p.convergedGrad()
	if err != nil {
		return nil, err
	}
	return g.X()
}

// GradY is GradX for the targets, m×d.
func (p *Plan) GradY() (*mat.Dense, error) {
	g, err := p.convergedGrad()
	if err != nil {
		return nil, err
	}
	return g.Y()
}

// convergedGrad is the gradient of the sharp loss, with an error if its system did not converge.
func (p *Plan) convergedGrad() (*Gradient, error) {
	g, err := p.Grad(Sharp)
	if err == nil && g.Status != Converged {
		err = unconverged("gradient of the sharp loss", g.Residual)
	}
	return g, err
}

// unconverged is the error of conjugate gradients that stopped at a residual.
func unconverged(what string, residual float64) error {
	return bad(ErrUnconverged,
		"%s: conjugate gradients stopped at the relative residual %g: raise Backward.MaxIter or Tol", what, residual)
}

// Cost returns ∂loss/∂c, n×m.
func (g *Gradient) Cost() *mat.Dense { return g.of.Matrix() }

// Pairs returns ∂loss/∂c at the allowed pairs of a cost.Listed geometry, source by source, in time and memory of their
// number. ErrUnsupported is returned for other geometries.
func (g *Gradient) Pairs() ([]float64, error) {
	l, ok := g.p.Geometry.(cost.Listed)
	if !ok {
		return nil, bad(ErrUnsupported, "Gradient.Pairs: the geometry is %T, want one of cost.Sparse", g.p.Geometry)
	}
	return g.of.Pairs(l), nil
}

// X returns ∂loss/∂x, n×d, by the chain rule through the cost of a Points geometry: one pass.
func (g *Gradient) X() (*mat.Dense, error) {
	x, _, err := g.points(true, false)
	return x, err
}

// Y returns ∂loss/∂y, m×d, by the chain rule through the cost of a Points geometry: one pass.
func (g *Gradient) Y() (*mat.Dense, error) {
	_, y, err := g.points(false, true)
	return y, err
}

// XY returns X and Y by one pass.
func (g *Gradient) XY() (x, y *mat.Dense, err error) { return g.points(true, true) }

// points returns the gradients with respect to the points asked for.
func (g *Gradient) points(wantX, wantY bool) (dx, dy *mat.Dense, err error) {
	pc, err := g.p.cloud()
	if err != nil {
		return nil, nil, err
	}
	kind := pc.Kind
	if r, ok := kind.(geometry.Reverse); ok {
		kind = r.Of
	}
	if d, ok := kind.(interface{ Differentiable() bool }); ok && !d.Differentiable() {
		return nil, nil, bad(ErrUnsupported, "gradient with respect to points: the slope of %v, a %[1]T, is nil", kind)
	}
	dx, dy = g.of.Points(wantX, wantY)
	return dx, dy, nil
}

// Weights returns ∂loss/∂a and ∂loss/∂b, each up to a constant since masses stay equal, shifted so
// that <a,∂a> = <b,∂b>. For the regularised losses these are the potentials F, G and Alpha, Beta.
// Where a weight is 0 it is the one-sided derivative. The error is ErrUndetermined where atoms are
// coupled so weakly that these numbers, which are returned all the same, are arbitrary between the
// sides of Plan.Coupling. Where costs range over more than 8 ε, the first call looks for that: one
// pass as a rule, a few where some coupling is weak.
func (g *Gradient) Weights() (da, db []float64, err error) {
	da, db = g.weights()
	return da, db, g.p.determined("gradient by weights")
}

func (g *Gradient) weights() (da, db []float64) {
	p := g.p
	switch {
	case p.penalties != nil:
		c := p.penalties
		return p.penalised(c.A, p.F, c.ShareA, kern.Sum(p.B)), p.penalised(c.B, p.G, c.ShareB, kern.Sum(p.A))
	case g.Loss == RegKL:
		return p.t.Memory.Clone(p.F), p.t.Memory.Clone(p.G)
	case g.Loss == RegEntropy:
		da, db = p.t.Memory.Clone(p.Alpha), p.t.Memory.Clone(p.Beta)
		transport.Balance(p.A, da, p.B, db)
		return da, db
	}
	return g.of.Weights()
}

// penalised returns ∂/∂a of the unbalanced objective for the potentials f of a and the shares x = T1/a:
// −D*(−f) + ε(Σb − x).
func (p *Plan) penalised(t penalty.Term, f, share []float64, other float64) []float64 {
	out := make([]float64, len(f))
	for i, v := range f {
		out[i] = t.Conjugate(v) + p.Eps*(other-share[i])
	}
	return out
}

// systemStatus is that of a linear system.
func systemStatus(ad *derivative.Adjoint) Status {
	if ad.Converged {
		return Converged
	}
	return IterationLimit
}
