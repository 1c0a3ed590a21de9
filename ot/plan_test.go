package ot_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/ottest"
	"coupling/ot/penalty"
)

// byPair is the cost matrix one pair at a time.
func byPair(x, y *mat.Dense, c cost.PointCost) *mat.Dense {
	n, _ := x.Dims()
	m, _ := y.Dims()
	return filled(n, m, func(i, j int) float64 { return c.Cost(x.RawRowView(i), y.RawRowView(j)) })
}

func TestPointCosts(t *testing.T) {
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) { ottest.PointCost(t, kind, 2) })
	}
}

func TestGeometries(t *testing.T) {
	for name, kind := range kinds() {
		for _, d := range []int{2, 7} {
			if name == "func" && d != 2 {
				continue
			}
			t.Run(fmt.Sprintf("%s/d=%d", name, d), func(t *testing.T) {
				rng := seeded(1, uint64(d))
				x, y := cloud(rng, 13, d, 1, 0), cloud(rng, 19, d, 1, 0.5)
				want := byPair(x, y, kind)
				ottest.Geometry(t, ot.Points(x, y, kind), want)
				ottest.Geometry(t, ot.MatrixFree(x, y, kind), want)
				ottest.Geometry(t, ot.Dense(want), want)
				ottest.Geometry(t, ot.Dense(want.T().T()), want)
				if !mat.EqualApprox(ot.Cost(ot.Points(x, y, kind)), want, 1e-12) {
					t.Error("Cost differs")
				}
			})
		}
	}
	big := cloud(seeded(2, 2), 9, 8, 1, 0)
	ottest.Geometry(t, ot.Dense(big.Slice(2, 7, 1, 5)), mat.DenseCopyOf(big.Slice(2, 7, 1, 5)))
}

func TestKnownCosts(t *testing.T) {
	x, y := []float64{3, 0}, []float64{0, -4}
	for _, c := range []struct {
		kind cost.PointCost
		want float64
	}{
		{ot.SqEuclidean, 25},
		{ot.L1, 7},
		{ot.Euclidean, 5},
		{ot.Cosine, 1},
		{cost.SqEuclideanL1(2), 39},
		{cost.Power(3), 125},
	} {
		if got := c.kind.Cost(x, y); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: cost %v, want %v", c.kind, got, c.want)
		}
		// At x = y, and where a vector is 0, gradients are defined as 0 (cosine: not at x = y only).
		d := make([]float64, 2)
		c.kind.Grad(d, nil, 1, make([]float64, 2), make([]float64, 2))
		if d[0] != 0 || d[1] != 0 {
			t.Errorf("%v: gradient %v at x = y = 0", c.kind, d)
		}
	}
	if got := ot.Cosine.Cost([]float64{1, 2}, []float64{-2, -4}); math.Abs(got-2) > 1e-15 {
		t.Errorf("cosine cost of opposite vectors is %v, want 2", got)
	}
}

// A user's geometry: n and m from nothing but a function.
type chessboard struct{ n, m int }

func (c chessboard) Dims() (int, int) { return c.n, c.m }
func (c chessboard) Row(i int, buf []float64) []float64 {
	for j := range buf {
		buf[j] = float64((i + j) % 2)
	}
	return buf
}

func TestUserGeometry(t *testing.T) {
	want := filled(5, 4, func(i, j int) float64 { return float64((i + j) % 2) })
	ottest.Geometry(t, chessboard{5, 4}, want)
}

// Weights of any total are normalised.
func TestNormalised(t *testing.T) {
	c := mat.NewDense(2, 2, []float64{0, 1, 2, 0})
	one := solved(ot.LBFGS{Eps: 0.5}, ot.Problem{Geometry: ot.Dense(c), A: []float64{.25, .75}})
	for _, f := range []float64{1e-300, 7, 1e300} {
		p := solved(ot.LBFGS{Eps: 0.5}, ot.Problem{Geometry: ot.Dense(c), A: []float64{.25 * f, .75 * f}})
		if !mat.EqualApprox(p.Matrix(), one.Matrix(), 1e-14) || math.Abs(p.A[0]-.25) > 1e-15 {
			t.Errorf("weights times %g: A = %v", f, p.A)
		}
	}
}

func TestPlanProducts(t *testing.T) {
	rng := seeded(3, 3)
	const n, m = 150, 130 // several spans
	x, y := cloud(rng, n, 3, 1, 0), cloud(rng, m, 3, 1, 0)
	a, b := simplex(rng, n), simplex(rng, m)
	a[7], b[9] = 0, 0
	for name, g := range map[string]cost.Geometry{"held": ot.Points(x, y, ot.L1), "free": ot.MatrixFree(x, y, ot.L1)} {
		p := solved(ot.LBFGS{Eps: 0.2, Tol: 1e-11}, weighted(g, scaleTo1(a), scaleTo1(b)))
		T := p.Matrix()
		u, v := simplex(rng, n), simplex(rng, m)
		var Tv, Tu mat.VecDense
		Tv.MulVec(T, mat.NewVecDense(m, v))
		Tu.MulVec(T.T(), mat.NewVecDense(n, u))
		if got := mat.NewVecDense(n, p.Apply(v)); !mat.EqualApprox(got, &Tv, 1e-15) {
			t.Errorf("%s: Apply differs from the matrix", name)
		}
		if got := mat.NewVecDense(m, p.ApplyT(u)); !mat.EqualApprox(got, &Tu, 1e-15) {
			t.Errorf("%s: ApplyT differs from the matrix", name)
		}
		bar := p.Barycentric(y)
		var Ty mat.Dense
		Ty.Mul(T, y)
		for i := range n {
			for k := range 3 {
				if p.A[i] == 0 {
					continue
				}
				if want := Ty.At(i, k) / p.A[i]; math.Abs(bar.At(i, k)-want) > 1e-12 {
					t.Errorf("%s: Barycentric[%d,%d] = %v, want %v", name, i, k, bar.At(i, k), want)
				}
			}
		}
		if v := bar.At(7, 0); v != v || math.Abs(v) > 5 {
			t.Errorf("%s: barycentre of a source of weight 0 is %v", name, v)
		}
	}
}

// The frequencies of 100,000 pairs are the plan's, within five standard errors.
func TestSample(t *testing.T) {
	rng := seeded(4, 4)
	c := cloud(rng, 5, 4, 1, 0)
	p := solved(ot.LBFGS{Eps: 0.3}, weighted(ot.Dense(c), []float64{.1, .2, 0, .3, .4}, []float64{0, .5, .2, .3}))
	const k = 100_000
	is, js := p.Sample(rng, k)
	count := mat.NewDense(5, 4, nil)
	for s := range is {
		count.Set(is[s], js[s], count.At(is[s], js[s])+1)
	}
	T := p.Matrix()
	for i := range 5 {
		for j := range 4 {
			q := T.At(i, j)
			if got := count.At(i, j) / k; math.Abs(got-q) > 5*math.Sqrt(q*(1-q)/k) {
				t.Errorf("pair %d,%d drawn with frequency %v, want %v", i, j, got, q)
			}
		}
	}
	if i, j := p.Sample(rng, 0); len(i) != 0 || len(j) != 0 {
		t.Error("a sample of 0 pairs is not empty")
	}
}

// Solving in spans, on active lists, by stored kernels and in the log domain is one and the same.
func TestPassesAgree(t *testing.T) {
	rng := seeded(5, 5)
	const n, m = 260, 240
	x, y := cloud(rng, n, 2, 1, 0), cloud(rng, m, 2, 1, 0.3)
	p := weighted(ot.Points(x, y, ot.SqEuclidean), simplex(rng, n), simplex(rng, m))
	for _, eps := range []float64{2, 0.1, 0.004} {
		W := solved(ot.Newton{Eps: eps, Tol: 1e-13}, p).Matrix() // tight: differences first, no fast pass at the end
		for name, q := range map[string]ot.Problem{"held": p,
			"free": {Geometry: ot.MatrixFree(x, y, ot.SqEuclidean), A: p.A, B: p.B}} {
			got := solved(ot.LBFGS{Eps: eps, Tol: 1e-8}, q) // loose: kernels, fused passes, lists
			if l1 := ottest.L1Error(got); got.Status != ot.Converged || math.Abs(l1-got.MarginalL1) > 1e-12 {
				t.Errorf("%s, ε = %g: %v says L1 error %g, the matrix says %g", name, eps, got.Status,
					got.MarginalL1, l1)
			}
			if !mat.EqualApprox(got.Matrix(), W, 1e-8) {
				t.Errorf("%s, ε = %g: plans differ by more than the marginals' error", name, eps)
			}
		}
	}
}

// The values' conventions on the product plan, where they are known: c = 0 gives T = abᵀ.
func TestValuesOfProduct(t *testing.T) {
	a, b := []float64{.25, .75}, []float64{.5, .3, .2}
	p := solved(ot.Sinkhorn{Eps: 2}, weighted(ot.Dense(mat.NewDense(2, 3, nil)), a, b))
	h := 0.0
	for _, w := range append(a, b...) {
		h += w * math.Log(w)
	}
	v := p.Value()
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"Sharp", v.Sharp, 0}, {"KL", v.KL, 0}, {"RegKL", v.RegKL, 0}, {"SumPlogP", v.SumPlogP, h},
		{"RegEntropy", v.RegEntropy, 2 * h}, {"RegEntropyMinus1", v.RegEntropyMinus1, 2*h - 2}, {"Mass", v.Mass, 1},
	} {
		if math.Abs(x.got-x.want) > 1e-14 {
			t.Errorf("%s = %v, want %v", x.name, x.got, x.want)
		}
	}
}

// objective is the unbalanced objective of a plan.
func objective(T, c *mat.Dense, a, b []float64, eps float64, rho [2]float64) float64 {
	n, m := T.Dims()
	rows, cols := make([]float64, n), make([]float64, m)
	for i := range rows {
		rows[i] = mat.Sum(T.RowView(i))
	}
	for j := range cols {
		cols[j] = mat.Sum(T.ColView(j))
	}
	var product mat.Dense
	product.Outer(1, mat.NewVecDense(n, a), mat.NewVecDense(m, b))
	of := func(rho float64, p, q []float64) float64 { return penalty.Term{Rho: rho}.Of(p, q) }
	return floats.Dot(T.RawMatrix().Data, c.RawMatrix().Data) +
		of(eps, T.RawMatrix().Data, product.RawMatrix().Data) + of(rho[0], rows, a) + of(rho[1], cols, b)
}

// With both marginals exact, and in the limit of large prices, unbalanced transport is balanced.
func TestUnbalancedLimit(t *testing.T) {
	rng := seeded(7, 7)
	p := uniform(ot.Dense(cloud(rng, 6, 5, 1, 0)))
	want := solveTight(t, p, 0.3)
	for _, rho := range []float64{math.Inf(1), 1e7} {
		got := solved(ot.Unbalanced{Eps: 0.3, RhoA: rho, RhoB: rho, Tol: 1e-12}, p)
		if !mat.EqualApprox(got.Matrix(), want.Matrix(), 1e-6) {
			t.Errorf("ρ = %g: plan differs from the balanced one", rho)
		}
		refused(t, "gradient of an unbalanced plan", failure(got.Grad(ot.Sharp)), ot.ErrUnsupported)
	}
	_, err := ot.Unbalanced{Eps: 0.3, RhoA: math.Inf(1), RhoB: math.Inf(1)}.Solve(ctx,
		weighted(p.Geometry, []float64{1, 1, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 1}))
	if !errors.Is(err, ot.ErrWeights) {
		t.Errorf("unequal totals with exact marginals: err = %v, want ErrWeights", err)
	}
}

// High prices need no more steps than exact marginals: without the best constant moved between the potentials, the
// first of these takes 90,000 and the second does not end. Marginals are as the potentials say, though these are 1e8
// and ε 0.1.
func TestUnbalancedHighPrices(t *testing.T) {
	rng := seeded(8, 7)
	c := cloud(rng, 4, 5, 0.3, 0.5)
	a, b := simplex(rng, 4), simplex(rng, 5)
	b[0] *= 2
	for _, rho := range [][2]float64{{1e3, 1e3}, {1e8, 1e8}, {math.Inf(1), 1e3}, {1, math.Inf(1)}, {1e-3, 1e6}} {
		p := solved(ot.Unbalanced{Eps: 0.1, RhoA: rho[0], RhoB: rho[1]},
			weighted(ot.Dense(c), a, b))
		if p.Status != ot.Converged || p.Iterations > 200 {
			t.Errorf("ρ = %v: %v after %d iterations, want converged after 200 at most", rho, p.Status, p.Iterations)
		}
		if l1, want := penalisedError(p, rho[0], rho[1]), 1.1e-9*total(b); l1 > want {
			t.Errorf("ρ = %v: marginals are off by %g, want %g at most", rho, l1, want)
		}
		if best := objective(p.Matrix(), c, a, b, 0.1, rho); math.Abs(p.RegKL()-best) > 1e-12*math.Abs(best)+1e-9 {
			t.Errorf("ρ = %v: RegKL = %v, the matrix's objective is %v", rho, p.RegKL(), best)
		}
	}
}

// A plan at its own points is itself, and elsewhere it is what its definition says.
func TestAt(t *testing.T) {
	rng := seeded(21, 1)
	x, y := cloud(rng, 12, 2, 1, 0), cloud(rng, 9, 2, 1, 1)
	b := simplex(rng, 9)
	b[4] = 0
	plan := solveTight(t, ot.Problem{Geometry: ot.Points(x, y, ot.L1), B: b}, 0.3)
	same := must.Get(plan.At(x))
	if !mat.EqualApprox(same.Matrix(), plan.Matrix(), 1e-13) || !floats.EqualApprox(same.F, plan.F, 1e-12) {
		t.Error("at its own sources a plan is not itself")
	}
	back := must.Get(plan.AtTargets(y))
	if !floats.EqualApprox(back.F, plan.G, 1e-12) {
		t.Error("at its own targets a plan does not have its potentials")
	}
	z := cloud(rng, 5, 2, 2, 0)
	ext := must.Get(plan.At(z))
	T := ext.Matrix()
	for i := range 5 {
		var s float64
		for j, w := range plan.B {
			s += w * math.Exp((plan.G[j]-ot.L1.Cost(z.RawRowView(i), y.RawRowView(j)))/0.3)
		}
		if f := -0.3 * math.Log(s); math.Abs(f-ext.F[i]) > 1e-12 {
			t.Errorf("f(z[%d]) = %v, want %v", i, ext.F[i], f)
		}
		if s := floats.Sum(T.RawRowView(i)); math.Abs(s-0.2) > 1e-14 {
			t.Errorf("row %d sums to %v", i, s)
		}
	}
	bare := solveTight(t, uniform(ot.Dense(mat.NewDense(2, 2, nil))), 1)
	refused(t, "a plan without points", failure(bare.At(z)), ot.ErrUnsupported)
}

// The plan between a cloud and itself, at a small ε, is a dark diagonal.
func TestPicture(t *testing.T) {
	for _, n := range []int{5, 500} {
		x := mat.NewDense(n, 1, nil)
		for i := range n {
			x.Set(i, 0, float64(i))
		}
		p := solved(ot.LBFGS{Eps: .01}, uniform(ot.Points(x, x, ot.SqEuclidean)))
		img := p.Picture()
		b := img.Bounds()
		dark := func(x, y int) bool { r, _, _, _ := img.At(x, y).RGBA(); return r < 0x4000 }
		if b.Dx() > 400 || b.Dx() < 100 || !dark(0, 0) || !dark(b.Dx()-1, b.Dy()-1) || dark(b.Dx()-1, 0) {
			t.Errorf("n = %d: %v", n, b)
		}
	}
}

// A plan made by hand has no geometry to differentiate.
func TestPlanByHand(t *testing.T) {
	refused(t, "a plan by hand", failure((&ot.Plan{}).GradX()), ot.ErrUnsupported)
}

// At large ε LBFGS needs fewer evaluations than Scaling, whose evaluations cost as much: here three
// fifths to three quarters.
func TestLargeEps(t *testing.T) {
	for seed := range uint64(5) {
		rng := seeded(seed, 12)
		p := weighted(ot.Points(cloud(rng, 500, 2, 1, 0), cloud(rng, 500, 2, 1, 0.5), ot.SqEuclidean),
			simplex(rng, 500), simplex(rng, 500))
		for _, eps := range []float64{1.4, 0.45} { // .3 and .1 of the mean cost
			for _, tol := range []float64{1e-6, 1e-9, 1e-12} {
				of := func(s ot.Solver) int { return mustSolve(t, s, p).Evaluations }
				if got, most := of(ot.LBFGS{Eps: eps, Tol: tol}), of(ot.Scaling{Eps: eps, Tol: tol}); 5*got > 4*most {
					t.Errorf("seed %d, ε = %g, Tol = %g: %d evaluations, Scaling takes %d", seed, eps, tol, got, most)
				}
			}
		}
	}
}
