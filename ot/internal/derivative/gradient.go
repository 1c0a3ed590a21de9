package derivative

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/internal/geometry"
	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"
)

// EntropyField is −log T, which is c/ε less potentials.
func EntropyField(_ int, dst, _, logT []float64) {
	kern.Scale(dst, -1, logT)
}

// Gradient is the gradient of a loss at a plan, whose linear system has been solved.
type Gradient struct {
	Plan    *transport.Plan
	Adjoint *Adjoint // of the field −ε log T; nil for the regularised losses
}

// lossRows computes rows of ∂loss/∂c: for the sharp loss T∘(1 + w), where w is (β + εv − c − ref)/ε
// less its mean under T.
type lossRows struct {
	g     *Gradient
	slope []float64 // β + εv, 0 where the weight is 0; nil for the regularised losses
}

func (g *Gradient) rows() lossRows { return lossRows{g, g.Slopes(g.Plan.Own)} }

// Slopes is β + εv, 0 where the weight is 0, and nil for the regularised losses.
func (g *Gradient) Slopes(beta []float64) []float64 {
	if g.Adjoint == nil {
		return nil
	}
	s := g.Plan.Memory.Zeros(len(beta))
	for j, b := range g.Plan.B {
		if b > 0 {
			s[j] = beta[j] + g.Plan.Eps*g.Adjoint.v[j]
		}
	}
	return s
}

// row writes row i of ∂loss/∂c to dst, of the listed pairs where the geometry lists them.
func (r lossRows) row(i int, dst []float64, w *semidual.Worker) {
	p := r.g.Plan
	arcs := p.Arcs(w, i)
	mass := p.Mass[i]
	if r.slope == nil || mass == 0 {
		copy(dst, arcs.T)
		return
	}
	r.relative(dst, w, &arcs)
	for range 2 { // the second mean removes the rounding of the first
		rows.Subtract(dst, kern.Dot(dst, arcs.T)/mass)
	}
	kern.Mul(dst, dst, arcs.T)
	kern.Scale(dst, 1/p.Eps, dst)
	kern.Axpy(dst, 1, arcs.T)
}

// relative writes the slope less costs and less ref, 0 for forbidden pairs.
func (r lossRows) relative(dst []float64, w *semidual.Worker, arcs *transport.Arcs) {
	kern.RowLogits(dst, arcs.Gather(w.Cost, r.slope), arcs.Costs, 1)
	rows.Subtract(dst, arcs.Ref)
	if r.g.Plan.Cost.Forbidden {
		rows.SkipForbidden(dst, arcs.Costs)
	}
}

// Pairs returns ∂loss/∂c at the allowed pairs, source by source, of a geometry that lists them.
func (g *Gradient) Pairs(l geometry.Listed) []float64 {
	n, _ := g.Plan.Dims()
	starts := make([]int, n+1)
	for i := range n {
		to, _ := l.Arcs(i)
		starts[i+1] = starts[i] + len(to)
	}
	out, of := make([]float64, starts[n]), g.rows()
	g.Plan.Sweep().EachRow(func(w *semidual.Worker, _, i int) { of.row(i, out[starts[i]:starts[i+1]], w) })
	return out
}

// Matrix returns ∂loss/∂c, n×m.
func (g *Gradient) Matrix() *mat.Dense {
	n, m := g.Plan.Dims()
	out := mat.NewDense(n, m, nil)
	if l := semidual.Listing(g.Plan.Geometry); l != nil {
		pairs := g.Pairs(l)
		for i := range n {
			to, _ := l.Arcs(i)
			laplacian.Scatter(out.RawRowView(i), pairs[:len(to)], 1, to)
			pairs = pairs[len(to):]
		}
		return out
	}
	of := g.rows()
	g.Plan.Sweep().EachRow(func(w *semidual.Worker, _, i int) { of.row(i, out.RawRowView(i), w) })
	return out
}

// maxGradientSpans bounds the number of m×d partial sums of the gradient by targets.
const maxGradientSpans = 16

// Points returns the gradients with respect to the points asked for, by the chain rule.
func (g *Gradient) Points(wantX, wantY bool) (dx, dy *mat.Dense) {
	if dx, dy, ok := g.pointsOnDevice(wantX, wantY); ok {
		return dx, dy
	}
	pc := g.Plan.Points()
	n, m := g.Plan.Dims()
	_, d := pc.X().Dims()
	sw := g.Plan.Sweep()
	if wantX {
		dx = g.Plan.Memory.Dense(n, d)
	}
	parts := make([]*mat.Dense, len(sw.Spans))
	if wantY {
		sw = &semidual.Sweep{Spans: rows.Merge(sw.Spans, maxGradientSpans), Scratch: sw.Scratch}
		for k := range sw.Spans {
			parts[k] = g.Plan.Memory.Dense(m, d)
		}
	}
	chain, rows := geometry.NewChain(pc, g.Plan.Memory.Floats), g.rows()
	g.Plan.Blocks(sw, func(w *semidual.Worker, k, lo, hi int) {
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

// Weights returns ∂loss/∂a and ∂loss/∂b of the sharp loss.
func (g *Gradient) Weights() (da, db []float64) {
	p := g.Plan
	n, m := p.Dims()
	da, db = p.Memory.Floats(n), p.Memory.Floats(m)
	if p.Separable() {
		return g.gridWeights()
	}
	// c = (α ⊕ β) − ε log T, and the system maps α ⊕ β to (α, β): u(c) = α + ε u(−log T), and the
	// same for v.
	if !g.sourcesOnDevice(da) {
		of := g.rows()
		p.Sweep().EachRow(func(w *semidual.Worker, _, i int) {
			arcs := p.Relative(w, i)
			if da[i] = -arcs.Ref; arcs.Sum > 0 {
				rel := w.Room(m)[:len(arcs.T)]
				of.relative(rel, w, &arcs)
				da[i] -= kern.Dot(arcs.T, rel) / arcs.Sum
			}
		})
	}
	for j, b := range p.B {
		if b > 0 {
			db[j] = p.Own[j] + p.Eps*g.Adjoint.v[j]
		} else {
			db[j] = g.emptyColumn(j, da)
		}
	}
	if r, ok := p.Costs.(*semidual.ReducedCosts); ok {
		r.AddBase(da, db)
	}
	transport.Balance(p.A, da, p.B, db)
	return da, db
}

// emptyColumn returns Σᵢ q_ij (c_ij − da_i) for the conditional q of a target of weight 0: the
// one-sided derivative there, +Inf where it has no allowed pair.
func (g *Gradient) emptyColumn(j int, da []float64) float64 {
	p := g.Plan
	n, m := p.Dims()
	c, q, buf := make([]float64, n), slices.Clone(p.Alpha), make([]float64, m)
	base, rebased := p.Costs.(*semidual.ReducedCosts)
	for i := range c {
		if c[i] = p.CostAt(i, j, buf); rebased {
			q[i] -= base.Source(i)
		}
	}
	top, sum := rows.Softmax(q, q, c, 1/p.Eps)
	if sum == 0 {
		return -top
	}
	var mean float64
	for i, v := range q {
		if v > 0 {
			mean += v * (c[i] - da[i])
		}
	}
	return mean / sum
}

// gridWeights is Weights for a separable geometry: ∂a is the mean of c − ∂b in a row of T, and ∂b
// of a target of weight 0 that of c − ∂a in its column.
func (g *Gradient) gridWeights() (da, db []float64) {
	p := g.Plan
	db = p.Memory.Zeros(len(p.B))
	for j, b := range p.B {
		if b > 0 {
			db[j] = -p.Own[j] - p.Eps*g.Adjoint.v[j]
		}
	}
	da = p.Expect(db, false, true)
	kern.Scale(db, -1, db)
	less := p.Memory.Clone(da)
	kern.Scale(less, -1, less)
	var columns []float64
	for j, b := range p.B {
		if b == 0 {
			if columns == nil {
				columns = p.Expect(less, true, true)
			}
			db[j] = columns[j]
		}
	}
	transport.Balance(p.A, da, p.B, db)
	return da, db
}
