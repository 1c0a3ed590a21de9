package ot

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
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
func (l Loss) String() string {
	switch l {
	case Sharp:
		return "sharp"
	case RegKL:
		return "reg_kl"
	case RegEntropy:
		return "reg_entropy"
	}
	return fmt.Sprintf("Loss(%d)", int(l))
}

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

// Gradient is the gradient of a loss at a plan. Its linear system, where it has one, is solved; the methods are a pass
// over the plan each.
type Gradient struct {
	// Loss is what was differentiated.
	Loss Loss
	// Method solved the linear system of the sharp loss; Status and Residual (of CG, relative) say how well.
	Method   Method
	Status   Status
	Residual float64

	p  *Plan
	ad *adjoint // of the field −ε log T; nil for the regularised losses
}

// Gradient differentiates a loss at the plan. For the regularised losses that is free: ∂/∂c = T. For the sharp loss,
// "Efficient, stable, and analytic differentiation of the Sinkhorn loss", in a form in which nothing cancels:
//
//	∂<T,c>/∂c = T∘(1 + log T + u ⊕ v),   Diag(a)u + Tv = −(T∘log T)1,   Tᵀu + Diag(b)v = −(T∘log T)ᵀ1.
//
// No ε appears, and shifts of the cost drop out.
func (b Backward) Gradient(ctx context.Context, p *Plan, loss Loss) (*Gradient, error) {
	g := &Gradient{Loss: loss, p: p, Status: Converged}
	if loss < Sharp || loss > RegEntropy {
		return nil, bad(ErrParameter, "loss = Loss(%d): unknown", int(loss))
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

// entropyField is −log T, which differs from c/ε by what potentials take up.
func entropyField(_ int, dst, _, logT []float64) {
	for j, v := range logT {
		dst[j] = -v
	}
}

// Grad is Backward{}.Gradient without a context.
func (p *Plan) Grad(loss Loss) (*Gradient, error) {
	return Backward{}.Gradient(context.Background(), p, loss)
}

// GradCost returns the gradient of the sharp loss with respect to the n×m costs.
// It is nil for a plan that Grad refuses, and where conjugate gradients did not converge; Grad tells why, and gives what
// they came to.
func (p *Plan) GradCost() *mat.Dense { return p.gradCost(Backward{}) }

func (p *Plan) gradCost(b Backward) *mat.Dense {
	g, err := b.Gradient(context.Background(), p, Sharp)
	if err != nil || g.Status != Converged {
		return nil
	}
	return g.Cost()
}

// GradX returns the gradient, n×d, of the sharp loss with respect to the sources of a Points geometry. It is nil for a
// geometry without points, for a cost without a gradient, for a plan that Grad refuses, and where conjugate gradients
// did not converge; Grad(Sharp) and X tell why.
func (p *Plan) GradX() *mat.Dense { return p.gradPoints(Backward{}, (*Gradient).X) }

// GradY is GradX for the targets, m×d.
func (p *Plan) GradY() *mat.Dense { return p.gradPoints(Backward{}, (*Gradient).Y) }

func (p *Plan) gradPoints(b Backward, which func(*Gradient) (*mat.Dense, error)) *mat.Dense {
	g, err := b.Gradient(context.Background(), p, Sharp)
	if err != nil || g.Status != Converged {
		return nil
	}
	d, err := which(g)
	if err != nil {
		return nil
	}
	return d
}

// row writes row i of ∂loss/∂c.
func (g *Gradient) row(i int, dst, t, logT []float64) {
	if g.ad == nil {
		copy(dst, t)
		return
	}
	g.ad.derivative(i, dst, t, logT, entropyField)
	for j := range dst {
		dst[j] = t[j] * (1 + dst[j])
	}
}

// Cost returns ∂loss/∂c, n×m.
func (g *Gradient) Cost() *mat.Dense {
	n, m := g.p.Dims()
	out := mat.NewDense(n, m, nil)
	g.p.eachLog(func(i int, t, logT []float64) { g.row(i, out.RawRowView(i), t, logT) })
	return out
}

// X returns ∂loss/∂x, n×d, by the chain rule through the cost of a Points geometry.
func (g *Gradient) X() (*mat.Dense, error) {
	pc, err := g.points()
	if err != nil {
		return nil, err
	}
	if out, ok := g.pointsOnDevice(false); ok {
		return out, nil
	}
	n, m := g.p.Dims()
	out := mat.NewDense(n, pc.d, nil)
	newSweep(g.p.g, 0).each(func(w *worker, _ int, s span) {
		logT, row := make([]float64, m), make([]float64, m)
		for i := s.lo; i < s.hi; i++ {
			g.p.logRow(i, w.exp, logT, w.cost)
			g.row(i, row, w.exp, logT)
			x, dx := pc.x.RawRowView(i), out.RawRowView(i)
			for j, v := range row {
				if v != 0 {
					pc.Kind.Grad(dx, nil, v, x, pc.y.RawRowView(j))
				}
			}
		}
	})
	return out, nil
}

// Y returns ∂loss/∂y, m×d, by the chain rule through the cost of a Points geometry.
func (g *Gradient) Y() (*mat.Dense, error) {
	pc, err := g.points()
	if err != nil {
		return nil, err
	}
	if out, ok := g.pointsOnDevice(true); ok {
		return out, nil
	}
	_, m := g.p.Dims()
	sw := newSweep(g.p.g, 0)
	parts := make([]*mat.Dense, len(sw.spans))
	sw.each(func(w *worker, k int, s span) {
		logT, row := make([]float64, m), make([]float64, m)
		parts[k] = mat.NewDense(m, pc.d, nil)
		for i := s.lo; i < s.hi; i++ {
			g.p.logRow(i, w.exp, logT, w.cost)
			g.row(i, row, w.exp, logT)
			x := pc.x.RawRowView(i)
			for j, v := range row {
				if v != 0 {
					pc.Kind.Grad(nil, parts[k].RawRowView(j), v, x, pc.y.RawRowView(j))
				}
			}
		}
	})
	for _, q := range parts[1:] {
		parts[0].Add(parts[0], q)
	}
	return parts[0], nil
}

// points returns the geometry that the chain rule goes through.
func (g *Gradient) points() (*PointCloud, error) {
	geometry := g.p.Geometry
	switch s := geometry.(type) {
	case *Single:
		geometry = s.of
	case *OnDevice:
		geometry = s.of
	}
	pc, ok := geometry.(*PointCloud)
	if !ok {
		return nil, bad(ErrUnsupported, "gradient with respect to points: the geometry is %T, want one of ot.Points", g.p.Geometry)
	}
	if f, ok := pc.Kind.(CostFunc); ok && f.Gradient == nil {
		return nil, bad(ErrUnsupported, "gradient with respect to points: CostFunc.Gradient is nil")
	}
	return pc, nil
}

// Weights returns ∂loss/∂a and ∂loss/∂b, each up to a constant since masses stay equal, shifted so that
// <a,∂a> = <b,∂b>. For the regularised losses these are the potentials F, G and Alpha, Beta. Where a weight is 0 it is
// the one-sided derivative.
func (g *Gradient) Weights() (da, db []float64) {
	p := g.p
	switch g.Loss {
	case RegKL:
		return append(da, p.F...), append(db, p.G...)
	case RegEntropy:
		da, db = append(da, p.Alpha...), append(db, p.Beta...)
		balance(p.A, da, p.B, db)
		return da, db
	}
	n, m := p.Dims()
	da, db = make([]float64, n), make([]float64, m)
	// c = (α ⊕ β) − ε log T, and the system maps α ⊕ β to (α, β): u(c) = α + ε u(−log T), and the same for v.
	if !g.sourcesOnDevice(da) {
		newSweep(p.g, 0).each(func(w *worker, _ int, s span) {
			for i := s.lo; i < s.hi; i++ {
				c := p.g.Row(i, w.cost)
				mx, sum := softmaxRow(w.exp, p.beta, c, 1/p.Eps)
				var u float64
				for j, e := range w.exp {
					if e > 0 && p.B[j] > 0 {
						u -= e / sum * ((p.beta[j]-c[j]-mx)/p.Eps + g.ad.v[j])
					}
				}
				da[i] = -mx + p.Eps*u
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
	if r, ok := p.g.(*reduced); ok {
		r.addBase(da, db)
	}
	balance(p.A, da, p.B, db)
	return da, db
}

// emptyColumn returns Σᵢ q_ij (c_ij − da_i) for the conditional q of a target of weight 0: where a first grain of mass
// there would come from.
func (g *Gradient) emptyColumn(j int, da []float64) float64 {
	p := g.p
	_, m := p.Dims()
	buf := make([]float64, m)
	mx, sum, mean := math.Inf(-1), 0.0, 0.0
	alpha := p.Alpha
	base, rebased := p.g.(*reduced)
	for i, a := range p.A {
		if a == 0 {
			continue
		}
		c, al := p.g.Row(i, buf)[j], alpha[i]
		if rebased {
			al -= base.u[i]
		}
		v := (al - c) / p.Eps
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
