package freg

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/internal/rows"
)

// rounding makes a plan feasible (Altschuler, Weed and Rigollet 2017, algorithm 2): rows and then
// columns with too much mass are scaled down, and the missing mass, er in the rows and ec in the
// columns, is added as er ecᵀ/Σ er. In densities, with er and ec per unit of weight:
//
//	v′_ij = ρ_i γ_j v_ij + er_i ec_j/missing.
//
// It moves mass by at most twice the marginal error.
type rounding struct {
	rho, gamma []float64
	er, ec     []float64
	missing    float64
}

// density returns the feasible densities of source l, into dst.
func (t *rounding) density(dst, v []float64, l int) {
	if t.rho == nil {
		copy(dst, v)
		return
	}
	rho, er := t.rho[l], 0.0
	if t.missing > 0 {
		er = t.er[l] / t.missing
	}
	kern.Mul(dst, t.gamma, v)
	kern.Scale(dst, rho, dst)
	kern.Axpy(dst, er, t.ec)
}

// newRounding takes two passes.
func newRounding(p *Plan) rounding {
	a, b := p.s.a, p.s.b
	n, m := len(a), len(b)
	t := rounding{rho: make([]float64, n), gamma: make([]float64, m), er: make([]float64, n), ec: make([]float64, m)}
	col := make([]float64, m)
	newSweep(p.s.instance, 0).Columns(col, func(r *row, _ int, sp rows.Span, sum []float64) {
		for l := sp.Lo; l < sp.Hi; l++ {
			p.s.recomputeRow(r, l, p.psi)
			t.rho[l] = min(1, 1/kern.Sum(r.t))
			kern.Axpy(sum, a[l]*t.rho[l], r.t)
		}
	})
	for j, c := range col {
		t.gamma[j] = 1
		if c > b[j] {
			t.gamma[j] = b[j] / c
		}
		t.ec[j] = max(0, 1-t.gamma[j]*c/b[j])
	}
	p.each(func(r *row, l int) { t.er[l] = max(0, 1-t.rho[l]*kern.Dot(r.t, t.gamma)) })
	// The two sums differ by rounding, which may exceed the smaller; dividing by the larger leaves
	// no row or column with too much mass.
	t.missing = max(rows.Dot(a, t.er), rows.Dot(b, t.ec))
	return t
}

// certify fills the values. Let v be the densities of Feasible, T′, and u = (φ ⊕ ψ − c)/λ.
//
// Weak duality. For every u below the bound and v ≥ 0, f(v) + f*(u) − uv ≥ 0 (Fenchel and Young). Weighting by
// λ a_i b_j and adding up, with T′1 = a and T′ᵀ1 = b in the last term,
//
//	0 ≤ λ Σ a_i b_j [f(v_ij) + f*(u_ij) − u_ij v_ij]
//	  = λ D_f(T′‖a⊗b) + λ Σ a_i b_j f*(u_ij) − ⟨a,φ⟩ − ⟨b,ψ⟩ + ⟨T′,c⟩ = Primal − Dual.
//
// It holds for any feasible T′ and any potentials in the domain, so that Dual ≤ optimal value ≤
// Primal and the sum, which is Gap, bounds the suboptimality of T′ and of the potentials. Each term
// is evaluated without cancellation, see density.excess, and so is the dual: ⟨a,φ⟩ + ⟨b,ψ⟩ = Σ a_i
// b_j (λu_ij + c_ij) makes it
//
//	Dual = ⟨a⊗b,c⟩ + λ f(1) − λ Σ a_i b_j [f(1) + f*(u_ij) − u_ij],
//
// the value of the product plan less what it is worse by, in which no potential appears but those
// of forbidden pairs, whose u is −∞.
func (p *Plan) certify() {
	s, in := p.s, p.s.instance
	if !in.cost.Forbidden {
		p.round = newRounding(p)
	}
	k := len(s.sw.Spans)
	sharp, div, gap, below := make([]rows.Sum, k), make([]rows.Sum, k), make([]rows.Sum, k), make([]rows.Sum, k)
	p.eachIn(func(r *row, span, l int) {
		v := r.p // scratch
		p.round.density(v, r.v, l)
		c := in.pack(in.g.Row(in.rows[l], r.full), r.pack)
		var st, sd, sg, sb float64
		rest := in.b
		if s.f == ramp && !in.cost.Forbidden {
			st, sd, sg, sb = r.rampTerms(in.b, v, c)
			rest = nil
		}
		for j, b := range rest {
			if math.IsInf(c[j], 1) {
				sd += b * p.F.F(0)
				sb += b * (p.F.F(1) - p.F.F(0) - (p.Phi[in.rows[l]]+p.Psi[in.cols[j]])/p.Lambda) // f*(−∞) = −f(0)
				continue
			}
			x := r.x - r.d[j]
			st += b * v[j] * c[j]
			sd += b * p.F.F(v[j])
			sg += b * s.f.excess(v[j], r.v[j], x)
			sb += b * s.f.excess(1, r.v[j], x)
		}
		a := in.a[l]
		sharp[span].Add(a * st)
		div[span].Add(a * sd)
		gap[span].Add(a * sg)
		below[span].Add(a * sb)
	})
	p.Sharp = total(sharp)
	p.Primal = p.Sharp + p.Lambda*total(div)
	p.Gap = max(0, p.Lambda*total(gap))
	p.Dual = in.cost.Mean*in.cost.Mass + p.Lambda*p.F.F(1) - p.Lambda*total(below)
	if in.cost.Forbidden {
		p.Gap = math.Abs(p.Primal - p.Dual)
	}
}

// total adds up the sums of the spans.
func total(parts []rows.Sum) float64 {
	var t rows.Sum
	for _, s := range parts {
		t.Join(s)
	}
	return t.Value()
}

// Feasible returns the plan, n×m, whose Primal, Sharp and Gap the certificate gives: T rounded to
// exact marginals by the method of Altschuler, Weed and Rigollet (2017). It differs from Matrix by
// at most 2 MarginalL1 in total, and it is dense even where T is sparse.
func (p *Plan) Feasible() *mat.Dense {
	return p.matrix(func(r *row, l int) []float64 {
		p.round.density(r.v, r.v, l)
		kern.Mul(r.t, p.s.b, r.v)
		return r.t
	})
}
