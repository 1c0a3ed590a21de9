package scones

import (
	"errors"
	"math"
	"testing"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/score"

	"gonum.org/v1/gonum/mat"
)

// On the atoms the extension is the potential of the plan, and its conditional law the plan's row,
// for every divergence.
func TestExtendedIsThePlan(t *testing.T) {
	rng := seeded(3)
	x, y := normal(rng, 30, 3), normal(rng, 20, 3)
	for _, f := range fdiv.All() {
		for _, mean := range []bool{false, true} {
			plan, phi, psi, err := FitRegularised(t.Context(), Compatibility{F: f, Lambda: 1.5}, x, y, mean)
			if err != nil || plan.Status != ot.Converged {
				t.Fatal(f, err)
			}
			a, b := make([]float64, 30), make([]float64, 20)
			must.Do(phi.Eval(a, nil, x))
			must.Do(psi.Eval(b, nil, y))
			for i, v := range a { // the solver's marginals are right to 1e-9
				if math.Abs(v-plan.Phi[i]) > 1e-6 {
					t.Errorf("%v: φ(x_%d) = %g, the plan's is %g", f, i, v, plan.Phi[i])
				}
			}
			for j, v := range b {
				if math.Abs(v-plan.Psi[j]) > 1e-6 {
					t.Errorf("%v: ψ(y_%d) = %g, the plan's is %g", f, j, v, plan.Psi[j])
				}
			}
			rows := plan.Matrix()
			rows.Scale(30, rows)
			if got := phi.Conditional(x); !mat.EqualApprox(got, rows, 1e-6) {
				t.Errorf("%v: conditional laws are not the plan's rows", f)
			}
			means := new(mat.Dense)
			means.Mul(rows, y)
			if !mat.EqualApprox(phi.Barycentric(x), means, 1e-6) {
				t.Errorf("%v: barycentric projections differ", f)
			}
			gradientsAreRight(t, f.String(), psi, normal(seeded(4), 5, 3)) // no kink of ψ lies between the differences
		}
	}
}

// Under KL it is Discrete.
func TestExtendedUnderKL(t *testing.T) {
	x, y, plan := clouds(t, seeded(5), 12, 9, 2, .8)
	want, _, err := FromPlan(plan, x, y, false)
	must.Do(err)
	_, phi, _, err := FitRegularised(t.Context(), Compatibility{Lambda: .8}, x, y, false)
	must.Do(err)
	at := normal(seeded(6), 7, 2)
	if got, want := phi.Conditional(at), want.Conditional(at); !mat.EqualApprox(got, want, 1e-7) {
		t.Errorf("conditional laws\n%v, want\n%v", mat.Formatted(got), mat.Formatted(want))
	}
}

// 4000 draws: counts within 4.5 standard errors, and none of an atom that the source is not linked with.
func TestExtendedDraws(t *testing.T) {
	rng := seeded(7)
	x, y := normal(rng, 15, 2), normal(rng, 10, 2)
	_, phi, _, err := FitRegularised(t.Context(), Compatibility{F: fdiv.ChiSquare, Lambda: .3}, x, y, false)
	must.Do(err)
	source := x.Slice(0, 1, 0, 2).(*mat.Dense)
	law, count := phi.Conditional(source).RawRowView(0), make([]float64, 10)
	drawn := phi.DrawPoints(seeded(8), score.RepeatRows(source, 4000))
	for i := range 4000 {
		for j := range count {
			if drawn.At(i, 0) == y.At(j, 0) {
				count[j] += 1. / 4000
			}
		}
	}
	linked := 0
	for j, p := range law {
		if p > 0 {
			linked++
		}
		if p == 0 && count[j] > 0 || math.Abs(count[j]-p) > 4.5*math.Sqrt(p*(1-p)/4000)+3./4000 {
			t.Errorf("atom %d drawn with share %.4f, probability %.4f", j, count[j], p)
		}
	}
	if linked == 0 || linked == 10 {
		t.Errorf("%d of 10 atoms are linked: no test of a sparse plan", linked)
	}
}

// Samples under χ² with a sharp soft-plus have the conditional law of the plan: exact on a grid of the line.
func TestExtendedIsSampled(t *testing.T) {
	rng := seeded(9)
	x, y := normal(rng, 20, 1), normal(rng, 20, 1)
	k := Compatibility{F: fdiv.ChiSquare, Lambda: 2}
	_, phi, psi, err := FitRegularised(t.Context(), k, x, y, false)
	must.Do(err)
	k.Beta = 20
	c := Coupling{
		Compatibility: k,
		Phi:           phi,
		Psi:           psi,
		Target:        must.Get(score.NewGaussian(nil, mat.NewSymDense(1, []float64{1}))),
	}
	const n = 1500
	source := mat.NewDense(1, 1, []float64{1})
	xs := score.RepeatRows(source, n)
	field := must.Get(c.Given(xs))
	chain := score.Start(seeded(10), xs)
	_, err = score.MALA{Steps: 60, Step: .3}.Run(t.Context(), field, chain)
	must.Do(err)
	var mass, mean, square float64
	one := must.Get(c.Given(source))
	for at := -5.; at < 5; at += .01 {
		v := make([]float64, 1)
		must.Do(one.LogDensity(v, mat.NewDense(1, 1, []float64{at}), 0))
		w := math.Exp(v[0])
		mass, mean, square = mass+w, mean+w*at, square+w*at*at
	}
	mean /= mass
	sd := math.Sqrt(square/mass - mean*mean)
	if got := mat.Sum(chain.X) / n; math.Abs(got-mean) > 4.5*sd/math.Sqrt(n) || mean < .1 {
		t.Errorf("mean %.3f, want %.3f ± %.3f, and not that of the target", got, mean, sd/math.Sqrt(n))
	}
}

func TestFitRegularisedRefuses(t *testing.T) {
	x := normal(seeded(1), 4, 2)
	if _, _, _, err := FitRegularised(t.Context(), Compatibility{F: fdiv.ChiSquare}, x, x, false); !errors.Is(err,
		ErrParameter) {
		t.Errorf("λ = 0: %v", err)
	}
	if _, _, _, err := FitRegularised(t.Context(), Compatibility{Lambda: 1}, x, normal(seeded(1), 4, 3),
		false); !errors.Is(err, ErrShape) {
		t.Errorf("another dimension: %v", err)
	}
	plan, phi, _, err := FitRegularised(t.Context(), Compatibility{Lambda: 1}, x, x, false)
	must.Do(err)
	if _, _, err := FromRegularised(plan, x, normal(seeded(1), 5, 2), false); !errors.Is(err, ErrShape) {
		t.Errorf("points of another plan: %v", err)
	}
	if err := phi.Eval(nil, nil, mat.NewDense(1, 3, nil)); !errors.Is(err, ErrShape) {
		t.Errorf("a point of another dimension: %v", err)
	}
}
