package ottest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"coupling/lab/logspace"
	"coupling/ot"
)

// tinyWeights draws weights over twelve decades, one of them of the order of 1.
func tinyWeights(t *rapid.T, name string, n int) []float64 {
	w := rapid.SliceOfN(rapid.Float64Range(-12, 0), n, n).Draw(t, name+" exponents")
	w[0] = 0
	for i, e := range w {
		w[i] = math.Pow(10, e)
	}
	floats.Scale(1/floats.Sum(w), w)
	return w
}

// dustyWeights returns weights of which every other one is below 1e-11 of the others.
func dustyWeights(rng *rand.Rand, n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 0.1 + rng.Float64()
		if i%2 == 1 {
			w[i] *= 1e-11 * rng.Float64()
		}
	}
	floats.Scale(1/floats.Sum(w), w)
	return w
}

// value: at the default tolerance, 1e-9, RegKL is the value of the plan, whatever the weights. An
// atom of weight 1e-11 hardly counts in a marginal error of 1e-9, yet its potential times the error
// of its column is part of the dual's value. A solver that stops at the marginal error must correct
// such columns too.
func (s kit) value(t *rapid.T) {
	// By a seed, since rapid draws mostly round numbers, and problems of round numbers are easy.
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	for range 8 { // one in a hundred fails where a solver is wrong
		n, m := 10+rng.IntN(11), 10+rng.IntN(11)
		g := ot.Points(square(rng, n, 0), square(rng, m, 0.2), ot.SqEuclidean)
		p := ot.Problem{Geometry: g, A: dustyWeights(rng, n), B: dustyWeights(rng, m)}
		eps := math.Pow(10, -1-3*rng.Float64())
		plan, err := s.New(eps, 0).Solve(context.Background(), p)
		if errors.Is(err, ot.ErrUnsupported) {
			continue // kernel scaling may refuse
		}
		if err != nil {
			t.Fatalf("Solve: %v", err)
		}
		if plan.Status != ot.Converged {
			continue // first-order methods may; the other laws ask that their Status says so
		}
		c := ot.Cost(g)
		// With exact rows the two differ by Σ g (Tᵀ1 − b), at most half of 1e-9 times the range of
		// g: that of the costs, for g is a soft minimum of costs.
		within := 1e-9*mat.Max(c) + 1e-13*(mat.Max(c)+eps) + s.cost(c)
		if got, want := plan.RegKL(), Primal(plan, c); !(math.Abs(got-want) <= within) {
			t.Fatalf("ε = %g: RegKL = %v, the plan's value is %v", eps, got, want)
		}
	}
}

// square draws n points of a square.
func square(rng *rand.Rand, n int, at float64) *mat.Dense {
	x := mat.NewDense(n, 2, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return at + rng.Float64() }, x)
	return x
}

// Primal returns Σ T (c + ε log(T/ab)) of the plan's matrix.
func Primal(plan *ot.Plan, c *mat.Dense) float64 {
	T := plan.Matrix()
	var v float64
	for i, a := range plan.A {
		for j, b := range plan.B {
			if x := T.At(i, j); x > 0 {
				v += x * (c.At(i, j) + plan.Eps*(logspace.Log(x)-logspace.Log(a)-logspace.Log(b)))
			}
		}
	}
	return v
}
