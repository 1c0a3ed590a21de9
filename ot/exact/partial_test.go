package exact_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/exact"
)

// TestPartial: with integer margins some integer plan is optimal, and all of them are tried. The plan keeps within
// its margins, potentials bound costs and the price, and are equal to it where mass stays.
func TestPartial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 3).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "m")
		a, b := margin(t, n, rapid.IntRange(1, 5).Draw(t, "a")), margin(t, m, rapid.IntRange(1, 5).Draw(t, "b"))
		total := func(w []int) (sum int) {
			for _, v := range w {
				sum += v
			}
			return sum
		}
		mass := rapid.IntRange(1, min(total(a), total(b))).Draw(t, "mass")
		c := matrices(n, m).Draw(t, "C")
		p := ot.Problem{Geometry: ot.Dense(c), A: floats(a), B: floats(b)}
		sol, err := exact.Partial{Mass: float64(mass)}.Solve(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		tol := 1e-14 * mat.Max(abs(c)) * 5
		if best := cheapestOf(c, slices.Clone(a), slices.Clone(b), mass, 0); math.Abs(sol.Value-best) > tol {
			t.Fatalf("value %v, best integer plan %v", sol.Value, best)
		}
		if bound := sol.Certificate.Bound(); bound > 10*tol {
			t.Fatalf("the certificate bounds the excess by %v", bound)
		}
		left, right, moved := floats(a), floats(b), 0.
		for _, e := range sol.Arcs {
			left[e.I], right[e.J], moved = left[e.I]-e.Mass, right[e.J]-e.Mass, moved+e.Mass
		}
		if math.Abs(moved-float64(mass)) > 1e-14 || slices.Min(left) < -1e-14 || slices.Min(right) < -1e-14 {
			t.Fatalf("moved %v of %d; %v and %v stay", moved, mass, left, right)
		}
		for _, side := range []struct{ stays, f []float64 }{{left, sol.F}, {right, sol.G}} {
			for i, f := range side.f {
				if f > sol.Price/2+tol || side.stays[i] > 1e-14 && f < sol.Price/2-tol {
					t.Fatalf("potential %v of an atom that keeps %v at the price %v", f, side.stays[i], sol.Price)
				}
			}
		}
		for i, f := range sol.F {
			for j, g := range sol.G {
				if f+g > c.At(i, j)+tol {
					t.Fatalf("potentials %v + %v exceed the cost %v", f, g, c.At(i, j))
				}
			}
		}
		sparse, err := exact.Partial{Mass: float64(mass)}.Solve(t.Context(),
			ot.Problem{Geometry: listed(c), A: p.A, B: p.B})
		if err != nil || math.Abs(sparse.Value-sol.Value) > tol {
			t.Fatalf("by lists %v, %v, want %v", sparse, err, sol.Value)
		}
	})
	_, err := exact.Partial{Mass: .6}.Solve(t.Context(), ot.Problem{Geometry: ot.Dense(mat.NewDense(1, 1, nil)),
		B: []float64{.5}})
	if !errors.Is(err, ot.ErrWeights) {
		t.Errorf("too much mass: %v", err)
	}
}

// cheapestOf tries every way to send mass of a to b, cell by cell from cell k on.
func cheapestOf(c *mat.Dense, a, b []int, mass, k int) float64 {
	n, m := c.Dims()
	if mass == 0 {
		return 0
	}
	best := math.Inf(1)
	if k == n*m {
		return best
	}
	i, j := k/m, k%m
	for x := range min(a[i], b[j], mass) + 1 {
		a[i], b[j] = a[i]-x, b[j]-x
		best = min(best, float64(x)*c.At(i, j)+cheapestOf(c, a, b, mass-x, k+1))
		a[i], b[j] = a[i]+x, b[j]+x
	}
	return best
}

// listed returns the geometry of lists of all pairs.
func listed(c *mat.Dense) cost.Geometry {
	n, m := c.Dims()
	starts, targets := []int{0}, []int(nil)
	for range n {
		for j := range m {
			targets = append(targets, j)
		}
		starts = append(starts, len(targets))
	}
	return cost.Sparse(m, starts, targets, c.RawMatrix().Data)
}
