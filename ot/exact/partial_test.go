package exact_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/exact"
)

// TestPartial: with integer margins some integer plan is optimal, and all of them are tried. The
// plan keeps within its margins, potentials bound costs and the price, and are equal to it where
// mass stays.
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
		sol := must.Get(exact.Partial{Mass: float64(mass)}.Solve(t.Context(), p))
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
	for _, k := range []struct {
		mass, cost float64
		is         error
	}{{2, 0, ot.ErrWeights}, {1e-9, math.Inf(1), ot.ErrInfeasible}, {1e-17, 0, ot.ErrInfeasible}} {
		p := ot.Problem{Geometry: ot.Dense(mat.NewDense(1, 1, []float64{k.cost}))}
		if _, err := (exact.Partial{Mass: k.mass}).Solve(t.Context(), p); !errors.Is(err, k.is) {
			t.Error(k, err)
		}
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

// TestEntropicPartial: the entropic plan of the extended problem moves Mass within the margins; it
// is scaled from exp(−c/ε), what stays included, which makes it the optimal one; and as ε falls its
// cost goes down to the exact one.
func TestEntropicPartial(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	const n, m, mass = 9, 7, .6
	c := mat.NewDense(n, m, nil)
	c.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, c)
	a, b := simplexPoint(rng, n), simplexPoint(rng, m)
	o, p := exact.Partial{Mass: mass}, ot.Problem{Geometry: ot.Dense(c), A: a, B: b}
	least, err := o.Solve(t.Context(), p)
	all, err2 := o.Problem(p)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	before := math.Inf(1)
	for _, eps := range []float64{1, .1, .01, .001} {
		plan, err := ot.LBFGS{Eps: eps, Tol: 1e-12}.Solve(t.Context(), all)
		if err != nil || plan.Status != ot.Converged {
			t.Fatal(plan, err)
		}
		T := plan.Matrix()
		T.Scale(2-mass, T) // weights of a problem are divided by their sum
		var moved, paid float64
		for i := range n {
			moved += mat.Sum(T.Slice(i, i+1, 0, m))
			if stays := T.At(i, m); math.Abs(mat.Sum(T.Slice(i, i+1, 0, m))+stays-a[i]) > 1e-11 {
				t.Errorf("ε = %v: row %d moves more or less than it has", eps, i)
			}
			for j := range m {
				paid += T.At(i, j) * c.At(i, j)
				if T.At(i, j) == 0 {
					continue // it underflows
				}
				if ratio := math.Log(T.At(i, j)) + c.At(i, j)/eps - plan.Alpha[i]/eps - plan.Beta[j]/eps -
					math.Log(2-mass); math.Abs(ratio) > 1e-9 {
					t.Errorf("ε = %v: entry %d,%d is not of the scaled kernel, by %v", eps, i, j, ratio)
				}
			}
		}
		if math.Abs(moved-mass) > 1e-11 || paid < least.Value-1e-9 || paid > before {
			t.Errorf("ε = %v: moves %v at %v, before %v, exactly %v", eps, moved, paid, before, least.Value)
		}
		before = paid
	}
	if before > least.Value+1e-3 {
		t.Errorf("cost %v at ε = .001, exactly %v", before, least.Value)
	}
}
