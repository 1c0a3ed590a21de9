// Package solve has the drivers of package ot: rules for the next potentials, and for when to stop. A pass over the
// costs is semidual's, a plan is transport's.
package solve

import (
	"context"
	"math"
	"time"

	"coupling/lab/device/cpu"
	"coupling/ot/cost"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"
)

// The types of package ot, which documents them.
type (
	// Status is ot.Status.
	Status int
	// Step is ot.Step.
	Step struct {
		Iteration, Evaluation int
		Eps                   float64
		MarginalL1            float64
		Elapsed               time.Duration
	}
	// Control is ot.Control.
	Control struct {
		Eps, Tol float64
		MaxIter  int
		Anneal   float64
		Start    []float64
		Workers  int
		Trace    func(Step) error
		asGiven  bool // Start has the potentials of the plan, whatever they are
	}
)

// The statuses of package ot, in its order.
const (
	_ Status = iota
	Converged
	IterationLimit
	Stagnated
	Interrupted
)

// Result is how a solve ended, and its plan.
type Result struct {
	Plan                    *transport.Plan
	Status                  Status
	Iterations, Evaluations int
	MarginalL1              float64
	Penalties               *Penalties // nil where marginals are exact
}

// Solver is a rule for the next potentials. With an error the result is nil, unless the context ended or Trace stopped
// the solve: then it is the plan so far.
type Solver func(ctx context.Context, p Problem) (*Result, error)

// Problem is ot.Problem, with the memory of an Objective; nil for none.
type Problem struct {
	Geometry cost.Geometry
	A, B     []float64
	Memory   *semidual.Memory
}

// kern is the set of vector kernels in use: AVX-512, AVX2 or plain Go.
var kern cpu.Kernels[float64]

func bad(kind error, format string, args ...any) error { return fault.OT(kind, format, args...) }

const (
	// defaultTol is the L1 marginal error that solvers stop at where Tol is 0.
	defaultTol = 1e-9
	// defaultMaxIter is the largest number of steps where MaxIter is 0.
	defaultMaxIter = 100_000
	// epsMin and epsMax keep 1/ε and ε log w finite.
	epsMin, epsMax = 1e-300, 1e300
)

// check reports settings out of range.
func (c Control) check() error {
	if err := checkEps("Eps", c.Eps); err != nil {
		return err
	}
	switch {
	case math.IsNaN(c.Tol) || c.Tol < 0 || math.IsInf(c.Tol, 0):
		return bad(fault.ErrParameter, "Tol = %g: must be finite and ≥ 0 (0 is %g)", c.Tol, defaultTol)
	case c.MaxIter < 0:
		return bad(fault.ErrParameter, "MaxIter = %d: must be ≥ 0 (0 is %d)", c.MaxIter, defaultMaxIter)
	case math.IsNaN(c.Anneal) || c.Anneal < 0 || c.Anneal > 1:
		return bad(fault.ErrParameter, "Anneal = %g: must be in (0, 1], or 0 for ¼", c.Anneal)
	}
	return nil
}

// checkStart reports potentials of m targets that are too few, or not finite.
func checkStart(name string, g []float64, m int) error {
	if g != nil && len(g) != m {
		return bad(fault.ErrShape, "%s has %d potentials for %d targets", name, len(g), m)
	}
	for j, v := range g {
		if v-v != 0 {
			return bad(fault.ErrParameter, "%s[%d] = %g: must be finite", name, j, v)
		}
	}
	return nil
}

// checkEps reports an ε that no solver can use.
func checkEps(name string, eps float64) error {
	switch {
	case !(eps > 0) || math.IsInf(eps, 0):
		return bad(fault.ErrParameter, "%s = %g: must be > 0 and finite", name, eps)
	case eps < epsMin || eps > epsMax:
		return bad(fault.ErrParameter, "%s = %g: must be from %g to %g", name, eps, epsMin, epsMax)
	}
	return nil
}

// Weights returns the weights divided by their sums, uniform for nil, in the memory of p.
func (p Problem) Weights() (a, b []float64, err error) {
	a, b, sa, sb, err := p.weights()
	if err == nil && p.A != nil && p.B != nil {
		err = equal(sa, sb, " (unbalanced transport: ot.Unbalanced)")
	}
	if err != nil {
		return nil, nil, err
	}
	return a, b, nil
}

// equal reports totals of weights that differ.
func equal(a, b float64, but string) error {
	if math.Abs(a-b) > rows.MassTolerance*max(a, b) {
		return bad(fault.ErrWeights, "Problem.B sums to %g and Problem.A to %g: must be equal%s", b, a, but)
	}
	return nil
}

// weights returns both weights divided by their totals, and the totals.
func (p Problem) weights() (a, b []float64, sa, sb float64, err error) {
	if err := geometry.Check("Problem.Geometry", p.Geometry); err != nil {
		return nil, nil, 0, 0, err
	}
	n, m := p.Geometry.Dims()
	if a, sa, err = rows.Weights(p.Memory.Floats(n), "Problem.A", p.A, "sources", bad); err == nil {
		b, sb, err = rows.Weights(p.Memory.Floats(m), "Problem.B", p.B, "targets", bad)
	}
	return a, b, sa, sb, err
}

// check validates p and a start, and normalises weights; one pass over the costs, without exponentials.
func (p Problem) check(c Control) (*semidual.Instance, error) {
	a, b, err := p.Weights()
	if err == nil {
		err = checkStart("Start", c.Start, len(b))
	}
	if err != nil {
		return nil, err
	}
	in := &semidual.Instance{
		G:      within(p.Geometry),
		N:      len(a),
		M:      len(b),
		A:      a,
		B:      b,
		Self:   p.symmetric(),
		Memory: p.Memory,
	}
	return in, in.Scan(c.Workers)
}

// symmetric reports whether the problem couples a measure with itself.
func (p Problem) symmetric() bool {
	g, ok := p.Geometry.(cost.Symmetric)
	same := len(p.A) == len(p.B) && (len(p.A) == 0 || &p.A[0] == &p.B[0])
	return ok && same && g.Symmetric()
}

// within is the geometry as the engine knows it. What embeds a geometry may have rows of its own, and is left as it is.
func within(g cost.Geometry) cost.Geometry {
	switch g := g.(type) {
	case interface{ Engine() *ondevice.Geometry }:
		return g.Engine()
	case *cost.Cloud:
		return g.Points()
	}
	return g
}
