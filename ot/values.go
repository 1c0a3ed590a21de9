package ot

import (
	"math"

	"coupling/lab/logspace"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/transport"
)

// Value returns every value of the plan; the first call takes one pass.
//
// Sharp, SumPlogP and KL are sums over T and err by the order of MarginalL1 (times the range of the
// cost for Sharp). The regularised values are those of the dual: never above the optimum, and below
// it by at most ½·MarginalL1·δ, where δ is the range of the error of G. For a converged plan that is
// well coupled, δ is of the order of ε√Tol; it is never more than twice the range of the costs and
// 2ε√Tol, however weakly atoms are coupled.
func (p *Plan) Value() Values {
	p.once.Do(p.computeValues)
	return p.values
}

// Sharp returns <T,c>, the sharp Sinkhorn loss. One pass, at the first call.
func (p *Plan) Sharp() float64 { return p.Value().Sharp }

// RegKL returns the value of min <T,c> + ε KL(T|abᵀ), from the potentials alone for a balanced plan.
func (p *Plan) RegKL() float64 {
	if p.penalties != nil {
		return p.Value().RegKL
	}
	return rows.Dot(p.A, p.F) + rows.Dot(p.B, p.G)
}

// RegEntropy returns the value of min <T,c> + ε Σ T log T, from the potentials alone.
func (p *Plan) RegEntropy() float64 {
	if p.penalties != nil {
		return math.NaN()
	}
	return p.RegKL() + p.Eps*(negEntropy(p.A)+negEntropy(p.B))
}

func (p *Plan) computeValues() {
	t := p.t.Sums()
	v := Values{Sharp: t.Sharp, SumPlogP: t.SumPlogP, KL: t.KL, Mass: t.Mass}
	if p.penalties != nil {
		p.unbalancedValues(v)
		return
	}
	v.RegKL, v.RegEntropy = p.RegKL(), p.RegEntropy()
	v.RegEntropyMinus1 = v.RegEntropy - p.Eps
	p.values = v
}

// negEntropy returns Σ w log w.
func negEntropy(w []float64) float64 {
	var s rows.Sum
	for _, v := range w {
		if v > 0 {
			s.Add(v * logspace.Log(v))
		}
	}
	return s.Value()
}

// unbalancedValues completes v for an unbalanced plan: KL with its mass terms, and the whole objective.
func (p *Plan) unbalancedValues(v Values) {
	n, _ := p.Dims()
	v.KL += kern.Sum(p.A)*kern.Sum(p.B) - v.Mass
	v.RegKL = v.Sharp + p.Eps*v.KL + p.penalties.A.Of(p.t.Mass, p.A) +
		p.penalties.B.Of(p.ApplyT(transport.Ones(n)), p.B)
	v.RegEntropy, v.RegEntropyMinus1 = math.NaN(), math.NaN()
	p.values = v
}

// Of returns the loss of a plan.
func (l Loss) Of(p *Plan) float64 {
	switch l {
	case RegKL:
		return p.RegKL()
	case RegEntropy:
		return p.RegEntropy()
	}
	return p.Sharp()
}
