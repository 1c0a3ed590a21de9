package analytic

import (
	"math/rand/v2"
	"testing"

	"coupling/lab/must"
	"coupling/ot"
)

// The two ways to unroll are the same function of the cost, and both end at the analytic gradient.
func TestUnrolledScaling(t *testing.T) {
	prob := clouds(rand.New(rand.NewPCG(1, 1)), 12)
	c := ot.Cost(prob.Geometry)
	eps := 0.1 * meanCost(c, prob.A, prob.B)
	for _, k := range []int{1, 2, 7, 400} {
		want := must.Get(logUnrolled{Eps: eps, Iterations: k}.Eval(t.Context(), prob))
		// Some hundred roundings of values that differ by exp of ten.
		if e := errorOf(unrolledScaling(c, prob.A, prob.B, eps, k), want.Cost, want.Cost).Max; !(e < 1e-11) {
			t.Errorf("%d iterations: the two differ by %g", k, e)
		}
	}
	plan := must.Get(ot.Newton{Eps: eps, Tol: 1e-14}.Solve(t.Context(), prob))
	want := must.Get(plan.GradCost())
	if e := errorOf(unrolledScaling(c, prob.A, prob.B, eps, 400), want, want).Max; !(e < 1e-11) {
		t.Errorf("400 iterations differ from the analytic gradient by %g", e)
	}
}
