package pld

import (
	"context"
	"math"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/must"
)

// A response that is never wrong about one of two points has no optimistic measure but the trivial
// one, which is no reason to refuse.
func TestTrivialLowerEnd(t *testing.T) {
	r := must.Get(pair.RandomizedResponse(1, 0, 1e-5))
	for _, times := range []int{1, 5} {
		if testing.Short() && times == 1 {
			continue
		}
		v, err := Accountant{}.Bound(context.Background(), []pair.Step{{Pair: r, Times: times}}, pair.DeltaAt(1e-6))
		// P's one outcome has loss −T·log(1−1e-5), and mass 1.
		exact := -math.Expm1(1e-6 + math.Log1p(-1e-5)*float64(times))
		if err != nil || v.Lower > exact || v.Upper < exact || v.Upper > exact*(1+1e-3) {
			t.Errorf("T = %d: %v, %v, want about %v", times, v, err, exact)
		}
	}
}

// Where δ underflows the answer is a tiny upper bound, without a panic.
func TestUnderflow(t *testing.T) {
	if testing.Short() {
		t.Skip("a fine grid takes seconds")
	}
	p := must.Get(pair.Poisson(pair.Gaussian, 17.95, 0.0288, 1, 1))
	v, err := Accountant{}.Bound(t.Context(), []pair.Step{{Pair: p, Times: 8}}, pair.DeltaAt(0.5114594983))
	if err != nil || !(v.Upper > 0 && v.Upper < 1e-290) || v.Lower > v.Upper {
		t.Errorf("%v, %v", v, err)
	}
}
