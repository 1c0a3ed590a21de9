package exact_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/exact"
)

// With some pairs forbidden the plan is that of costs which are large there, and its certificate,
// which looks at the costs themselves, proves it.
func TestForbiddenPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{1, 2, 9, 150} { // the last begins with a coarse problem
		for _, scale := range []float64{1, 1e-30} {
			c, far, keep := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil), rng.Perm(n)
			for i := range n {
				for j := range n {
					v := scale * rng.NormFloat64()
					c.Set(i, j, v)
					far.Set(i, j, v)
					if j != keep[i] && rng.Float64() < 0.7 {
						c.Set(i, j, math.Inf(1))
						far.Set(i, j, 1e5*scale)
					}
				}
			}
			got := must.Get(exact.Simplex{}.Solve(t.Context(), ot.Problem{Geometry: ot.Dense(c)}))
			want := must.Get(exact.Simplex{}.Solve(t.Context(), ot.Problem{Geometry: ot.Dense(far)}))
			listed, err := exact.Simplex{}.Solve(t.Context(), ot.Problem{Geometry: list(c)})
			tol := 1e-10 * scale // potentials may hold sums of the large cost
			if err != nil || math.Abs(listed.Value-got.Value)+listed.Certificate.Bound() > tol {
				t.Errorf("n = %d, scale %g: %v from a list, %v from a matrix, %v", n, scale, listed, got.Value, err)
			}
			if math.Abs(got.Value-want.Value) > tol || got.Certificate.Bound() > tol ||
				got.Certificate.Marginal > 1e-12 {
				t.Errorf("n = %d, scale %g: value %v, want %v; %+v", n, scale, got.Value, want.Value, got.Certificate)
			}
			for _, a := range got.Arcs {
				if math.IsInf(c.At(a.I, a.J), 1) {
					t.Fatalf("n = %d: mass %g goes by the forbidden pair %d, %d", n, a.Mass, a.I, a.J)
				}
			}
		}
	}
}

// An infeasible problem is named by sources that have more mass than the targets they may send to have room
// for, whether the costs are listed or a matrix.
func TestInfeasible(t *testing.T) {
	inf := math.Inf(1)
	crowded := mat.NewDense(3, 3, []float64{1, inf, inf, 1, inf, inf, 1, 1, 1})
	two := "ot/exact: sources 0, 1 have mass 0.666667 in all, and the allowed targets (1) room for 0.333333: no plan"
	for name, k := range map[string]struct {
		c    cost.Geometry
		text string
	}{
		"all": {ot.Dense(mat.NewDense(1, 1, []float64{inf})), "ot/exact: every pair is forbidden: no plan"},
		"a row": {
			ot.Dense(mat.NewDense(2, 2, []float64{inf, inf, 1, 1})),
			"ot/exact: source 0 has mass 0.5 in all, and the allowed targets (0) room for 0: no plan",
		},
		"too little": {ot.Dense(crowded), two},
		"in a list":  {list(crowded), two},
	} {
		sol, err := exact.Simplex{}.Solve(t.Context(), ot.Problem{Geometry: k.c})
		if !errors.Is(err, ot.ErrInfeasible) || err.Error() != k.text {
			t.Errorf("%s: %v, error %v", name, sol, err)
		}
	}
	// The same costs with masses that fit; a source without mass needs no partner.
	sol, err := exact.Simplex{}.Solve(t.Context(),
		ot.Problem{Geometry: ot.Dense(crowded), A: []float64{1, 2, 4}, B: []float64{4, 2, 1}})
	if err != nil || math.Abs(sol.Value-7) > 1e-12 {
		t.Error(sol, err)
	}
	sol, err = exact.Simplex{}.Solve(t.Context(),
		ot.Problem{Geometry: ot.Dense(mat.NewDense(2, 2, []float64{inf, inf, 1, 1})), A: []float64{0, 1}})
	if err != nil || sol.Value != 1 || math.IsNaN(sol.F[0]) {
		t.Error(sol, err)
	}
}

// list is the geometry that lists the finite costs, and some that are not.
func list(c *mat.Dense) *cost.Graph {
	n, m := c.Dims()
	starts, targets, costs := []int{0}, []int{}, []float64{}
	for i := range n {
		for j, v := range c.RawRowView(i) {
			if !math.IsInf(v, 1) || (i+j)%2 > 0 {
				targets, costs = append(targets, j), append(costs, v)
			}
		}
		starts = append(starts, len(targets))
	}
	return cost.Sparse(m, starts, targets, costs)
}

// A solve that was cut short has not proved that there is no plan.
func TestCutShortIsNotInfeasible(t *testing.T) {
	n := 30
	c := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			c.Set(i, j, math.Inf(1))
			if j == n-1-i || j == n-2-i { // one plan, far from where the solve starts
				c.Set(i, j, float64(i+j))
			}
		}
	}
	if _, err := (exact.Simplex{}).Solve(t.Context(), ot.Problem{Geometry: ot.Dense(c)}); err != nil {
		t.Fatal(err)
	}
	for pivots := range 5 {
		_, err := exact.Simplex{MaxPivots: pivots + 1}.Solve(t.Context(), ot.Problem{Geometry: ot.Dense(c)})
		if errors.Is(err, ot.ErrInfeasible) {
			t.Errorf("%d pivots: %v", pivots+1, err)
		}
	}
}
