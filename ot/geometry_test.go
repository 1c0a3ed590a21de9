package ot_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/ottest"
)

// Check names what is wrong with a geometry, and Cost panics with that error rather than an index of its own.
func TestCheck(t *testing.T) {
	two, three := mat.NewDense(1, 2, nil), mat.NewDense(1, 3, nil)
	for name, g := range map[string]cost.Geometry{
		"nil":              nil,
		"nil points":       (*cost.Cloud)(nil),
		"nil matrix":       (*cost.Matrix)(nil),
		"no cost":          ot.Dense(nil),
		"no matrix":        ot.Dense((*mat.Dense)(nil)),
		"no points":        ot.Points(nil, two, ot.L1),
		"columns":          ot.Points(two, three, ot.L1),
		"point NaN":        ot.Points(mat.NewDense(1, 1, []float64{math.NaN()}), mat.NewDense(1, 1, nil), ot.L1),
		"mix NaN":          ot.Points(two, two, cost.SqEuclideanL1(math.NaN())),
		"unknown":          ot.Points(two, two, cost.Metric(99)),
		"nil cost":         ot.Points(two, two, nil),
		"empty by hand":    &cost.Matrix{},
		"nil graph":        (*cost.Graph)(nil),
		"a start falls":    cost.Sparse(2, []int{0, 2, 1, 2}, []int{0, 1}, []float64{1, 1}),
		"a target twice":   cost.Sparse(2, []int{0, 2}, []int{1, 1}, []float64{1, 1}),
		"a target too far": cost.Sparse(2, []int{0, 2}, []int{0, 2}, []float64{1, 1}),
	} {
		err := cost.Check(g)
		if !errors.Is(err, ot.ErrShape) && !errors.Is(err, ot.ErrCost) && !errors.Is(err, ot.ErrParameter) {
			t.Errorf("%s: Check = %v", name, err)
		}
		func() {
			defer func() {
				if got, ok := recover().(error); !ok || got.Error() != err.Error() {
					t.Errorf("%s: Cost panics with %v, want %v", name, got, err)
				}
			}()
			ot.Cost(g)
		}()
	}
	if err := cost.Check(ot.Points(two, two, ot.L1)); err != nil {
		t.Error(err)
	}
}

// sparse returns a geometry that lists pairs at random, a permutation among them, and its matrix.
func sparse(rng *rand.Rand, n int, share, offset float64) (*cost.Graph, *mat.Dense) {
	c := mat.NewDense(n, n, nil)
	starts, targets, costs := []int{0}, []int{}, []float64{}
	for i, keep := range rng.Perm(n) {
		for j := range n {
			if c.Set(i, j, math.Inf(1)); j == keep || rng.Float64() < share {
				v := offset + rng.NormFloat64()
				c.Set(i, j, v)
				targets, costs = append(targets, j), append(costs, v)
			} else if j == 1 { // listed and forbidden
				targets, costs = append(targets, j), append(costs, math.Inf(1))
			}
		}
		starts = append(starts, len(targets))
	}
	return cost.Sparse(n, starts, targets, costs), c
}

// Far costs are centred, and need reduced costs; half of the pairs keep problems with weights of 0 feasible.
func TestSparse(t *testing.T) {
	rng := seeded(1, 2)
	for _, offset := range []float64{0, 1e5} {
		g, c := sparse(rng, 20, 0.5, offset)
		ottest.Geometry(t, g, c)
	}
}

// Grids of one to three axes, with costs that are convex and that are not.
func TestGrid(t *testing.T) {
	rng := seeded(3, 4)
	for _, shape := range [][][2]int{
		{{7, 5}}, {{3, 4}, {5, 2}}, {{2, 2}, {3, 1}, {2, 3}}, {{6, 6}, {6, 6}},
		{{20, 18}, {16, 17}}, // begins with half of the grid
	} {
		for _, convex := range []bool{true, false} {
			var axes []*mat.Dense
			for _, d := range shape {
				c := filled(d[0], d[1], func(i, j int) float64 {
					if !convex {
						return rng.NormFloat64()
					}
					return float64((i - j) * (i - j))
				})
				axes = append(axes, c)
			}
			g := cost.Grid(axes...)
			n, m := g.Dims()
			want := mat.NewDense(n, m, nil)
			want.Apply(func(i, j int, _ float64) (v float64) {
				for k := len(axes) - 1; k >= 0; k-- {
					rows, cols := axes[k].Dims()
					v += axes[k].At(i%rows, j%cols)
					i, j = i/rows, j/cols
				}
				return v
			}, want)
			ottest.Geometry(t, g, want)
		}
	}
}

// The sharp gradient over listed pairs, by conjugate gradients on them, is that of their matrix and the finite
// difference of the loss; with costs far from 0 too, and a source and a target of weight 0.
func TestSparseGradient(t *testing.T) {
	rng := seeded(4, 2)
	const n = 150
	for _, offset := range []float64{0, 1e5} {
		g, c := sparse(rng, n, 0.3, offset)
		a, b := slices.Repeat([]float64{1}, n), slices.Repeat([]float64{1}, n)
		a[5], a[7] = 0, 2
		b[9], b[7], b[8] = 0, 1.5, 1.5
		gradient := func(g cost.Geometry) (*ot.Gradient, []float64, []float64) {
			p := must.Get(ot.LBFGS{Eps: 0.3, Tol: 1e-12}.Solve(ctx, weighted(g, a, b)))
			of := must.Get(ot.Backward{Tol: 1e-12}.Gradient(ctx, p, ot.Sharp))
			da, db, err := of.Weights()
			if err != nil || of.Status != ot.Converged || of.Method != ot.CG {
				t.Fatal(of, err)
			}
			return of, da, db
		}
		of, da, db := gradient(g)
		dense, wa, wb := gradient(ot.Dense(c))
		for _, w := range []float64{apart(da, wa), apart(db, wb)} {
			if w > 1e-7*max(1, offset/1e3) {
				t.Errorf("offset %g: gradients by weights differ by %g", offset, w)
			}
		}
		pairs := must.Get(of.Pairs())
		got, want := of.Cost(), dense.Cost()
		for i := range n {
			to, _ := g.Arcs(i)
			for k, j := range to {
				if pairs[k] != got.At(i, int(j)) {
					t.Fatalf("pair (%d,%d): %v, in the matrix %v", i, j, pairs[k], got.At(i, int(j)))
				}
			}
			pairs = pairs[len(to):]
		}
		if d := apart(got.RawMatrix().Data, want.RawMatrix().Data); d > 1e-9 {
			t.Errorf("offset %g: gradients by costs differ by %g", offset, d)
		}
		refused(t, "Pairs of a matrix", failure(dense.Pairs()), ot.ErrUnsupported)
		to, costs := g.Arcs(3)
		value := func(by float64) float64 {
			before := costs[0]
			costs[0] += by
			defer func() { costs[0] = before }()
			return must.Get(ot.LBFGS{Eps: 0.3, Tol: 1e-12}.Solve(ctx, weighted(g, a, b))).Sharp()
		}
		h := 1e-3
		if d := (value(h) - value(-h)) / (2 * h); math.Abs(d-got.At(3, int(to[0]))) > 1e-7*max(1, offset/1e2) {
			t.Errorf("offset %g: ∂/∂c = %v, finite difference %v", offset, got.At(3, int(to[0])), d)
		}
	}
}
