package freg

import (
	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/internal/rows"
)

// GradX returns the gradient of the optimal value, n×d, with respect to the sources of a geometry of points:
// Σ_j T_ij ∂c(x_i, y_j)/∂x_i.
func (p *Plan) GradX() (*mat.Dense, error) {
	pc, err := p.differentiable()
	if err != nil {
		return nil, err
	}
	_, d := pc.X().Dims()
	out := mat.NewDense(len(p.A), d, nil)
	in := p.s.instance
	p.each(func(r *row, l int) {
		i := in.rows[l]
		x, dx := pc.X().RawRowView(i), out.RawRowView(i)
		for q, t := range r.t {
			if t > 0 {
				pc.Kind.Grad(dx, nil, in.a[l]*t, x, pc.Y().RawRowView(in.cols[q]))
			}
		}
	})
	return out, nil
}

// GradY returns the gradient of the optimal value, m×d, with respect to the targets of a geometry of points.
func (p *Plan) GradY() (*mat.Dense, error) {
	pc, err := p.differentiable()
	if err != nil {
		return nil, err
	}
	_, d := pc.Y().Dims()
	in := p.s.instance
	parts := make([]*mat.Dense, len(p.s.sw.spans))
	for k := range parts {
		parts[k] = mat.NewDense(len(p.B), d, nil)
	}
	p.eachIn(func(r *row, k, l int) {
		x := pc.X().RawRowView(in.rows[l])
		for q, t := range r.t {
			if t > 0 {
				j := in.cols[q]
				pc.Kind.Grad(nil, parts[k].RawRowView(j), in.a[l]*t, x, pc.Y().RawRowView(j))
			}
		}
	})
	for _, q := range parts[1:] {
		parts[0].Add(parts[0], q)
	}
	return parts[0], nil
}

// GradWeights returns the derivatives of the optimal value with respect to the weights,
//
//	∂/∂a_i = φ_i − λ Σ_j b_j f*(u_ij),   ∂/∂b_j = ψ_j − λ Σ_i a_i f*(u_ij),
//
// each up to a constant since masses stay 1, shifted such that ⟨a,∂a⟩ = ⟨b,∂b⟩ = half the optimal
// value. The second terms arise because the reference a⊗b changes too. For KL they are constant;
// for the other divergences they are not, so the potentials alone are not the derivatives. Where a
// weight is 0 it is the one-sided derivative.
func (p *Plan) GradWeights() (da, db []float64) {
	in, s := p.s.instance, p.s
	da, db = make([]float64, len(p.A)), make([]float64, len(p.B))
	m := len(in.b)
	part := make([]float64, len(s.sw.spans)*m)
	p.eachIn(func(r *row, k, l int) {
		c := in.pack(p.Geometry.Row(in.rows[l], r.full), r.pack)
		da[in.rows[l]] = r.independent(s.f, p.Lambda, in.b, c)
		dst := part[k*m : (k+1)*m]
		for j := range dst {
			dst[j] += in.a[l] * (c[j] - p.Lambda*s.f.excess(1, r.v[j], r.x-r.d[j]))
		}
	})
	for k := range s.sw.spans {
		for q, j := range in.cols {
			db[j] += part[k*m+q]
		}
	}
	p.eachWeightless(func(r *row, i int) {
		da[i] = r.independent(s.f, p.Lambda, in.b, in.pack(p.Geometry.Row(i, r.full), r.pack))
	})
	p.eachEmptyColumn(func(r *row, j int, c []float64) { db[j] = r.independent(s.f, p.Lambda, in.a, c) })
	centre(da, p.A, p.Dual/2)
	centre(db, p.B, p.Dual/2)
	return da, db
}

// centre shifts v such that ⟨w,v⟩ is the mean given.
func centre(v, w []float64, mean float64) {
	by := mean - rows.Dot(w, v)
	for i := range v {
		v[i] += by
	}
}

// differentiable returns the plan's geometry of points, whose cost must have a gradient.
func (p *Plan) differentiable() (*ot.PointCloud, error) {
	pc, ok := p.Geometry.(*ot.PointCloud)
	if !ok {
		return nil, bad(ot.ErrUnsupported, "the geometry is %T, want one of ot.Points", p.Geometry)
	}
	if f, ok := pc.Kind.(ot.CostFunc); ok && f.Gradient == nil {
		return nil, bad(ot.ErrUnsupported, "gradient with respect to points: CostFunc.Gradient is nil")
	}
	return pc, nil
}
