package ot

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
)

// entropyField is −log T, which is c/ε less potentials.
func entropyField(_ int, dst, _, logT []float64) {
	kern.Scale(dst, -1, logT)
}

// lossGradient is the gradient of a loss at a plan, whose linear system has been solved.
type lossGradient struct {
	p  *transport
	ad *adjoint // of the field −ε log T; nil for the regularised losses
}

// lossRows computes rows of ∂loss/∂c: for the sharp loss T∘(1 + w), where w is (β + εv − c − ref)/ε
// less its mean under T.
type lossRows struct {
	g     *lossGradient
	slope []float64 // β + εv, 0 where the weight is 0; nil for the regularised losses
}

func (g *lossGradient) rows() lossRows { return lossRows{g, g.slopes(g.p.own)} }

// slopes is β + εv, 0 where the weight is 0, and nil for the regularised losses.
func (g *lossGradient) slopes(beta []float64) []float64 {
	if g.ad == nil {
		return nil
	}
	s := g.p.memory.Zeros(len(beta))
	for j, b := range g.p.b {
		if b > 0 {
			s[j] = beta[j] + g.p.eps*g.ad.v[j]
		}
	}
	return s
}

// row writes row i of ∂loss/∂c to dst.
func (r lossRows) row(i int, dst []float64, w *semidual.Worker) {
	p := r.g.p
	if r.slope == nil {
		p.row(i, dst, w.Cost)
		return
	}
	mass := p.mass[i]
	c, ref, _ := p.row(i, w.Exp, w.Cost)
	if mass == 0 {
		clear(dst)
		return
	}
	kern.RowLogits(dst, r.slope, c, 1)
	rows.Subtract(dst, ref)
	if p.cost.Forbidden {
		rows.SkipForbidden(dst, c)
	}
	for range 2 { // the second mean removes the rounding of the first
		rows.Subtract(dst, kern.Dot(dst, w.Exp)/mass)
	}
	kern.Mul(dst, dst, w.Exp)
	kern.Scale(dst, 1/p.eps, dst)
	kern.Axpy(dst, 1, w.Exp)
}

// matrix returns ∂loss/∂c, n×m.
func (g *lossGradient) matrix() *mat.Dense {
	n, m := g.p.dims()
	out := mat.NewDense(n, m, nil)
	of := g.rows()
	g.p.sweep().Each(func(w *semidual.Worker, _ int, s rows.Span) {
		for i := s.Lo; i < s.Hi; i++ {
			of.row(i, out.RawRowView(i), w)
		}
	})
	return out
}

// maxGradientSpans bounds the number of m×d partial sums of the gradient by targets.
const maxGradientSpans = 16

// points returns the gradients with respect to the points asked for, by the chain rule.
func (g *lossGradient) points(wantX, wantY bool) (dx, dy *mat.Dense) {
	if dx, dy, ok := g.pointsOnDevice(wantX, wantY); ok {
		return dx, dy
	}
	pc := g.p.points()
	n, m := g.p.dims()
	_, d := pc.X().Dims()
	sw := g.p.sweep()
	if wantX {
		dx = g.p.memory.Dense(n, d)
	}
	parts := make([]*mat.Dense, len(sw.Spans))
	if wantY {
		sw = &semidual.Sweep{Spans: rows.Merge(sw.Spans, maxGradientSpans), Scratch: sw.Scratch}
		for k := range sw.Spans {
			parts[k] = g.p.memory.Dense(m, d)
		}
	}
	chain, rows := cost.NewChain(pc, g.p.memory.Floats), g.rows()
	g.p.blocks(sw, func(w *semidual.Worker, k, lo, hi int) {
		block := w.Block[:(hi-lo)*m]
		for i := lo; i < hi; i++ {
			rows.row(i, block[(i-lo)*m:(i-lo+1)*m], w)
		}
		chain.Add(&w.Gemm, w.Cost[:m], dx, parts[k], block, lo, hi)
	})
	dy = parts[0]
	for _, q := range parts[1:] {
		if q != nil {
			dy.Add(dy, q)
		}
	}
	chain.Finish(dx, dy)
	return dx, dy
}

// weights returns ∂loss/∂a and ∂loss/∂b of the sharp loss.
func (g *lossGradient) weights() (da, db []float64) {
	p := g.p
	n, m := p.dims()
	da, db = p.memory.Floats(n), p.memory.Floats(m)
	// c = (α ⊕ β) − ε log T, and the system maps α ⊕ β to (α, β): u(c) = α + ε u(−log T), and the same for v.
	if !g.sourcesOnDevice(da) {
		slope := g.rows().slope
		p.sweep().Each(func(w *semidual.Worker, _ int, s rows.Span) {
			rel := w.Room(m)
			for i := s.Lo; i < s.Hi; i++ {
				c := p.g.Row(i, w.Cost)
				ref, sum := p.exponentials(i, w.Exp, c)
				kern.RowLogits(rel, slope, c, 1)
				rows.Subtract(rel, ref)
				if p.cost.Forbidden {
					rows.SkipForbidden(rel, c)
				}
				da[i] = -ref - kern.Dot(w.Exp, rel)/sum
			}
		})
	}
	for j, b := range p.b {
		if b > 0 {
			db[j] = p.own[j] + p.eps*g.ad.v[j]
		} else {
			db[j] = g.emptyColumn(j, da)
		}
	}
	if r, ok := p.g.(*semidual.ReducedCosts); ok {
		r.AddBase(da, db)
	}
	balance(p.a, da, p.b, db)
	return da, db
}

// emptyColumn returns Σᵢ q_ij (c_ij − da_i) for the conditional q of a target of weight 0: the one-sided derivative there.
func (g *lossGradient) emptyColumn(j int, da []float64) float64 {
	p := g.p
	_, m := p.dims()
	buf := make([]float64, m)
	mx, sum, mean := math.Inf(-1), 0.0, 0.0
	alpha := p.alpha
	base, rebased := p.g.(*semidual.ReducedCosts)
	for i, a := range p.a {
		if a == 0 {
			continue
		}
		c, al := p.g.Row(i, buf)[j], alpha[i]
		if rebased {
			al -= base.Source(i)
		}
		v := (al - c) / p.eps
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
