package ottest

import (
	"reflect"

	"pgregory.net/rapid"

	"coupling/ot"
)

// warmStart: from the potentials of its own solution a solver takes no more evaluations than from none, and from any
// potentials it finds the same plan. Solvers without a field Start are left out.
func (s kit) warmStart(t *rapid.T) {
	p, eps := Problem(t)
	c := ot.Cost(p.Geometry)
	cold := solve(t, s.New(eps, tol), p)
	own, ok := withStart(s.New(eps, tol), cold.G)
	if !ok {
		return
	}
	warm := solve(t, own, p)
	near(t, "from its own potentials", warm.Matrix(), cold.Matrix(), 4*tol+s.entry(eps, c))
	// Two: one that finds nothing to do, and one in float64 that certifies it. Passes in float32
	// have an error of the order of their rounding even at a solution.
	if s.rounding == 0 && warm.Evaluations > max(cold.Evaluations, 2) {
		t.Fatalf("%d evaluations from the solution, %d from nothing", warm.Evaluations, cold.Evaluations)
	}
	size := eps * rapid.SampledFrom([]float64{1, 1e2, 1e4}).Draw(t, "size of the start, in ε")
	_, m := cold.Dims()
	g := rapid.SliceOfN(rapid.Float64Range(-size, size), m, m).Draw(t, "start")
	lost, _ := withStart(s.New(eps, tol), g)
	near(t, "from any potentials", solve(t, lost, p).Matrix(), cold.Matrix(), 4*tol+s.entry(eps, c))
}

// withStart returns the solver with its field Start set, or that of the Solver that it embeds, and whether there is one.
func withStart(s ot.Solver, g []float64) (ot.Solver, bool) {
	v := reflect.New(reflect.TypeOf(s)).Elem()
	v.Set(reflect.ValueOf(s))
	if v.Kind() != reflect.Struct {
		return s, false
	}
	if f := v.FieldByName("Start"); f.IsValid() && f.Type() == reflect.TypeFor[[]float64]() {
		f.Set(reflect.ValueOf(g))
		return v.Interface().(ot.Solver), true
	}
	f := v.FieldByName("Solver")
	if !f.IsValid() || f.Type() != reflect.TypeFor[ot.Solver]() || f.IsNil() {
		return s, false
	}
	inner, ok := withStart(f.Interface().(ot.Solver), g)
	if ok {
		f.Set(reflect.ValueOf(inner))
	}
	return v.Interface().(ot.Solver), ok
}
