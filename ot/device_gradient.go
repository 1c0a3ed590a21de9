package ot

import (
	"context"

	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/semidual"

	"gonum.org/v1/gonum/mat"
)

// systemOn is the network of the sharp loss: D by products, its diagonal, and the currents of −log T.
func systemOn(d *devicePlan) (h *hessian, rhs []float64, err error) {
	p := d.p
	h = newHessian(d.N, d.M, nil)
	h.matrixFree = p
	if h.col, err = d.timesT(ones(d.N)); err != nil {
		return nil, nil, err
	}
	s := make([]float64, d.M) // β/ε, the difference of c/ε and −log T but for a constant of each row
	for j, b := range p.b {
		if b > 0 {
			s[j] = p.beta[j] / p.eps
		}
	}
	sharp, cols, err := d.Costs(d.u, d.h, d.inv)
	if err != nil {
		return nil, nil, err
	}
	r, err := d.rows(s, sharp, p.mass)
	if err != nil {
		return nil, nil, err
	}
	if rhs, err = d.timesT(r); err != nil {
		return nil, nil, err
	}
	for j := range rhs {
		rhs[j] = cols[j]/p.eps - h.col[j]*s[j] - rhs[j]
	}
	return h, rhs, nil
}

// pointsOn is the gradient of a loss with respect to the sources, or to the targets where transposed: s is nil for the
// regularised losses, else β/ε + v.
func pointsOn(d *devicePlan, s []float64, transposed bool) (*mat.Dense, error) {
	r, linear := ones(d.N), s == nil
	if linear {
		s = make([]float64, d.M)
	} else {
		kern.Scale(s, d.inv, s)
		sharp, _, err := d.Costs(d.u, d.h, d.inv)
		if err != nil {
			return nil, err
		}
		if r, err = d.rows(s, sharp, d.p.mass); err != nil {
			return nil, err
		}
	}
	return d.PointGrad(d.u, d.h, d.inv, r, s, transposed, linear)
}

// pointsOnDevice is points, where the device can compute it.
func (g *lossGradient) pointsOnDevice(wantX, wantY bool) (dx, dy *mat.Dense, ok bool) {
	if o, here := g.p.g.(*ondevice.Geometry); !here || !o.MatrixFree() {
		return nil, nil, false
	}
	ok = g.p.onDevice("a gradient", g.ad != nil, func(d *devicePlan) (err error) {
		if wantX {
			dx, err = pointsOn(d, g.slopes(g.p.beta), false)
		}
		if wantY && err == nil {
			dy, err = pointsOn(d, g.slopes(g.p.beta), true)
		}
		return err
	})
	return dx, dy, ok
}

// sourcesOnDevice writes ∂loss/∂a of the sharp loss, for s in the gauge of the solver's β.
func (g *lossGradient) sourcesOnDevice(da []float64) bool {
	p, s := g.p, g.slopes(g.p.own)
	kern.Scale(s, 1/p.eps, s)
	return p.onDevice("a gradient", true, func(d *devicePlan) error {
		d.conditional()
		sharp, _, err := d.Costs(d.u, d.h, d.inv)
		if err != nil {
			return err
		}
		r, err := d.rows(s, sharp, ones(d.N))
		if err == nil {
			kern.Scale(da, p.eps, r)
		}
		return err
	})
}

// entropy solves the system of the sharp loss. On a device other than the host it uses products
// alone; the host makes a list of the entries that are not negligible, in the time of a few
// products.
func (b settings) entropy(ctx context.Context, p *transport) (*adjoint, error) {
	n, m := p.dims()
	o, ok := p.g.(*ondevice.Geometry)
	large := min(n, m) > maxEliminate || n > maxDirect/m
	if ok && (b.method == cg || b.method == automatic && large) && (o.Remote() || n > semidual.MaxList(p.geometry)/m) {
		var h *hessian
		var rhs []float64
		if p.onDevice("a gradient", true, func(d *devicePlan) (err error) {
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
