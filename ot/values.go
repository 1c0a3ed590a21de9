package ot

import "math"

// Values are the numbers that the literature calls the Sinkhorn loss, of one plan; h(T) = Σ T(1−log T).
type Values struct {
	// Sharp is <T,c>.
	Sharp float64
	// RegKL is min <T,c> + ε KL(T|abᵀ): POT solve, OTT kl_reg_cost, GeomLoss.
	RegKL float64
	// RegEntropy is min <T,c> + ε Σ T log T: POT reg_type="entropy", OTT ent_reg_cost.
	RegEntropy float64
	// RegEntropyMinus1 is min <T,c> − ε h(T) = RegEntropy − ε: the papers of L-BFGS on the dual, regOT.
	RegEntropyMinus1 float64
	// SumPlogP is Σ T log T, and KL is KL(T|abᵀ).
	SumPlogP, KL float64
	// Mass is ΣT: 1 but for unbalanced plans.
	Mass float64
}

// Value returns every value of the plan; the first call takes one pass.
//
// Sharp, SumPlogP and KL are of T itself and err by the order of MarginalL1 (times the range of the cost for Sharp);
// the regularised values are the dual's. Those of a converged plan err by the order of ε·MarginalL1·√Tol or less, since
// no column of it is far from its weight.
func (p *Plan) Value() Values {
	p.once.Do(p.computeValues)
	return p.values
}

// Sharp returns <T,c>, the sharp Sinkhorn loss.
func (p *Plan) Sharp() float64 { return p.Value().Sharp }

// RegKL returns the value of min <T,c> + ε KL(T|abᵀ).
func (p *Plan) RegKL() float64 { return p.Value().RegKL }

// RegEntropy returns the value of min <T,c> + ε Σ T log T.
func (p *Plan) RegEntropy() float64 { return p.Value().RegEntropy }

func (p *Plan) computeValues() {
	v := p.sums()
	if p.unbalanced {
		p.unbalancedValues(v)
		return
	}
	entropy := negEntropy(p.A) + negEntropy(p.B)
	v.RegKL = dotPositive(p.A, p.F) + dotPositive(p.B, p.G)
	v.RegEntropy = v.RegKL + p.Eps*entropy
	v.RegEntropyMinus1 = v.RegEntropy - p.Eps
	p.values = v
}

// sums returns what is summed over T itself: Sharp, KL, SumPlogP and Mass.
func (p *Plan) sums() Values {
	var v Values
	if p.onDevice("Value", true, func(d *devicePlan) (err error) { v, err = d.values(); return err }) {
		return v
	}
	sw := newSweep(p.g, 0)
	parts := make([]tally, len(sw.spans))
	logB := make([]float64, len(p.B))
	for j, b := range p.B {
		logB[j] = math.Log(b)
	}
	sw.each(func(w *worker, k int, s span) {
		var orig []float64
		if p.g != p.Geometry {
			orig = make([]float64, len(p.B))
		}
		for i := s.lo; i < s.hi; i++ {
			if p.mass[i] == 0 {
				continue
			}
			c := p.row(i, w.exp, w.cost)
			if orig != nil {
				c = p.Geometry.Row(i, orig)
			}
			parts[k].add(w.exp, c, math.Log(p.A[i]), logB)
		}
	})
	var sc, kc float64
	for _, q := range parts {
		v.Sharp, sc = addKahan(v.Sharp, sc, q.sharp)
		v.KL, kc = addKahan(v.KL, kc, q.kl)
		sc, kc = sc+q.sharpC, kc+q.klC
		v.SumPlogP += q.tlogt
		v.Mass += q.mass
	}
	v.Sharp, v.KL = v.Sharp+sc, v.KL+kc
	return v
}

// tally adds up rows of T; sharp and kl are compensated.
type tally struct{ sharp, sharpC, kl, klC, tlogt, mass float64 }

// add adds a row of T with its costs, given log aᵢ and log b.
func (q *tally) add(row, cost []float64, logA float64, logB []float64) {
	for j, t := range row {
		if t == 0 {
			continue
		}
		q.sharp, q.sharpC = addKahan(q.sharp, q.sharpC, t*cost[j])
		l := math.Log(t)
		q.kl, q.klC = addKahan(q.kl, q.klC, t*(l-logA-logB[j]))
		q.tlogt += t * l
		q.mass += t
	}
}

// negEntropy returns Σ w log w.
func negEntropy(w []float64) float64 {
	var s, c float64
	for _, v := range w {
		if v > 0 {
			s, c = addKahan(s, c, v*math.Log(v))
		}
	}
	return s + c
}

// unbalancedValues completes v for an unbalanced plan: KL with its mass terms, and the whole objective.
func (p *Plan) unbalancedValues(v Values) {
	n, m := p.Dims()
	one := make([]float64, n)
	for i := range one {
		one[i] = 1
	}
	v.KL += kern.Sum(p.A)*kern.Sum(p.B) - v.Mass
	v.RegKL = v.Sharp + p.Eps*v.KL + price(p.rhoA, p.mass, p.A) + price(p.rhoB, p.ApplyT(one)[:m], p.B)
	v.RegEntropy, v.RegEntropyMinus1 = math.NaN(), math.NaN()
	p.values = v
}

// price returns ρ KL(p|q), 0 where the marginal is exact.
func price(rho float64, p, q []float64) float64 {
	if math.IsInf(rho, 1) {
		return 0
	}
	var s, c float64
	for i, v := range p {
		if v > 0 {
			s, c = addKahan(s, c, v*math.Log(v/q[i]))
		}
		s, c = addKahan(s, c, q[i]-v)
	}
	return rho * (s + c)
}
