package derivative

import (
	"context"
	"slices"

	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"

	"gonum.org/v1/gonum/mat"
)

// SystemOn is the network of the sharp loss: D by products, its diagonal, and the currents of −log
// T.
func SystemOn(d *transport.DevicePlan) (h *Hessian, rhs []float64) {
	p := d.P
	h = NewHessian(d.N, d.M, nil)
	h.MatrixFree = p
	h.Col = d.TimesT(transport.Ones(d.N))
	s := make([]float64, d.M) // β/ε, the difference of c/ε and −log T but for a constant of each row
	for j, b := range p.B {
		if b > 0 {
			s[j] = p.Beta[j] / p.Eps
		}
	}
	sharp, cols := d.Costs(d.U, d.H, d.Inv)
	rhs = d.TimesT(d.Rows(s, sharp, p.Mass))
	for j := range rhs {
		rhs[j] = cols[j]/p.Eps - h.Col[j]*s[j] - rhs[j]
	}
	return h, rhs
}

// PointsOn is the gradient of a loss with respect to the sources, or to the targets where
// transposed: s is nil for the regularised losses, else β/ε + v.
func PointsOn(d *transport.DevicePlan, s []float64, transposed bool) *mat.Dense {
	if s == nil {
		return d.PointGrad(d.U, d.H, d.Inv, transport.Ones(d.N), make([]float64, d.M), transposed, true)
	}
	kern.Scale(s, d.Inv, s)
	sharp, _ := d.Costs(d.U, d.H, d.Inv)
	return d.PointGrad(d.U, d.H, d.Inv, d.Rows(s, sharp, d.P.Mass), s, transposed, false)
}

// pointsOnDevice is points, where the device can compute it.
func (g *Gradient) pointsOnDevice(wantX, wantY bool) (dx, dy *mat.Dense, ok bool) {
	if o, here := g.Plan.Costs.(*ondevice.Geometry); !here || !o.MatrixFree() {
		return nil, nil, false
	}
	ok = g.Plan.OnDevice("a gradient", g.Adjoint != nil, func(d *transport.DevicePlan) {
		if wantX {
			dx = PointsOn(d, g.Slopes(g.Plan.Beta), false)
		}
		if wantY {
			dy = PointsOn(d, g.Slopes(g.Plan.Beta), true)
		}
	})
	return dx, dy, ok
}

// sourcesOnDevice writes ∂loss/∂a of the sharp loss, for s in the gauge of the solver's β.
func (g *Gradient) sourcesOnDevice(da []float64) bool {
	p, s := g.Plan, g.Slopes(g.Plan.Own)
	kern.Scale(s, 1/p.Eps, s)
	return p.OnDevice("a gradient", true, func(d *transport.DevicePlan) {
		d.Conditional()
		sharp, _ := d.Costs(d.U, d.H, d.Inv)
		kern.Scale(da, p.Eps, d.Rows(s, sharp, transport.Ones(d.N)))
	})
}

// Entropy solves the system of the sharp loss. On a device other than the host it uses products
// alone; the host makes a list of the entries that are not negligible, in the time of a few
// products.
func (b Settings) Entropy(ctx context.Context, p *transport.Plan) (*Adjoint, error) {
	n, m := p.Dims()
	direct := n <= maxDirect/m
	if b.Method == CG || b.Method == Automatic && (min(n, m) > maxEliminate || !direct) {
		if h, rhs := ownSystem(p); h != nil {
			out, err := b.iterateOn(ctx, p, h, rhs, 0)
			if err != nil || out.Converged || b.Method == CG || min(n, m) > maxCholesky || !direct {
				return out, err
			}
		}
	}
	return b.solve(ctx, p, EntropyField, 0)
}

// ownSystem is System of the field −log T where the geometry has one of its own, else nil.
func ownSystem(p *transport.Plan) (h *Hessian, rhs []float64) {
	switch {
	case semidual.Listing(p.Costs) != nil:
		return listedSystem(p)
	case p.Separable():
		return gridSystem(p)
	}
	n, m := p.Dims()
	if o, ok := p.Costs.(*ondevice.Geometry); ok && (o.Remote() || n > semidual.MaxList(p.Geometry)/m) &&
		p.OnDevice("a gradient", true, func(d *transport.DevicePlan) { h, rhs = SystemOn(d) }) {
		return h, rhs
	}
	return nil, nil
}

// listedSystem is System of the field −log T for a geometry that lists its pairs.
func listedSystem(p *transport.Plan) (*Hessian, []float64) {
	n, m := p.Dims()
	h, rhs, w := NewHessian(n, m, p.Memory), p.Memory.Zeros(m), p.Sweep().Scratch[0]
	clear(h.Col)
	for i := range n {
		a := p.Arcs(w, i)
		t := laplacian.Row{Idx: a.Targets, Val: slices.Clone(a.T), Sum: kern.Sum(a.T)}
		h.rows[i] = t
		laplacian.Scatter(h.Col, t.Val, 1, t.Idx)
		field := w.Room(len(t.Val))
		kern.RowLogits(field, a.Gather(w.Cost, p.Own), a.Costs, 1)
		for k, v := range field {
			if field[k] = (a.Ref - v) / p.Eps; t.Val[k] == 0 {
				field[k] = 0
			}
		}
		centre(field, t.Val, p.Mass[i])
		kern.Mul(field, field, t.Val)
		laplacian.Scatter(rhs, field, 1, t.Idx)
	}
	return h, rhs
}

// gridSystem is System of the field −log T for a separable geometry.
func gridSystem(p *transport.Plan) (*Hessian, []float64) {
	n, m := p.Dims()
	h := NewHessian(n, m, p.Memory)
	h.MatrixFree = p
	copy(h.Col, p.Columns())
	// ε times the field is c − α ⊕ β, whose mean in row i is E[c−β] − αᵢ; the rest of the field has
	// the mean E[c − β] − E[c − β]ᵢ in its columns.
	less, rhs := make([]float64, m), p.Memory.Floats(m)
	for j, b := range p.B {
		if b > 0 {
			less[j] = -p.Beta[j]
		}
	}
	mean := p.Expect(less, false, true)
	kern.Scale(mean, -1, mean)
	for j, v := range p.Expect(mean, true, true) {
		rhs[j] = h.Col[j] * (v + less[j]) / p.Eps
	}
	return h, rhs
}
