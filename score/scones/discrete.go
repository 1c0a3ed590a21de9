package scones

import (
	"math"
	"math/rand/v2"

	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/score/internal/soft"

	"gonum.org/v1/gonum/mat"
)

// Discrete extends a potential of a discrete plan beyond its points, by the equation that it solves
// on them. With atoms x_i of weight a_i on the other side and their potentials φ_i, ψ(y) is the
// root of
//
//	Σ_i a_i M((φ_i + ψ − c(x_i, y))/λ) = 1,     ∇ψ(y) = Σ_i w_i ∇_y c(x_i, y),     w_i ∝ a_i M′(u_i),
//
// which under KL is the soft minimum ψ(y) = λ − λ log Σ_i a_i exp((φ_i − c(x_i, y))/λ), smooth, and
// concave against the cost (Lemma B.4). Under ChiSquare the w are equal on the atoms coupled with
// y, and 0 elsewhere. It is immutable and safe for concurrent use.
type Discrete struct {
	atoms *mat.Dense
	f     fdiv.Divergence
	unit  float64 // c = unit·|x−y|²
	// each calls visit, from many goroutines, with the potential at each row of x, the weights w_j
	// ∝ a_j g(u_j) of the atoms, of sum one, and the mean of the atoms under them; with a nil g
	// these may be missing. Both are valid during the call only.
	each func(x *mat.Dense, g func(u float64) float64, visit func(i int, value float64, mean, w []float64))
}

// NewDiscrete returns the potential on one side that follows, under KL, from potentials phi of
// atoms x (m×d) with weights a on the other side, at λ and the cost |x−y|² or its mean. nil weights
// are equal. x is copied.
func NewDiscrete(x *mat.Dense, a, phi []float64, lambda float64, mean bool) (*Discrete, error) {
	m, d := x.Dims()
	if m == 0 || len(phi) != m || a != nil && len(a) != m {
		return nil, misfit("%d×%d atoms, %d potentials, %d weights", m, d, len(phi), len(a))
	}
	if err := (Compatibility{Lambda: lambda}).Check(); err != nil {
		return nil, err
	}
	if err := checkPoints("x", x); err != nil {
		return nil, err
	}
	h, total := make([]float64, m), 0.0
	for i := range h {
		w := 1 / float64(m)
		if a != nil {
			w = a[i]
		}
		if total += w; !(w >= 0) || math.IsInf(w, 1) || math.IsNaN(phi[i]) || math.IsInf(phi[i], 0) {
			return nil, bad("atom %d has weight %g and potential %g", i, w, phi[i])
		}
		h[i] = math.Log(w) + phi[i]/lambda
		if math.IsNaN(h[i]) || math.IsInf(h[i], 1) || w > 0 && math.IsInf(h[i], -1) {
			return nil, bad("atom %d has potential %g at lambda = %g: their quotient must be finite",
				i, phi[i], lambda)
		}
	}
	if total == 0 {
		return nil, bad("all %d weights are 0", m)
	}
	points, u := soft.New(x, h), unit(d, mean)
	each := func(x *mat.Dense, _ func(float64) float64, visit func(int, float64, []float64, []float64)) {
		points.Weights(x, u/lambda, func(i int, lse float64,
			mean, w []float64) {
			visit(i, lambda-lambda*lse, mean, w)
		})
	}
	return &Discrete{atoms: mat.DenseCopyOf(x), f: fdiv.KL, unit: u, each: each}, nil
}

// unit is the factor of |x−y|² in the cost.
func unit(d int, mean bool) float64 {
	if mean {
		return 1 / float64(d)
	}
	return 1
}

// FromPlan returns both potentials of a plan between the rows of x and of y, solved at the cost |x−y|² or its mean over
// coordinates, for Compatibility{F: KL, Lambda: plan.Eps}. On the points they are those of the plan plus λ/2, up to its
// marginal error.
func FromPlan(plan *ot.Plan, x, y *mat.Dense, mean bool) (phi, psi *Discrete, err error) {
	half := func(f []float64) []float64 {
		out := make([]float64, len(f))
		for i, v := range f {
			out[i] = v + plan.Eps/2
		}
		return out
	}
	if phi, err = NewDiscrete(y, plan.B, half(plan.G), plan.Eps, mean); err != nil {
		return nil, nil, err
	}
	psi, err = NewDiscrete(x, plan.A, half(plan.F), plan.Eps, mean)
	return phi, psi, err
}

// Dim returns d.
func (p *Discrete) Dim() int { _, d := p.atoms.Dims(); return d }

// Eval implements Potential. Cost N·m·(d + one exponential), or, under other divergences than KL, a
// root for each point; its value is NaN where the costs of y overflow.
func (p *Discrete) Eval(value []float64, grad, y *mat.Dense) error {
	if err := CheckEval(p.Dim(), value, grad, y); err != nil {
		return err
	}
	slope := p.f.Curvature
	if grad == nil {
		slope = nil
	}
	p.each(y, slope, func(i int, v float64, mean, _ []float64) {
		if value != nil {
			value[i] = v
		}
		if grad != nil {
			g := grad.RawRowView(i)
			for k, at := range y.RawRowView(i) {
				g[k] = 2 * p.unit * (at - mean[k])
			}
		}
	})
	return nil
}

// Barycentric returns where each row of x goes on average: Σ_j w_j y_j over the atoms, the barycentric projection of
// Seguy et al. (2018) when the atoms are the target's and x are sources.
func (p *Discrete) Barycentric(x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n, d, nil)
	p.each(x, p.f.Compatibility, func(i int, _ float64, mean, _ []float64) { out.SetRow(i, mean) })
	return out
}

// Draw returns the number of an atom for each row of x, drawn from the conditional law of the discrete plan.
func (p *Discrete) Draw(rng *rand.Rand, x *mat.Dense) []int {
	n, _ := x.Dims()
	out, coins := make([]int, n), make([]float64, n)
	for i := range coins {
		coins[i] = rng.Float64()
	}
	p.each(x, p.f.Compatibility, func(i int, _ float64, _, w []float64) {
		sum := 0.0
		for j, v := range w {
			if v > 0 {
				out[i] = j // if rounding leaves the coin above the sum
			}
			if sum += v; sum > coins[i] {
				break
			}
		}
	})
	return out
}

// DrawPoints returns the atoms that Draw draws, one for each row of x.
func (p *Discrete) DrawPoints(rng *rand.Rand, x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n, d, nil)
	for i, j := range p.Draw(rng, x) {
		out.SetRow(i, p.atoms.RawRowView(j))
	}
	return out
}

// Conditional returns for each row of x the weights of the atoms in the conditional law of the discrete plan, N×m.
func (p *Discrete) Conditional(x *mat.Dense) *mat.Dense {
	n, _ := x.Dims()
	m, _ := p.atoms.Dims()
	out := mat.NewDense(n, m, nil)
	p.each(x, p.f.Compatibility, func(i int, _ float64, _, w []float64) { out.SetRow(i, w) })
	return out
}
