package ot_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/ottest"
)

// Two atoms a side with c = (0 u; v 0) have T₁₂ = T₂₁ = t, hence β₂ − β₁ = (u−v)/2 at every ε,
// while t falls as e^(−(u+v)/2ε) below rounding. A Coupling that overstated the mass, or left out
// rounding, would have an Error below what is measured.
func TestWeakCouplingIsFlagged(t *testing.T) {
	const u, v = 3, 1
	for _, span := range []float64{2, 20, 40, 60, 80, 120, 400, 2000} {
		eps := (u + v) / span
		for name, s := range solvers(eps, 1e-12) {
			plan := mustSolve(t, s, uniform(ot.Dense(mat.NewDense(2, 2, []float64{0, u, v, 0}))))
			off := math.Abs(plan.Beta[1] - plan.Beta[0] - (u-v)/2.)
			c := plan.Coupling()
			if !(off <= c.Error+1e-12) {
				t.Errorf("%s, costs over %g ε: potentials are off by %g, Error is %g", name, span, off, c.Error)
			}
			if off > 0.01*eps && !c.Undetermined() {
				t.Errorf("%s, costs over %g ε: potentials are off by %g ε, and determined: %v", name, span, off/eps, c)
			}
			grad := must.Get(plan.Grad(ot.Sharp))
			_, _, err := grad.Weights()
			if span <= 40 && err != nil || span >= 80 && !errors.Is(err, ot.ErrUndetermined) {
				t.Errorf("%s, costs over %g ε: gradient by weights: %v", name, span, err)
			}
			vjp, err := ot.Backward{}.VJP(ctx, plan, mat.NewDense(2, 2, []float64{1, 0, 0, 0}))
			if err != nil || (vjp.Status == ot.Undetermined) != c.Undetermined() {
				t.Errorf("%s, costs over %g ε: VJP is %v, %v", name, span, vjp.Status, err)
			}
		}
	}
	// What crosses is the error of the marginals: nothing can come back.
	oneWay := weighted(ot.Dense(mat.NewDense(2, 2, []float64{0, 1, forbidden, 0})), nil, nil)
	grad := must.Get(mustSolve(t, ot.LBFGS{Eps: .3, Tol: 1e-6}, oneWay).Grad(ot.Sharp))
	if _, _, err := grad.Weights(); !errors.Is(err, ot.ErrUndetermined) {
		t.Errorf("one way: gradient by weights: %v", err)
	}
	o := ot.Objective{Solver: ot.LBFGS{Eps: .01}}
	x := mat.NewDense(2, 1, []float64{0, 3})
	term, err := o.Eval(ctx, x, mat.NewDense(2, 1, []float64{.5, 3.2}), nil, nil, ot.SqEuclidean, ot.ByX|ot.ByWeights)
	if err != nil || term.Status != ot.Undetermined {
		t.Errorf("Objective: %+v, %v", term, err)
	}
}

// No cut is much weaker: entries of T above a threshold leave components, each a cut whose
// strongest link is at most that. Its part of the lighter side is at least that of the cut found,
// but for the number of links by which the tree leaves the component. A search that stopped early,
// or took the wrong tree, would find stronger ones. Mass and Of are the matrix's.
func TestCouplingIsTheWeakestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, eps := ottest.Problem(t)
		plan := must.Get(ot.LBFGS{Eps: eps / 5}.Solve(ctx, p))
		c, T, weight := plan.Coupling(), plan.Matrix(), append(slices.Clone(plan.A), plan.B...)
		n, m := plan.Dims()
		// share is the strongest link across a cut over the weight of the lighter side, and mass is all that crosses.
		share := func(side []bool) (share, mass, lighter float64) {
			var most float64
			var of [2]float64
			for k, w := range weight {
				if side[k] {
					of[0] += w
				} else {
					of[1] += w
				}
			}
			for i := range n {
				for j := range m {
					if side[i] != side[n+j] {
						mass, most = mass+T.At(i, j), max(most, T.At(i, j))
					}
				}
			}
			return most / min(of[0], of[1]), mass, min(of[0], of[1])
		}
		side := make([]bool, n+m)
		for _, i := range c.Sources {
			side[i] = true
		}
		for _, j := range c.Targets {
			side[n+j] = true
		}
		least, mass, of := share(side)
		if len(c.Sources)+len(c.Targets) == 0 {
			return
		}
		if !(math.Abs(mass-c.Mass) <= 1e-12*mass && math.Abs(of-c.Of) <= 1e-12*of) {
			t.Fatalf("Mass is %g and Of %g, the matrix has %g and %g", c.Mass, c.Of, mass, of)
		}
		threshold := T.At(rapid.IntRange(0, n-1).Draw(t, "i"), rapid.IntRange(0, m-1).Draw(t, "j"))
		side = make([]bool, n+m)
		side[rapid.IntRange(0, n+m-1).Draw(t, "atom")] = true
		for range n + m {
			for i := range n {
				for j := range m {
					if both := side[i] || side[n+j]; T.At(i, j) > threshold {
						side[i], side[n+j] = both, both
					}
				}
			}
		}
		if got, _, lighter := share(side); got < least/float64(n+m) && lighter > 0 {
			t.Fatalf("a weaker cut than %v has the share %g, this one %g", c, got, least)
		}
	})
}

// The value is below the optimum by at most ½·MarginalL1·(2·range of c + 2ε·columns), as values.go
// states, for atoms that hardly couple, where ε·MarginalL1·√Tol is no bound. Values made from
// unconverged rows would be above the optimum.
func TestValueBound(t *testing.T) {
	x := mat.NewDense(4, 2, []float64{0, 0, .2, .1, .9, .7, .5, 1})
	c := ot.Cost(ot.Points(x, x, ot.SqEuclidean))
	for _, eps := range []float64{.3, .03, .01, .003} {
		exact := solved(ot.Newton{Eps: eps, Tol: 1e-14}, uniform(ot.Dense(c)))
		for _, tol := range []float64{1e-3, 1e-6, 1e-9} {
			for _, s := range solvers(eps, tol) {
				p := solved(s, uniform(ot.Dense(c)))
				// The reference's own L1 error, 1e-14, and rounding of values of the order of 1.
				gap, bound := exact.RegKL()-p.RegKL(), p.MarginalL1*(floats.Max(c.RawMatrix().Data)+eps*math.Sqrt(tol))
				if !(gap <= bound+2e-14 && gap >= -2e-14) {
					t.Errorf("%s, ε = %g, Tol = %g: below the optimum by %g, not %g", p.Solver, eps, tol, gap, bound)
				}
			}
		}
	}
}

// What a plan computes at the first call it computes once, whichever goroutine calls: a race
// detector fails without the locks.
func TestPlanIsShared(t *testing.T) {
	x := mat.NewDense(4, 2, []float64{0, 0, .2, .1, .9, .7, .5, 1})
	p := solved(ot.LBFGS{Eps: .01}, uniform(ot.Points(x, x, ot.SqEuclidean)))
	want, values := p.Coupling().String(), make(chan ot.Values)
	for range 4 {
		go func() {
			if got := p.Coupling().String(); got != want {
				t.Errorf("Coupling is %s, then %s", want, got)
			}
			values <- p.Value()
		}()
	}
	first := <-values
	for range 3 {
		if v := <-values; v != first {
			t.Errorf("values are %v and %v", first, v)
		}
	}
}
