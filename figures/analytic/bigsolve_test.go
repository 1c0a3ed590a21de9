package analytic

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/ottest"

	"gonum.org/v1/gonum/mat"
)

// The reference gradient is the derivative of the reference loss: central differences, in many bits.
func TestBigGradientIsTheDerivative(t *testing.T) {
	ctx := context.Background()
	prob := clusters(rand.New(rand.NewPCG(1, 2)), 4, 2)
	plan, want := must.Get2(reference(ctx, prob, 0.7))
	c := ot.Cost(prob.Geometry)
	const h = 1e-4
	entries := [][2]int{{1, 5}, {0, 0}, {7, 2}, {7, 7}}
	if testing.Short() {
		entries = entries[:1]
	}
	for _, at := range entries {
		var sharp [2]float64
		for k, d := range []float64{-h, h} {
			moved := mat.DenseCopyOf(c)
			moved.Set(at[0], at[1], c.At(at[0], at[1])+d)
			v := must.Get(solveBig(ctx, moved, plan.A, plan.B, plan.Beta, 0.7))
			sharp[k] = mat.Sum(mulElem(v.plan, moved))
		}
		// The error of the difference is some h²/ε² of the entry, and 1e-16/h of rounding.
		if got, w := (sharp[1]-sharp[0])/(2*h), want.grad.At(at[0], at[1]); math.Abs(got-w) > 1e-6*math.Abs(w)+1e-11 {
			t.Errorf("entry %v: finite difference %g, gradient %g", at, got, w)
		}
	}
}

// The two references, ours and that of the cases of package ottest, agree.
func TestBigSolveAgreesWithReferenceCases(t *testing.T) {
	for _, c := range ottest.Embedded(t) {
		// weights must be positive here
		if c.Name == "24_zero_weights_7x8" || testing.Short() && len(c.A)*len(c.B) > 60 {
			continue
		}
		_, got, err := reference(t.Context(), c.Problem(), c.Eps)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		// Both round once; the weights of the cases sum to one only to rounding, which matters as the condition of the
		// problem does.
		if e := errorOf(got.grad, ottest.Dense(c.Expected.GradSharpM), got.plan).Max; !(e < 1e-13) {
			t.Errorf("%s: references differ by %g", c.Name, e)
		}
	}
}

// Where all is well the paper's formula is right.
func TestPaperFormula(t *testing.T) {
	prob := clusters(rand.New(rand.NewPCG(3, 4)), 4, 0)
	plan, want := must.Get2(reference(t.Context(), prob, 0.7))
	got := must.Get(paperFormula(plan.Matrix(), ot.Cost(prob.Geometry), plan.A, plan.B, plan.Eps))
	if e := errorOf(got, want.grad, want.plan).Max; !(e < 1e-13) { // D's condition is some hundreds
		t.Errorf("relative error %g", e)
	}
}

func mulElem(a, b *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.MulElem(a, b)
	return &out
}
