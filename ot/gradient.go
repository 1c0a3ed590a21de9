package ot

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/rows"
)

// Loss is one of the numbers that the literature calls the Sinkhorn loss; see Values.
type Loss int

const (
	// Sharp is <T*,c>, which approaches the Wasserstein distance fastest.
	Sharp Loss = iota
	// RegKL is min <T,c> + ε KL(T|abᵀ).
	RegKL
	// RegEntropy is min <T,c> + ε Σ T log T.
	RegEntropy
)

// String returns the name of the loss.
func (l Loss) String() string { return fault.Name("Loss", int(l), "sharp", "reg_kl", "reg_entropy") }

// Of returns the loss of a plan.
func (l Loss) Of(p *Plan) float64 {
	switch l {
	case RegKL:
		return p.RegKL()
	case RegEntropy:
		return p.RegEntropy()
	}
	return p.Sharp()
}

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
	ad *adjoint // of the field −ε log T; nil for the regularised losses
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
	g := &Gradient{Loss: loss, p: p, Status: Converged}
	if loss < Sharp || loss > RegEntropy {
		return nil, bad(ErrParameter, "loss = Loss(%d): unknown", int(loss))
	}
	if p.unbalanced && loss == RegKL {
		return g, nil
	}
	if err := b.check(p); err != nil {
		return nil, err
	}
	if loss != Sharp {
		return g, nil
	}
	ad, err := b.entropy(ctx, p)
	if err != nil {
		return nil, err
	}
	g.ad, g.Method, g.Status, g.Residual = ad, ad.method, ad.status, ad.resid
	return g, nil
}

// entropyField is −log T, which is c/ε less potentials.
func entropyField(_ int, dst, _, logT []float64) {
	kern.Scale(dst, -1, logT)
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

// GradX returns the gradient, n×d, of the sharp loss with respect to the sources of a Points geometry. The error is Grad's or
// X's, or ErrUnconverged.
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
	return bad(ErrUnconverged, "%s: conjugate gradients stopped at the relative residual %g: raise Backward.MaxIter or Tol", what, residual)
}

// rows computes rows of ∂loss/∂c: for the sharp loss T∘(1 + w), where w is (β + εv − c − ref)/ε
// less its mean under T.
type lossRows struct {
	g     *Gradient
	slope []float64 // β + εv, 0 where the weight is 0; nil for the regularised losses
}

func (g *Gradient) rows() lossRows { return lossRows{g, g.slopes(g.p.beta)} }

// slopes is β + εv, 0 where the weight is 0, and nil for the regularised losses.
func (g *Gradient) slopes(beta []float64) []float64 {
	if g.ad == nil {
		return nil
	}
	s := g.p.memory.zeros(len(beta))
	for j, b := range g.p.B {
		if b > 0 {
			s[j] = beta[j] + g.p.Eps*g.ad.v[j]
		}
	}
	return s
}

// row writes row i of ∂loss/∂c to dst.
func (r lossRows) row(i int, dst []float64, w *worker) {
	p := r.g.p
	if r.slope == nil {
		p.row(i, dst, w.cost)
		return
	}
	mass := p.mass[i]
	c, ref, _ := p.row(i, w.exp, w.cost)
	if mass == 0 {
		clear(dst)
		return
	}
	kern.RowLogits(dst, r.slope, c, 1)
	subtract(dst, ref)
	if p.cost.Forbidden {
		leaveOut(dst, c)
	}
	for range 2 { // the second mean removes the rounding of the first
		subtract(dst, dot(dst, w.exp)/mass)
	}
	kern.Mul(dst, dst, w.exp)
	kern.Scale(dst, 1/p.Eps, dst)
	axpy(dst, w.exp, 1)
}

// Cost returns ∂loss/∂c, n×m.
func (g *Gradient) Cost() *mat.Dense {
	n, m := g.p.Dims()
	out := mat.NewDense(n, m, nil)
	rows := g.rows()
	g.p.sweep().Each(func(w *worker, _ int, s span) {
		for i := s.Lo; i < s.Hi; i++ {
			rows.row(i, out.RawRowView(i), w)
		}
	})
	return out
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

// maxGradientSpans bounds the number of m×d partial sums of the gradient by targets.
const maxGradientSpans = 16

// points returns the gradients with respect to the points asked for.
func (g *Gradient) points(wantX, wantY bool) (dx, dy *mat.Dense, err error) {
	pc, err := g.cloud()
	if err != nil {
		return nil, nil, err
	}
	if dx, dy, ok := g.pointsOnDevice(wantX, wantY); ok {
		return dx, dy, nil
	}
	n, m := g.p.Dims()
	_, d := pc.X().Dims()
	sw := g.p.sweep()
	if wantX {
		dx = g.p.memory.dense(n, d)
	}
	parts := make([]*mat.Dense, len(sw.Spans))
	if wantY {
		sw = &sweep{Spans: rows.Merge(sw.Spans, maxGradientSpans), Scratch: sw.Scratch}
		for k := range sw.Spans {
			parts[k] = g.p.memory.dense(m, d)
		}
	}
	chain, rows := cost.NewChain(pc, g.p.memory.floats), g.rows()
	g.p.blocks(sw, func(w *worker, k, lo, hi int) {
		block := w.block[:(hi-lo)*m]
		for i := lo; i < hi; i++ {
			rows.row(i, block[(i-lo)*m:(i-lo+1)*m], w)
		}
		chain.Add(&w.gemm, w.cost[:m], dx, parts[k], block, lo, hi)
	})
	dy = parts[0]
	for _, q := range parts[1:] {
		if q != nil {
			dy.Add(dy, q)
		}
	}
	chain.Finish(dx, dy)
	return dx, dy, nil
}

// cloud returns the geometry of points for the chain rule, or an error if the plan has none.
func (g *Gradient) cloud() (*PointCloud, error) {
	pc, err := g.p.cloud()
	if err != nil {
		return nil, err
	}
	if f, ok := pc.Kind.(CostFunc); ok && f.Gradient == nil {
		return nil, bad(ErrUnsupported, "gradient with respect to points: CostFunc.Gradient is nil")
	}
	return pc, nil
}

// cloud returns the points of the plan's geometry.
func (p *Plan) cloud() (*PointCloud, error) {
	if g, ok := p.Geometry.(cost.Pointed); ok && g.Cloud() != nil {
		return g.Cloud(), nil
	}
	return nil, bad(ErrUnsupported, "the geometry is %T, want one of ot.Points", p.Geometry)
}

// Weights returns ∂loss/∂a and ∂loss/∂b, each up to a constant since masses stay equal, shifted so that
// <a,∂a> = <b,∂b>. For the regularised losses these are the potentials F, G and Alpha, Beta. Where a weight is 0 it is
// the one-sided derivative.
func (g *Gradient) Weights() (da, db []float64) {
	p := g.p
	switch {
	case p.unbalanced:
		return p.penalised(p.F, p.rhoA, kern.Sum(p.B)), p.penalised(p.G, p.rhoB, kern.Sum(p.A))
	case g.Loss == RegKL:
		return p.memory.clone(p.F), p.memory.clone(p.G)
	case g.Loss == RegEntropy:
		da, db = p.memory.clone(p.Alpha), p.memory.clone(p.Beta)
		balance(p.A, da, p.B, db)
		return da, db
	}
	n, m := p.Dims()
	da, db = p.memory.floats(n), p.memory.floats(m)
	// c = (α ⊕ β) − ε log T, and the system maps α ⊕ β to (α, β): u(c) = α + ε u(−log T), and the same for v.
	if !g.sourcesOnDevice(da) {
		slope := g.rows().slope
		p.sweep().Each(func(w *worker, _ int, s span) {
			rel := w.room(m)
			for i := s.Lo; i < s.Hi; i++ {
				c := p.g.Row(i, w.cost)
				ref, sum := p.exponentials(i, w.exp, c)
				kern.RowLogits(rel, slope, c, 1)
				subtract(rel, ref)
				if p.cost.Forbidden {
					leaveOut(rel, c)
				}
				da[i] = -ref - dot(w.exp, rel)/sum
			}
		})
	}
	for j, b := range p.B {
		if b > 0 {
			db[j] = p.beta[j] + p.Eps*g.ad.v[j]
		} else {
			db[j] = g.emptyColumn(j, da)
		}
	}
	if r, ok := p.g.(*reducedCosts); ok {
		r.addBase(da, db)
	}
	balance(p.A, da, p.B, db)
	return da, db
}

// penalised returns ∂/∂a of the unbalanced objective for the potentials f of a: with e^(−f/ρ) = T1/a at the optimum,
// ρ(1 − e^(−f/ρ)) + ε(Σb − e^(−f/ρ)).
func (p *Plan) penalised(f []float64, rho, other float64) []float64 {
	out := make([]float64, len(f))
	for i, v := range f {
		if math.IsInf(rho, 1) {
			out[i] = v + p.Eps*(other-1)
			continue
		}
		out[i] = -rho*math.Expm1(-v/rho) + p.Eps*(other-math.Exp(-v/rho))
	}
	return out
}

// emptyColumn returns Σᵢ q_ij (c_ij − da_i) for the conditional q of a target of weight 0: the one-sided derivative there.
func (g *Gradient) emptyColumn(j int, da []float64) float64 {
	p := g.p
	_, m := p.Dims()
	buf := make([]float64, m)
	mx, sum, mean := math.Inf(-1), 0.0, 0.0
	alpha := p.Alpha
	base, rebased := p.g.(*reducedCosts)
	for i, a := range p.A {
		if a == 0 {
			continue
		}
		c, al := p.g.Row(i, buf)[j], alpha[i]
		if rebased {
			al -= base.source(i)
		}
		v := (al - c) / p.Eps
		if math.IsInf(v, -1) { // a forbidden pair
			continue
		}
		if v > mx {
			f := math.Exp(mx - v)
			sum, mean, mx = sum*f, mean*f, v
		}
		e := math.Exp(v - mx)
		sum += e
		mean += e * (c - da[i])
	}
	return mean / sum
}
