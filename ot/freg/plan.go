package freg

import (
	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/fdiv"
	"coupling/ot/internal/rows"
)

// Plan is the optimal plan of a Solver, up to MarginalL1, with its potentials and a certificate:
//
//	T_ij = a_i b_j M_f(u_ij),   u_ij = (φ_i + ψ_j − c_ij)/λ.
//
// The n×m matrix is made only by the methods that return it. A Plan is not changed by its methods and is safe for
// concurrent use.
type Plan struct {
	// Geometry and the normalised weights that were solved.
	Geometry cost.Geometry
	A, B     []float64
	// F and Lambda are the divergence and the λ of the plan.
	F      fdiv.Divergence
	Lambda float64
	// Phi and Psi are the potentials, with ⟨a,φ⟩ = ⟨b,ψ⟩. Where the weight is 0 they too solve the
	// equation of their row or column, the limit of a vanishing weight: finite, or +Inf
	// where all pairs with weight are forbidden.
	Phi, Psi []float64
	// Dual is the value of the potentials, a lower bound of the optimal value whatever the Status.
	Dual float64
	// Primal is the objective of Feasible, an upper bound of the optimal value, and Sharp its part
	// ⟨T,c⟩.
	Primal, Sharp float64
	// Gap is Primal − Dual, computed as a sum of non-negative terms: neither Dual nor Primal, nor
	// the plan Feasible, is farther than Gap from optimal. Where costs of +Inf forbid pairs, plans
	// are not rounded: Feasible is Matrix, and Gap is |Primal − Dual|, of the order of MarginalL1,
	// which proves nothing.
	Gap float64
	// MarginalL1 is Σ|T1−a| + Σ|Tᵀ1−b|.
	MarginalL1 float64
	// Status is Converged where MarginalL1 is at most Tol and Gap is small against the costs as
	// well, at most (1e3 Tol + 1e-10) (λ + the range of the costs): the marginal error alone does
	// not show that a column of tiny weight is far from it.
	Status ot.Status
	// Iterations counts Newton steps, Evaluations passes over the costs.
	Iterations, Evaluations int

	s     *semidual // of the last evaluation
	psi   []float64 // for the reduced costs of s
	round rounding
}

// finish makes the plan of the last evaluation.
func (r *run) finish() *Plan {
	s := r.s
	in := s.instance
	p := &Plan{
		Geometry: in.g, A: in.full.a, B: in.full.b, F: r.F, Lambda: r.Lambda,
		MarginalL1: s.err, Status: r.status, Iterations: r.iter, Evaluations: s.evals, s: s, psi: r.psi,
	}
	p.potentials()
	p.certify()
	if p.Status == ot.Converged && !(p.Gap <= (1e3*r.Tol+1e-10)*(r.Lambda+in.cost.Max-in.cost.Min)) {
		p.Status = ot.Stagnated
	}
	return p
}

// potentials fills Phi and Psi.
func (p *Plan) potentials() {
	in, s := p.s.instance, p.s
	_, offset := familyOf(p.F)
	phi, psi := make([]float64, len(in.a)), append([]float64(nil), p.psi...)
	s.phi(phi)
	for i := range phi {
		phi[i] += s.lambda * offset
	}
	if in.u != nil {
		kern.Axpy(phi, 1, in.u)
		kern.Axpy(psi, 1, in.v)
	}
	shift := (rows.Dot(in.a, phi) - rows.Dot(in.b, psi)) / 2
	p.Phi, p.Psi = make([]float64, len(p.A)), make([]float64, len(p.B))
	for l, i := range in.rows {
		p.Phi[i] = phi[l] - shift
	}
	for l, j := range in.cols {
		p.Psi[j] = psi[l] + shift
	}
	p.zeroWeightPotentials()
}

// Dims returns the number of sources and of targets.
func (p *Plan) Dims() (n, m int) { return len(p.A), len(p.B) }

// each calls f for every source l of positive weight, with its row computed.
func (p *Plan) each(f func(r *row, l int)) { p.eachIn(func(r *row, _, l int) { f(r, l) }) }

// eachIn is each with the index of the span that the source is in.
func (p *Plan) eachIn(f func(r *row, k, l int)) {
	newSweep(p.s.instance, 0).Each(func(r *row, k int, sp rows.Span) {
		for l := sp.Lo; l < sp.Hi; l++ {
			p.s.recomputeRow(r, l, p.psi)
			f(r, k, l)
		}
	})
}

// Matrix returns T, n×m, as a new matrix. Its entries are exactly 0 where the weight is, and where M_f is, which under
// ChiSquare and Pearson is almost everywhere for small λ.
func (p *Plan) Matrix() *mat.Dense {
	return p.matrix(func(r *row, _ int) []float64 { return r.t })
}

// matrix returns the n×m matrix with the rows a_l·of(row of source l).
func (p *Plan) matrix(of func(r *row, l int) []float64) *mat.Dense {
	n, m := p.Dims()
	out := mat.NewDense(n, m, nil)
	in := p.s.instance
	p.each(func(r *row, l int) {
		dst, t := out.RawRowView(in.rows[l]), of(r, l)
		for q, j := range in.cols {
			dst[j] = in.a[l] * t[q]
		}
	})
	return out
}

// mustLen panics when a vector has the wrong length: an index invariant, as in gonum.
func mustLen(name string, got, want int) {
	if got != want {
		panic(bad(ot.ErrShape, "%s: length %d, want %d", name, got, want))
	}
}
