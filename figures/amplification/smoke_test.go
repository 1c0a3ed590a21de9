package amplification

import (
	"math"
	"testing"

	"coupling/figures/figtest"
	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"
)

// do runs one cell.
func do[P, R any](t *testing.T, s *store.Store, e lab.Experiment[P, R], p P) R {
	r := must.Get(lab.Do(t.Context(), s, e, 1, p))
	return r.Value
}

// Every figure computes, draws and claims at the smallest size; what it claims there holds, and
// does not hold for garbage.
func TestSmoke(t *testing.T) { figtest.Smoke(t, Figures()) }

// rising fails where a list falls by more than a relative tolerance.
func rising(t *testing.T, what string, list []float64, tol float64) {
	t.Helper()
	for i := 1; i < len(list); i++ {
		if !(list[i] >= list[i-1]-tol*math.Abs(list[i-1])) {
			t.Errorf("%s: %v falls to %v at %d", what, list[i-1], list[i], i)
		}
	}
}

// atMost fails where a list exceeds another by more than a relative tolerance.
func atMost(t *testing.T, what string, a, b []float64, tol float64) {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%s: %d and %d numbers", what, len(a), len(b))
	}
	for i := range a {
		if !(a[i] <= b[i]+tol*math.Abs(b[i])) {
			t.Errorf("%s: %v above %v at %d", what, a[i], b[i], i)
		}
	}
}
