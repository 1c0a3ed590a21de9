package ot_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
)

// pixels returns the geometry of n×n pixels of a unit square, and the same as points.
func pixels(n int) (grid, points cost.Geometry, x *mat.Dense) {
	line := mat.NewDense(n, 1, nil)
	x = mat.NewDense(n*n, 2, nil)
	for i := range n {
		line.Set(i, 0, float64(i)/float64(n))
		for j := range n {
			x.SetRow(i*n+j, []float64{float64(i) / float64(n), float64(j) / float64(n)})
		}
	}
	axis := ot.Cost(ot.Points(line, line, ot.SqEuclidean))
	return cost.Grid(axis, axis), ot.Points(x, x, ot.SqEuclidean), x
}

// picture returns positive weights of n×n pixels, but for a share of zeros.
func picture(rng *rand.Rand, n int, zeros float64) []float64 {
	w := make([]float64, n*n)
	for i := range w {
		if rng.Float64() >= zeros {
			w[i] = .1 + rng.Float64() + 3*math.Exp(-float64((i/n-n/3)*(i/n-n/3)+(i%n-n/2)*(i%n-n/2))/20)
		}
	}
	floats.Scale(1/floats.Sum(w), w)
	return w
}

// The sharp gradient by weights, along the axes, is the finite difference of the loss, and that of
// the same problem by points; a target of weight 0 has the one-sided derivative. Costs range over
// 100 ε, so that couplings are looked for.
func TestGridGradient(t *testing.T) {
	rng := seeded(31, 1)
	const n, eps = 14, .02
	grid, points, _ := pixels(n)
	a, b := picture(rng, n, .1), picture(rng, n, .1)
	solver := ot.LBFGS{Eps: eps, Tol: 1e-12}
	weights := func(g cost.Geometry) (da, db []float64, sharp float64) {
		plan := must.Get(solver.Solve(ctx, weighted(g, a, b)))
		of, err := ot.Backward{Tol: 1e-12}.Gradient(ctx, plan, ot.Sharp)
		if err != nil || of.Status != ot.Converged || of.Method != ot.CG {
			t.Fatalf("%v, %+v", err, of)
		}
		if da, db, err = of.Weights(); err != nil {
			t.Fatal(err)
		}
		return da, db, plan.Sharp()
	}
	da, db, sharp := weights(grid)
	pa, pb, want := weights(points)
	if math.Abs(sharp-want) > 1e-12 || apart(da, pa) > 1e-7 ||
		apart(db, pb) > 1e-7 {
		t.Errorf("sharp %v, by points %v; gradients differ by %g and %g", sharp, want,
			apart(da, pa), apart(db, pb))
	}
	const h = 1e-5
	move := func(w []float64, f float64) []float64 {
		out := make([]float64, len(w))
		for i, v := range w {
			out[i] = v * (1 + f*math.Sin(float64(i)))
		}
		floats.Scale(1/floats.Sum(out), out)
		return out
	}
	value := func(f float64) float64 {
		return must.Get(solver.Solve(ctx, weighted(grid, move(a, f), move(b, 2*f)))).Sharp()
	}
	var slope float64
	up, down, upB, downB := move(a, h), move(a, -h), move(b, 2*h), move(b, -2*h)
	for i := range a {
		slope += (da[i]*(up[i]-down[i]) + db[i]*(upB[i]-downB[i])) / (2 * h)
	}
	if want := (value(h) - value(-h)) / (2 * h); math.Abs(slope-want) > 1e-8 {
		t.Errorf("slope %v, finite difference %v", slope, want)
	}
}

// The values of a plan are those of the matrix also where costs, or differences of mass by their penalty, are 1e9 ε,
// and where coarse problems, of another grid of targets than of sources, are solved first. Where rounding is above Tol,
// no solve has converged.
func TestGridValues(t *testing.T) {
	grid, points, _ := pixels(2)
	a := []float64{1, 2, 3, 4}
	c := filled(40, 20, func(i, j int) float64 { return math.Pow(float64(i-2*j+4), 2) })
	for _, k := range []struct {
		s    ot.Solver
		g, h cost.Geometry
		a    []float64
	}{
		{ot.LBFGS{Eps: 1e-9, Tol: 1e-7}, grid, points, a},
		{ot.Unbalanced{Eps: .1, RhoA: forbidden, RhoB: 1e9}, grid, points, a},
		{ot.LBFGS{Eps: 5}, cost.Grid(c), ot.Dense(c), nil},
	} {
		v, w := mustSolve(t, k.s, weighted(k.g, k.a, nil)).Value(), mustSolve(t, k.s, weighted(k.h, k.a, nil)).Value()
		off := max(math.Abs(v.KL-w.KL), math.Abs(v.SumPlogP-w.SumPlogP), 1e4*math.Abs(v.RegKL/w.RegKL-1))
		if !(off < 1e-6) {
			t.Error(v, w)
		}
	}
	far := ot.Unbalanced{Eps: 1e-13, RhoA: 1, RhoB: 1, Penalty: penalties["TV"]}
	for _, g := range []cost.Geometry{grid, points} {
		if p := solved(far, weighted(g, nil, []float64{3: 2})); p.Status != ot.Stagnated {
			t.Error(p)
		}
	}
}

// The divergence on a grid is that of the pixels as points, with its derivatives, and 0 between
// equal measures.
func TestGridDivergence(t *testing.T) {
	rng := seeded(32, 1)
	const n, eps = 12, .05
	grid, points, x := pixels(n)
	a, b := picture(rng, n, .1), picture(rng, n, .1)
	for _, loss := range []ot.Loss{ot.RegKL, ot.RegEntropy, ot.Sharp} {
		d := ot.Divergence{Of: ot.Objective{Solver: ot.LBFGS{Eps: eps, Tol: 1e-11}, Loss: loss}}
		e := ot.Divergence{Of: d.Of}
		got, err := d.On(ctx, grid, a, b, ot.ByWeights)
		want, err2 := e.Eval(ctx, x, x, a, b, ot.SqEuclidean, ot.ByWeights)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if math.Abs(got.Value-want.Value) > 1e-10 || !(max(apart(got.A, want.A), apart(got.B, want.B)) <= 1e-8) {
			t.Errorf("%v: value %v, as points %v; gradients differ by %g and %g", loss, got.Value, want.Value,
				apart(got.A, want.A), apart(got.B, want.B))
		}
		if same, err := d.On(ctx, points, a, a, 0); err != nil || math.Abs(same.Value) > 1e-9 {
			t.Errorf("%v: a measure and itself: %v, %v", loss, same, err)
		}
	}
	d := ot.Divergence{Of: ot.Objective{Solver: ot.LBFGS{Eps: eps}}}
	refused(t, "ByX", failure(d.On(ctx, grid, a, b, ot.ByX)), ot.ErrUnsupported)
	refused(t, "not symmetric", failure(d.On(ctx, ot.Dense(mat.NewDense(2, 3, nil)), nil, nil, 0)), ot.ErrUnsupported)
}

// At ε of a pixel's square potentials are smooth over many pixels: with a metric of single pixels L-BFGS takes
// evaluations in proportion to the side, 130 and 240 here, by coarser grids too less than half.
func TestGridEvaluations(t *testing.T) {
	rng := seeded(33, 1)
	for _, c := range [][2]int{{64, 60}, {128, 80}} {
		side, most := c[0], c[1]
		grid, _, _ := pixels(side)
		bumps := func() []float64 {
			w := make([]float64, side*side)
			for range 5 {
				x, y, sd := rng.Float64(), rng.Float64(), 0.05+0.1*rng.Float64()
				for i := range w {
					dx, dy := float64(i/side)/float64(side)-x, float64(i%side)/float64(side)-y
					w[i] += 2e-4 + math.Exp(-(dx*dx+dy*dy)/(2*sd*sd))
				}
			}
			return w
		}
		a, b := bumps(), bumps()
		floats.Scale(floats.Sum(a)/floats.Sum(b), b)
		s := ot.LBFGS{Eps: 1 / float64(side*side), Tol: 1e-6}
		plan := must.Get(s.Solve(ctx, weighted(grid, a, b)))
		if plan.Status != ot.Converged || plan.Evaluations > most {
			t.Errorf("side %d: %v after %d evaluations, at most %d", side, plan.Status, plan.Evaluations, most)
		}
	}
}
