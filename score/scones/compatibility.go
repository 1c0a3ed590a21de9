package scones

import (
	"fmt"
	"math"

	"coupling/ot/fdiv"
	"coupling/score"
	"coupling/score/internal/fault"
)

// The kinds of error of this package, for errors.Is; they are those of package score.
var (
	// ErrShape reports sizes that do not fit each other or are zero.
	ErrShape = score.ErrShape
	// ErrParameter reports another argument out of range.
	ErrParameter = score.ErrParameter
)

var bad, misfit = fault.In("scones", ErrParameter), fault.In("scones", ErrShape)

// Compatibility turns potentials into a density against the product of the marginals: M(V) =
// f*′(V/λ).
type Compatibility struct {
	F      fdiv.Divergence
	Lambda float64 // > 0
	// Beta smooths the M of ChiSquare and Pearson, which is zero below a kink, so that log M has a
	// slope there: M = softplus_β(V)/2λ with softplus_β(v) = log(1 + e^βv)/β. 0 does not smooth.
	// Training does not use Beta, and a smoothed M has no Cap.
	Beta float64
	// Cap is the density above which f* is continued by its tangent parabola, so that it is finite
	// for every V: 0 is 100 for the divergences whose f* has a bounded domain, and no cap for the
	// others. Plans whose density stays below Cap do not change.
	Cap float64
}

// Check returns an error that names a field out of range.
func (k Compatibility) Check() error {
	switch {
	case !(k.Lambda > 0) || math.IsInf(k.Lambda, 1):
		return bad("lambda = %g: must be finite and > 0", k.Lambda)
	case !(k.Beta >= 0) || math.IsInf(k.Beta, 1):
		return bad("beta = %g: must be finite and ≥ 0", k.Beta)
	case k.Beta > 0 && k.F != fdiv.ChiSquare && k.F != fdiv.Pearson:
		return bad("beta = %g with %v: soft-plus smooths chi2 and pearson", k.Beta, k.F)
	case !(k.Cap >= 0):
		return bad("cap = %g: must be ≥ 0", k.Cap)
	}
	if err := k.F.Check(); err != nil {
		return fmt.Errorf("scones: %w: %w", err, ErrParameter)
	}
	return nil
}

// CheckSampling is Check, and also refuses a plan without a conditional score: one that has zeros
// and is not smoothed, which is ChiSquare and Pearson with Beta = 0.
func (k Compatibility) CheckSampling() error {
	if k.Beta == 0 && (k.F == fdiv.ChiSquare || k.F == fdiv.Pearson) {
		return bad("beta = 0 with %v: log M has no slope where M is zero", k.F)
	}
	return k.Check()
}

// edge is the u = V/λ from which on f* is continued by a parabola; +Inf where it is not.
func (k Compatibility) edge() float64 {
	switch {
	case k.Cap > 0 && !math.IsInf(k.Cap, 1):
		return k.F.Slope(k.Cap)
	case !math.IsInf(k.F.Bound(), 1):
		return k.F.Slope(100)
	}
	return math.Inf(1)
}

// Penalty returns λ f*(V/λ), the term that the dual subtracts for V.
func (k Compatibility) Penalty(v float64) float64 { return k.penalty(v/k.Lambda, k.edge()) }

func (k Compatibility) penalty(u, e float64) float64 {
	if u <= e {
		return k.Lambda * k.F.Conjugate(u)
	}
	t := u - e
	return k.Lambda * (k.F.Conjugate(e) + t*(k.F.Compatibility(e)+t*k.F.Curvature(e)/2))
}

// Density returns M(V) without smoothing: the derivative of Penalty, and what Algorithm 1 needs.
func (k Compatibility) Density(v float64) float64 { return k.density(v/k.Lambda, k.edge()) }

func (k Compatibility) density(u, e float64) float64 {
	if u <= e {
		return k.F.Compatibility(u)
	}
	return k.F.Compatibility(e) + (u-e)*k.F.Curvature(e)
}

// kinked returns V relative to the kink of M.
func (k Compatibility) kinked(v float64) float64 {
	if k.F == fdiv.Pearson {
		return v + 2*k.Lambda
	}
	return v
}

// LogDensity returns log M(V), smoothed where Beta > 0; else −Inf where M is zero.
func (k Compatibility) LogDensity(v float64) float64 {
	if k.Beta > 0 {
		return logSoftplus(k.Beta*k.kinked(v)) - math.Log(2*k.Lambda) - math.Log(k.Beta)
	}
	if u := v / k.Lambda; u <= k.edge() {
		return k.F.LogCompatibility(u)
	}
	return math.Log(k.Density(v))
}

// Slope returns d log M/dV, the factor of ∇V in the score: 1/λ for KL. It is NaN where M is zero.
func (k Compatibility) Slope(v float64) float64 {
	if k.Beta > 0 {
		return k.Beta * softplusSlope(k.Beta*k.kinked(v))
	}
	u, e := v/k.Lambda, k.edge()
	if u <= e {
		return k.F.Score(u) / k.Lambda
	}
	return k.F.Curvature(e) / (k.Lambda * k.Density(v))
}

// logSoftplus is log log(1 + e^t), t where e^t is small.
func logSoftplus(t float64) float64 {
	if t < -35 {
		return t // log(1+e^t) = e^t to 1e-15
	}
	return math.Log(softplus(t))
}

func softplus(t float64) float64 { return max(t, 0) + math.Log1p(math.Exp(-math.Abs(t))) }

// softplusSlope is the derivative of logSoftplus: near 1 far below zero, 1/t far above.
func softplusSlope(t float64) float64 {
	if t < -35 {
		return 1
	}
	return 1 / ((1 + math.Exp(-t)) * softplus(t))
}
