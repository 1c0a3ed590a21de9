package gaussian

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/ot/internal/fault"
)

// ErrUnconverged reports a fixed point that was not reached.
var ErrUnconverged = fault.Sub("not converged", fault.ErrUnsupported)

// Barycentre returns the Gaussian that minimises Σ_k w_k W₂²(p_k, ·), among all measures, for
// weights that are divided by their sum (nil: equal ones). Its mean is Σ_k w_k m_k, and its
// covariance S is the fixed point of
//
//	S ← M Mᵀ,   M = Σ_k w_k T_k S^½ = Σ_k w_k A_k^½ V_k U_kᵀ,   U_k σ_k V_kᵀ = S^½ A_k^½,
//
// T_k being the map to p_k (Álvarez-Esteban, del Barrio, Cuesta-Albertos and Matrán 2016). No step
// raises the objective, and none has an inverse, so that covariances may be singular. It stops when
// a step moves S by at most 1e-14 d of its norm; the error is ErrUnconverged after 10,000 steps,
// each O(d³) for each measure.
func Barycentre(ctx context.Context, p []Normal, w []float64) (Normal, error) {
	roots, w, err := prepare(p, w)
	if err != nil {
		return Normal{}, err
	}
	d := p[0].Dim()
	mean, cov := make([]float64, d), mat.NewSymDense(d, nil)
	for k := range p {
		floats.AddScaled(mean, w[k], p[k].means())
		part := mat.NewSymDense(d, nil)
		part.ScaleSym(w[k], p[k].Cov)
		cov.AddSym(cov, part)
	}
	for range 10_000 {
		if err := ctx.Err(); err != nil {
			return Normal{}, fmt.Errorf("ot/gaussian: stopped: %w", context.Cause(ctx))
		}
		next, err := step(cov, roots, w)
		if err != nil {
			return Normal{}, err
		}
		var moved mat.Dense
		moved.Sub(next, cov)
		if cov = next; mat.Norm(&moved, 2) <= 1e-14*float64(d)*mat.Norm(cov, 2) {
			return Normal{Mean: mean, Cov: cov}, nil
		}
	}
	return Normal{}, fmt.Errorf("ot/gaussian: Barycentre: still moving after 10,000 steps: %w", ErrUnconverged)
}

// prepare checks measures and weights and returns the roots of the covariances.
func prepare(p []Normal, w []float64) (roots []*mat.SymDense, normalised []float64, err error) {
	if len(p) == 0 {
		return nil, nil, fmt.Errorf("ot/gaussian: there must be a measure: %w", ErrShape)
	}
	if w, err = weights(w, len(p), "measures"); err != nil {
		return nil, nil, err
	}
	for k, q := range p {
		name := fmt.Sprintf("p[%d]", k)
		if err := q.check(name); err != nil {
			return nil, nil, err
		}
		if q.Dim() != p[0].Dim() {
			return nil, nil, fmt.Errorf("ot/gaussian: p[0] has dimension %d, %s %d: %w", p[0].Dim(), name, q.Dim(),
				ErrShape)
		}
		s, err := decompose(name+".Cov", q.Cov)
		if err != nil {
			return nil, nil, err
		}
		roots = append(roots, s.sqrt())
	}
	return roots, w, nil
}

// step returns M Mᵀ.
func step(cov *mat.SymDense, roots []*mat.SymDense, w []float64) (*mat.SymDense, error) {
	d := cov.SymmetricDim()
	s, err := decompose("barycentre", cov)
	if err != nil {
		return nil, err
	}
	m := mat.NewDense(d, d, nil)
	for k, b := range roots {
		r, err := multiplyRoots(s.sqrt(), b)
		if err != nil {
			return nil, err
		}
		// Directions that S^½ A_k^½ annihilates carry nothing: their singular vectors are
		// arbitrary.
		r.v.Apply(func(_, j int, v float64) float64 {
			if r.σ[j] <= float64(d)*0x1p-52*r.σ[0] {
				return 0
			}
			return v * w[k]
		}, &r.v)
		var part mat.Dense
		part.Product(b, &r.v, r.u.T())
		m.Add(m, &part)
	}
	next := mat.NewSymDense(d, nil)
	next.SymOuterK(1, m)
	return next, nil
}
