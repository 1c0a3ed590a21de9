package ottest

import (
	"pgregory.net/rapid"

	"coupling/ot"
)

// warmStart: from the potentials of its own solution a solver takes no more evaluations than from none, and from any
// potentials it finds the same plan. Solvers that cannot start from potentials are left out.
func (s kit) warmStart(t *rapid.T) {
	p, eps := Problem(t)
	c := ot.Cost(p.Geometry)
	cold := solve(t, s.New(eps, tol), p)
	solver, ok := s.New(eps, tol).(ot.WarmStarter)
	if !ok {
		return
	}
	warm := solve(t, solver.From(cold.G), p)
	near(t, "from its own potentials", warm.Matrix(), cold.Matrix(), 4*tol+s.entry(eps, c))
	// Two: one that finds nothing to do, and one in float64 that certifies it. Passes in float32
	// have an error of the order of their rounding even at a solution.
	if s.rounding == 0 && warm.Evaluations > max(cold.Evaluations, 2) {
		t.Fatalf("%d evaluations from the solution, %d from nothing", warm.Evaluations, cold.Evaluations)
	}
	size := eps * rapid.SampledFrom([]float64{1, 1e2, 1e4}).Draw(t, "size of the start, in ε")
	_, m := cold.Dims()
	g := rapid.SliceOfN(rapid.Float64Range(-size, size), m, m).Draw(t, "start")
	near(t, "from any potentials", solve(t, solver.From(g), p).Matrix(), cold.Matrix(), 4*tol+s.entry(eps, c))
}
