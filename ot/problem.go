package ot

import (
	"math"

	"coupling/ot/cost"
	"coupling/ot/internal/rows"
)

// Problem is a transport problem between the measures Σ aᵢ δ(xᵢ) and Σ bⱼ δ(yⱼ).
//
// Nil weights are uniform. Weights need not sum to one: they are divided by their sum, so that every plan has mass 1
// and every value is per unit of mass; but A and B, where both are given, must have the same total to 1 part in 10⁵
// (enough for weights that were normalised in float32). Zero weights are allowed and cost nothing.
type Problem struct {
	// Geometry holds the costs, n×m. A cost of +Inf forbids its pair: no mass moves there. If every
	// plan needs such pairs, solvers return ErrInfeasible; with n·m above 1e6 they detect it only
	// for an atom without any allowed pair, and otherwise the Status says that the solve did not
	// converge.
	Geometry Geometry
	// A holds the n source weights and B the m target weights; nil is uniform.
	A, B []float64

	memory *memory // of an Objective; nil for none
}

// symmetric reports whether the problem couples a measure with itself.
func (p Problem) symmetric() bool {
	g, ok := p.Geometry.(cost.Symmetric)
	same := len(p.A) == len(p.B) && (len(p.A) == 0 || &p.A[0] == &p.B[0])
	return ok && same && g.Symmetric()
}

// instance is a checked problem: normalised weights, and statistics of one scan of the costs.
type instance struct {
	g    Geometry
	n, m int
	a, b []float64
	cost costStats

	self   bool // the transport of a measure to itself
	memory *memory
}

// costStats summarises the costs between atoms of positive weight.
type costStats struct {
	min, max, mean float64 // mean under a⊗b
	forbidden      bool    // some cost is +Inf; the rest leaves it out
}

// spread is the scale on which costs differ; ε-annealing starts there.
func (c costStats) spread() float64 { return c.mean - c.min }

// check validates p and normalises its weights; one pass over the costs, without exponentials.
func (p Problem) check(workers int) (*instance, error) {
	in, err := p.checkShape()
	if err != nil {
		return nil, err
	}
	if err := in.scan(workers); err != nil {
		return nil, err
	}
	return in, nil
}

// checkShape is check without the scan of the costs.
func (p Problem) checkShape() (*instance, error) {
	a, b, sa, sb, err := p.weights()
	if err != nil {
		return nil, err
	}
	if p.A != nil && p.B != nil && math.Abs(sa-sb) > rows.MassTolerance*max(sa, sb) {
		return nil, bad(ErrWeights, "Problem.B sums to %g and Problem.A to %g: must be equal (unbalanced transport: ot.Unbalanced)", sb, sa)
	}
	return &instance{g: p.Geometry, n: len(a), m: len(b), a: a, b: b, self: p.symmetric(), memory: p.memory}, nil
}

// weights returns both weights divided by their totals, and the totals.
func (p Problem) weights() (a, b []float64, sa, sb float64, err error) {
	if err := cost.Check("Problem.Geometry", p.Geometry); err != nil {
		return nil, nil, 0, 0, err
	}
	n, m := p.Geometry.Dims()
	if a, sa, err = rows.Weights("Problem.A", p.A, n, "sources", bad); err == nil {
		b, sb, err = rows.Weights("Problem.B", p.B, m, "targets", bad)
	}
	return a, b, sa, sb, err
}

// scan reads every cost once and records min, max and mean; all must be finite.
func (in *instance) scan(workers int) error {
	if o, ok := in.g.(*OnDevice); ok {
		if done, err := o.scanOnDevice(in); done || err != nil {
			return err
		}
	}
	sw := newSweep(in.g, workers, in.memory)
	parts := make([]costStats, len(sw.Spans))
	masses := make([]float64, len(sw.Spans)) // the mass of a⊗b in the mean, by span
	faults := make([]int, len(sw.Spans))     // 1 + the first row with a cost that is not finite
	mask := make([]float64, in.m)            // −Inf where the target has no weight, else 0
	for j, b := range in.b {
		if b == 0 {
			mask[j] = math.Inf(-1)
		}
	}
	forbid := mayForbid(in.g)
	sw.Each(func(w *worker, k int, s span) {
		p := costStats{min: math.Inf(1), max: math.Inf(-1)}
		for i := s.Lo; i < s.Hi; i++ {
			c := in.g.Row(i, w.cost)
			// NaN and infinities reach the mean, also through a weight of 0.
			mean, mass := dot(in.b, c), 1.0
			if mean-mean != 0 && forbid {
				c, mean, mass = allowed(w.exp, c, in.b)
				p.forbidden = true
			}
			if mean-mean != 0 && faults[k] == 0 {
				faults[k] = i + 1
			}
			if in.a[i] == 0 || mass == 0 {
				continue
			}
			p.min, p.max = min(p.min, -kern.RowMax(mask, c, 1)), max(p.max, kern.RowMax(mask, c, -1))
			p.mean += in.a[i] * mean
			masses[k] += in.a[i] * mass
		}
		parts[k] = p
	})
	c := costStats{min: math.Inf(1), max: math.Inf(-1)}
	for k, p := range parts {
		if faults[k] > 0 {
			return in.costFault(faults[k] - 1)
		}
		c.min, c.max, c.mean, c.forbidden = min(c.min, p.min), max(c.max, p.max), c.mean+p.mean, c.forbidden || p.forbidden
	}
	if c.forbidden {
		if err := in.partners(); err != nil {
			return err
		}
		c.mean /= kern.Sum(masses)
	}
	if math.IsInf(c.max-c.min, 0) || math.IsInf(c.mean, 0) {
		return bad(ErrCost, "costs from %g to %g: their range must be finite", c.min, c.max)
	}
	in.cost = c
	return nil
}

// costFault returns the error for row i.
func (in *instance) costFault(i int) error {
	for j, v := range in.g.Row(i, make([]float64, in.m)) {
		if v-v != 0 && !(math.IsInf(v, 1) && mayForbid(in.g)) {
			return bad(ErrCost, "cost[%d,%d] = %g: must be finite", i, j, v)
		}
	}
	return bad(ErrCost, "costs of source %d: their mean must be finite", i)
}

// epsMin and epsMax keep 1/ε and ε log w finite.
const epsMin, epsMax = 1e-300, 1e300

// checkEps reports an ε that no solver can use.
func checkEps(eps float64) error {
	switch {
	case !(eps > 0) || math.IsInf(eps, 0):
		return bad(ErrParameter, "Eps = %g: must be > 0 and finite", eps)
	case eps < epsMin || eps > epsMax:
		return bad(ErrParameter, "Eps = %g: must be from %g to %g", eps, epsMin, epsMax)
	}
	return nil
}

// checkTol reports a tolerance out of range.
func checkTol(tol float64) error {
	if math.IsNaN(tol) || tol < 0 || math.IsInf(tol, 0) {
		return bad(ErrParameter, "Tol = %g: must be finite and ≥ 0 (0 is %g)", tol, defaultTol)
	}
	return nil
}
