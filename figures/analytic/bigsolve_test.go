package analytic

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/ot"

	"gonum.org/v1/gonum/mat"
)

func TestBigExponential(t *testing.T) {
	e := newExponential2()
	for _, x := range []float64{0, 1, -1, 0.5, -700, 700, 1e-20, 3.25} {
		got, _ := e.of(bigOf(x)).Float64()
		// math.Exp is within an ulp of the truth.
		if want := math.Exp(x); math.Abs(got-want) > 3e-16*want {
			t.Errorf("exp(%g) = %g, want %g", x, got, want)
		}
	}
	// exp(x)·exp(−x) = 1 to nearly all bits, far outside of float64's range too.
	for _, x := range []float64{1, 17.3, 5000} {
		p := bigOf(0).Mul(e.of(bigOf(x)), e.of(bigOf(-x)))
		d, _ := p.Sub(p, bigOf(1)).Float64()
		if math.Abs(d) > math.Ldexp(1, 16-bits) {
			t.Errorf("exp(%g)·exp(−%g) − 1 = %g", x, x, d)
		}
	}
}

// The reference gradient is the derivative of the reference loss: central differences, in many bits.
func TestBigGradientIsTheDerivative(t *testing.T) {
	ctx := context.Background()
	prob := clusters(rand.New(rand.NewPCG(1, 2)), 4, 2)
	plan, want, err := reference(ctx, prob, 0.7)
	if err != nil {
		t.Fatal(err)
	}
	c := ot.Cost(prob.Geometry)
	const h = 1e-4
	for _, at := range [][2]int{{0, 0}, {1, 5}, {7, 2}, {7, 7}} {
		var sharp [2]float64
		for k, d := range []float64{-h, h} {
			moved := mat.DenseCopyOf(c)
			moved.Set(at[0], at[1], c.At(at[0], at[1])+d)
			v, err := solveBig(ctx, moved, plan.A, plan.B, plan.Beta, 0.7)
			if err != nil {
				t.Fatal(err)
			}
			sharp[k] = mat.Sum(mulElem(v.plan, moved))
		}
		// The error of the difference is some h²/ε² of the entry, and 1e-16/h of rounding.
		if got, w := (sharp[1]-sharp[0])/(2*h), want.grad.At(at[0], at[1]); math.Abs(got-w) > 1e-6*math.Abs(w)+1e-11 {
			t.Errorf("entry %v: finite difference %g, gradient %g", at, got, w)
		}
	}
}

// The two references, ours and that of the shared cases, agree.
func TestBigSolveAgreesWithReferenceCases(t *testing.T) {
	refs := refCases(0)
	compared := 0
	for _, p := range refs {
		c, err := openRef(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.A)*len(c.B) > 400 || len(c.B) == 1 || p.Case == "24_zero_weights_7x8" {
			continue
		}
		_, got, err := reference(t.Context(), c.problem(), c.Eps)
		if err != nil {
			t.Fatalf("%s: %v", p.Case, err)
		}
		// Both round once; the weights of the shared cases sum to one only to rounding, which matters as the condition
		// of the problem does.
		if e := errorOf(got.grad, dense(c.Expected.Grad), got.plan).Max; !(e < 1e-13) {
			t.Errorf("%s: references differ by %g", p.Case, e)
		}
		compared++
	}
	if compared == 0 {
		t.Skip("no ../shared/refs/ot above the working directory: the reference solver is not compared with it")
	}
}

// Where all is well the paper's formula is right.
func TestPaperFormula(t *testing.T) {
	prob := clusters(rand.New(rand.NewPCG(3, 4)), 4, 0)
	plan, want, err := reference(t.Context(), prob, 0.7)
	if err != nil {
		t.Fatal(err)
	}
	got, err := paperFormula(plan.Matrix(), ot.Cost(prob.Geometry), plan.A, plan.B, plan.Eps)
	if err != nil {
		t.Fatal(err)
	}
	if e := errorOf(got, want.grad, want.plan).Max; !(e < 1e-13) { // D's condition is some hundreds
		t.Errorf("relative error %g", e)
	}
}

func mulElem(a, b *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.MulElem(a, b)
	return &out
}
