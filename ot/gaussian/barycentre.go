package gaussian

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Barycentre finds the Wasserstein barycentre of Gaussians, argmin Σ w_k W₂²(p, p_k), a Gaussian too, by the fixed
// point
//
//	S ← T S T,   T = Σ w_k T_k,   T_k the optimal map from N(0,S) to N(0,A_k),
//
// which decreases the objective at every step. The zero value works.
type Barycentre struct {
	Tol     float64 // stops when every entry of T − I is below it in size; 0 means 1e-12
	MaxIter int     // 0 means 1000
}

// A Centre is a barycentre and the state of the iteration that found it.
type Centre struct {
	Normal
	Objective  float64 // Σ w_k W₂²(p, p_k)
	Iterations int
	Residual   float64 // max |T − I|, zero at the barycentre
	Converged  bool    // Residual ≤ Tol
}

// Solve returns the barycentre of ps with weights w (nil for uniform), which are scaled to sum to 1. At least one
// covariance of positive weight must be invertible, which makes the barycentre unique and invertible. O(d³) for each
// measure and iteration; a stop at MaxIter is reported in the result.
func (b Barycentre) Solve(ctx context.Context, w []float64, ps []Normal) (*Centre, error) {
	w, err := checkMeasures(w, ps)
	if err != nil {
		return nil, err
	}
	tol, limit := b.Tol, b.MaxIter
	if tol == 0 {
		tol = 1e-12
	}
	if limit == 0 {
		limit = 1000
	}
	d := ps[0].Dim()
	c := &Centre{Normal: Normal{Mean: make([]float64, d), Cov: mat.NewSymDense(d, nil)}}
	for k, p := range ps {
		for i := range d {
			c.Mean[i] += w[k] * p.mean(i)
			for j := i; j < d; j++ {
				c.Cov.SetSym(i, j, c.Cov.At(i, j)+w[k]*p.Cov.At(i, j))
			}
		}
	}
	for !c.Converged && c.Iterations < limit {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("ot/gaussian: barycentre stopped: %w", context.Cause(ctx))
		}
		if err := c.step(w, ps); err != nil {
			return nil, err
		}
		c.Converged = c.Residual <= tol
	}
	for k, p := range ps {
		v, err := Wasserstein(c.Normal, p)
		if err != nil {
			return nil, err
		}
		c.Objective += w[k] * v
	}
	return c, nil
}

// step moves the covariance by one iteration and returns the residual.
func (c *Centre) step(w []float64, ps []Normal) error {
	d := c.Dim()
	mean := mat.NewSymDense(d, nil)
	for k, p := range ps {
		if w[k] == 0 {
			continue
		}
		t, err := transport("barycentre", c.Cov, fmt.Sprintf("ps[%d].Cov", k), p.Cov)
		if err != nil {
			return err
		}
		t.ScaleSym(w[k], t)
		mean.AddSym(mean, t)
	}
	c.Cov = sandwich(mean, c.Cov)
	c.Iterations++
	c.Residual = 0
	for i := range d {
		for j := range i + 1 {
			identity := 0.
			if i == j {
				identity = 1
			}
			c.Residual = max(c.Residual, math.Abs(mean.At(i, j)-identity))
		}
	}
	return nil
}

// checkMeasures checks the measures and returns their weights, scaled to sum to 1.
func checkMeasures(w []float64, ps []Normal) ([]float64, error) {
	switch {
	case len(ps) == 0:
		return nil, fmt.Errorf("ot/gaussian: len(ps) = 0: %w", ErrShape)
	case w != nil && len(w) != len(ps):
		return nil, fmt.Errorf("ot/gaussian: len(w) = %d, want %d: %w", len(w), len(ps), ErrShape)
	}
	scaled := make([]float64, len(ps))
	total := 0.
	invertible := false
	for k, p := range ps {
		name := fmt.Sprintf("ps[%d]", k)
		if err := p.check(name); err != nil {
			return nil, err
		}
		if p.Dim() != ps[0].Dim() {
			return nil, fmt.Errorf("ot/gaussian: %s has dimension %d, ps[0] %d: %w", name, p.Dim(), ps[0].Dim(), ErrShape)
		}
		s, err := decompose(name+".Cov", p.Cov)
		if err != nil {
			return nil, err
		}
		scaled[k] = 1
		if w != nil {
			scaled[k] = w[k]
		}
		if !(scaled[k] >= 0) || math.IsInf(scaled[k], 1) {
			return nil, fmt.Errorf("ot/gaussian: w[%d] = %v: must be finite and non-negative: %w", k, scaled[k], ErrParameter)
		}
		total += scaled[k]
		invertible = invertible || scaled[k] > 0 && s.invertible(name) == nil
	}
	if total == 0 || math.IsInf(total, 1) {
		return nil, fmt.Errorf("ot/gaussian: w sums to %v: %w", total, ErrParameter)
	}
	if !invertible {
		return nil, fmt.Errorf("ot/gaussian: ps: no covariance of positive weight is invertible: %w", ErrSingular)
	}
	for k := range scaled {
		scaled[k] /= total
	}
	return scaled, nil
}
