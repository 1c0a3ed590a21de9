package gaussian

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Entropic is entropy-regularised transport between Gaussians: it minimises E|x−y|² + Eps·KL(π‖p⊗q).
type Entropic struct {
	Eps float64 // > 0
}

// A Plan is the optimal entropic coupling of P and Q, itself Gaussian.
type Plan struct {
	P, Q Normal
	Eps  float64

	Forward  *mat.SymDense // K, the regression matrix of y on x: E[y|x] = m_q + K (x − m_p)
	Backward *mat.SymDense // the same of x on y

	Transport float64 // E|x−y|², the sharp value
	KL        float64 // KL(π‖p⊗q), the mutual information in nats
	Value     float64 // Transport + Eps·KL

	s     float64 // Eps/2
	cross float64 // tr Cov(x, y)

	covariance *mat.Dense // Cov(x, y)
}

// Solve returns the optimal plan between p and q, whose covariances may be singular. O(d³).
func (e Entropic) Solve(p, q Normal) (*Plan, error) {
	if !(e.Eps > 0) || math.IsInf(e.Eps, 1) {
		return nil, fmt.Errorf("ot/gaussian: Eps = %v: must be positive and finite: %w", e.Eps, ErrParameter)
	}
	if err := checkPair(p, q); err != nil {
		return nil, err
	}
	plan := &Plan{P: p, Q: q, Eps: e.Eps, s: e.Eps / 2}
	r, err := multiply("p.Cov", p.Cov, "q.Cov", q.Cov)
	if err != nil {
		return nil, err
	}
	// The eigenvalues of D are √(4σ² + s²).
	half := func(σ float64) float64 { return 2 / (math.Hypot(2*σ, plan.s) + plan.s) }
	plan.Forward = sandwich(r.rootB, rebuild(&r.v, r.σ, half))
	plan.Backward = sandwich(r.rootA, rebuild(&r.u, r.σ, half))
	plan.covariance = r.between(half)
	for _, σ := range r.σ {
		plan.cross += σ * half(σ) * σ
		plan.KL += math.Log1p(σ/plan.s*half(σ)*σ) / 2
	}
	plan.Transport = squareDistance(p, q) + mat.Trace(p.Cov) + mat.Trace(q.Cov) - 2*plan.cross
	plan.Value = plan.Transport + e.Eps*plan.KL
	if err := inRange(plan.Value, mat.Norm(plan.Forward, 1), mat.Norm(plan.Backward, 1)); err != nil {
		return nil, err
	}
	return plan, nil
}

// Cross returns Cov(x, y) = A K, d×d. It is computed as A^½ U diag(h(σ) σ) Vᵀ B^½, whose middle
// factor is at most 1, while K grows like 1/Eps off the support of a singular A.
func (t *Plan) Cross() *mat.Dense { return mat.DenseCopyOf(t.covariance) }

// Joint returns the plan as a Gaussian on ℝ²ᵈ, x before y; its Sample draws pairs.
func (t *Plan) Joint() Normal {
	d := t.P.Dim()
	cov, cross := mat.NewSymDense(2*d, nil), t.Cross()
	for i := range d {
		for j := range d {
			cov.SetSym(i, d+j, cross.At(i, j))
			if j >= i {
				cov.SetSym(i, j, t.P.Cov.At(i, j))
				cov.SetSym(d+i, d+j, t.Q.Cov.At(i, j))
			}
		}
	}
	return Normal{Mean: append(t.P.means(), t.Q.means()...), Cov: cov}
}

// Barycentric returns the barycentric projection x ↦ E[y|x].
func (t *Plan) Barycentric() Affine {
	return Affine{From: t.P.means(), To: t.Q.means(), Linear: t.Forward}
}

// Conditional returns the law of y given x, of length d. Its covariance (Eps/2) K does not depend on x.
func (t *Plan) Conditional(x []float64) Normal {
	cov := mat.NewSymDense(t.P.Dim(), nil)
	cov.ScaleSym(t.s, t.Forward)
	return Normal{Mean: t.Barycentric().Apply(nil, x), Cov: cov}
}

// F returns the potential f at x: the plan has the density exp((f(x) + g(y) − |x−y|²)/Eps) against p⊗q, and E f = E g
// = Value/2. It is the quadratic |x̃|² − x̃ᵀKx̃ + 2(m_p − m_q)ᵀx̃ plus a constant, x̃ = x − m_p.
func (t *Plan) F(x []float64) float64 { return t.potential(x, t.P, t.Q, t.Forward) }

// G returns the potential g at y, see F.
func (t *Plan) G(y []float64) float64 { return t.potential(y, t.Q, t.P, t.Backward) }

func (t *Plan) potential(x []float64, p, q Normal, k *mat.SymDense) float64 {
	d := p.Dim()
	v := mat.NewVecDense(d, nil)
	sum := 0.
	for i := range d {
		c := x[i] - p.mean(i)
		v.SetVec(i, c)
		sum += c*c + 2*(p.mean(i)-q.mean(i))*c
	}
	sum -= mat.Inner(v, k, v)
	sum -= mat.Trace(p.Cov) - t.cross // its mean
	return sum + t.Value/2
}
