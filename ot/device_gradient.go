package ot

import (
	"context"

	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"

	"gonum.org/v1/gonum/mat"
)

// systemOn is the network of the sharp loss: D by products, its diagonal, and the currents of −log T.
func systemOn(d *transport.DevicePlan) (h *hessian, rhs []float64, err error) {
	p := d.P
	h = newHessian(d.N, d.M, nil)
	h.matrixFree = p
	if h.col, err = d.TimesT(transport.Ones(d.N)); err != nil {
		return nil, nil, err
	}
	s := make([]float64, d.M) // β/ε, the difference of c/ε and −log T but for a constant of each row
	for j, b := range p.B {
		if b > 0 {
			s[j] = p.Beta[j] / p.Eps
		}
	}
	sharp, cols, err := d.Costs(d.U, d.H, d.Inv)
	if err != nil {
		return nil, nil, err
	}
	r, err := d.Rows(s, sharp, p.Mass)
	if err != nil {
		return nil, nil, err
	}
	if rhs, err = d.TimesT(r); err != nil {
		return nil, nil, err
	}
	for j := range rhs {
		rhs[j] = cols[j]/p.Eps - h.col[j]*s[j] - rhs[j]
	}
	return h, rhs, nil
}

// pointsOn is the gradient of a loss with respect to the sources, or to the targets where transposed: s is nil for the
// regularised losses, else β/ε + v.
func pointsOn(d *transport.DevicePlan, s []float64, transposed bool) (*mat.Dense, error) {
	r, linear := transport.Ones(d.N), s == nil
	if linear {
		s = make([]float64, d.M)
	} else {
		kern.Scale(s, d.Inv, s)
		sharp, _, err := d.Costs(d.U, d.H, d.Inv)
		if err != nil {
			return nil, err
		}
		if r, err = d.Rows(s, sharp, d.P.Mass); err != nil {
			return nil, err
		}
	}
	return d.PointGrad(d.U, d.H, d.Inv, r, s, transposed, linear)
}

// pointsOnDevice is points, where the device can compute it.
func (g *lossGradient) pointsOnDevice(wantX, wantY bool) (dx, dy *mat.Dense, ok bool) {
	if o, here := g.p.Costs.(*ondevice.Geometry); !here || !o.MatrixFree() {
		return nil, nil, false
	}
	ok = g.p.OnDevice("a gradient", g.ad != nil, func(d *transport.DevicePlan) (err error) {
		if wantX {
			dx, err = pointsOn(d, g.slopes(g.p.Beta), false)
		}
		if wantY && err == nil {
			dy, err = pointsOn(d, g.slopes(g.p.Beta), true)
		}
		return err
	})
	return dx, dy, ok
}

// sourcesOnDevice writes ∂loss/∂a of the sharp loss, for s in the gauge of the solver's β.
func (g *lossGradient) sourcesOnDevice(da []float64) bool {
	p, s := g.p, g.slopes(g.p.Own)
	kern.Scale(s, 1/p.Eps, s)
	return p.OnDevice("a gradient", true, func(d *transport.DevicePlan) error {
		d.Conditional()
		sharp, _, err := d.Costs(d.U, d.H, d.Inv)
		if err != nil {
			return err
		}
		r, err := d.Rows(s, sharp, transport.Ones(d.N))
		if err == nil {
			kern.Scale(da, p.Eps, r)
		}
		return err
	})
}

// entropy solves the system of the sharp loss. On a device other than the host it uses products
// alone; the host makes a list of the entries that are not negligible, in the time of a few
// products.
func (b settings) entropy(ctx context.Context, p *transport.Plan) (*adjoint, error) {
	n, m := p.Dims()
	o, ok := p.Costs.(*ondevice.Geometry)
	large := min(n, m) > maxEliminate || n > maxDirect/m
	if ok && (b.method == cg || b.method == automatic && large) && (o.Remote() || n > semidual.MaxList(p.Geometry)/m) {
		var h *hessian
		var rhs []float64
		if p.OnDevice("a gradient", true, func(d *transport.DevicePlan) (err error) {
			h, rhs, err = systemOn(d)
			return err
		}) {
			out, err := b.iterateOn(ctx, p, h, rhs, 0)
			if err != nil || out.converged || b.method == cg || min(n, m) > maxCholesky {
				return out, err
			}
		}
	}
	return b.solve(ctx, p, entropyField, 0)
}
