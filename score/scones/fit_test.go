package scones

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"coupling/data/synth"
	"coupling/lab/must"

	"gonum.org/v1/gonum/mat"
)

// Samples of new sources lie where the discrete plan puts them: their conditional means are its barycentric projection,
// and all together they look like the target.
func TestFit(t *testing.T) {
	if testing.Short() {
		t.Skip("trains potentials")
	}
	rng := seeded(1)
	x, y := normal(rng, 400, 2), must.Get(synth.Moons(rng, 400, .05))
	fitted := must.Get(Fit{Lambda: .5}.Run(t.Context(), rng, x, y))
	sources := normal(rng, 100, 2)
	const k = 30
	out := must.Get(fitted.Sample(t.Context(), rng, sources, k))
	if fitted.Acceptance < .3 {
		t.Errorf("acceptance %.2f", fitted.Acceptance)
	}
	bp := fitted.FromPhi.Barycentric(sources)
	far, off := 0, 0.
	for i := range 100 {
		for j := range 2 {
			mean := 0.
			for r := range k {
				mean += out.At(i*k+r, j) / k
			}
			off += (mean - bp.At(i, j)) * (mean - bp.At(i, j)) / 200
		}
		for r := range k {
			best := math.Inf(1)
			for m := range 400 {
				best = min(best, math.Hypot(out.At(i*k+r, 0)-y.At(m, 0), out.At(i*k+r, 1)-y.At(m, 1)))
			}
			if best > .2 {
				far++
			}
		}
	}
	if rms := math.Sqrt(off); rms > .15 { // conditional deviations are some .5, over √30
		t.Errorf("conditional means are %.3f from the barycentric projection", rms)
	}
	if share := float64(far) / (100 * k); share > .01 {
		t.Errorf("%.1f %% of the samples are far from the target", 100*share)
	}
}

func ExampleFit() {
	rng := rand.New(rand.NewPCG(1, 2))
	x, _ := synth.Normal(rng, 300, 2)
	y, _ := synth.EightGaussians(rng, 300, 3, .1)
	fitted, err := Fit{Lambda: 1}.Run(context.Background(), rng, x, y)
	if err != nil {
		fmt.Println(err)
		return
	}
	samples, err := fitted.Sample(context.Background(), rng, mat.NewDense(1, 2, []float64{1.5, 0}), 5)
	if err != nil {
		fmt.Println(err)
		return
	}
	n, d := samples.Dims()
	fmt.Println(fitted.Plan.Status, n, d)
	// Output:
	// converged 5 2
}

// A cloud that is moved as a whole leaves λ and the plan as they are, and moves the samples with it.
func TestFitOfMovedClouds(t *testing.T) {
	rng := seeded(3)
	x, y := normal(rng, 60, 2), must.Get(synth.Moons(rng, 80, .05))
	const by = 37.
	far := mat.DenseCopyOf(y)
	far.Apply(func(_, _ int, v float64) float64 { return v + by }, y)
	a, b := must.Get(Fit{Steps: 5}.Run(t.Context(), rng, x, y)), must.Get(Fit{Steps: 5}.Run(t.Context(), rng, x, far))
	if math.Abs(a.Lambda/b.Lambda-1) > 1e-12 {
		t.Errorf("lambda = %g, and %g after a translation", a.Lambda, b.Lambda)
	}
	u, v := a.FromPhi.Conditional(x), b.FromPhi.Conditional(x)
	u.Sub(u, v)
	if off := mat.Norm(u, math.Inf(1)); off > 1e-3 { // two solves to the tolerance of the solver
		t.Errorf("conditional laws differ by %g in total", off)
	}
	if whole := must.Get(Fit{Mean: true, Steps: 5}.Run(t.Context(), rng, x, y)).
		Lambda; math.Abs(whole-a.Lambda/2) > 1e-12*whole {
		t.Errorf("lambda = %g of the mean of two squares, %g of their sum", whole, a.Lambda)
	}
	// Both at one place, however far: there is no scale to take λ from.
	place := mat.NewDense(3, 2, []float64{.1, .3, .1, .3, .1, .3})
	if err := must.Err(Fit{Bandwidth: 1}.Run(t.Context(), rng, place, mat.NewDense(1, 2, nil))); !errors.Is(err,
		ErrParameter) {
		t.Errorf("two places: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := a.Sample(ctx, rng, x, 1); out != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, %v", out, err)
	}
	if err := must.Err(Fit{Bandwidth: 1e-200}.Run(t.Context(), rng, x, y)); err == nil ||
		!strings.Contains(err.Error(), "bandwidth = 1e-200") {
		t.Errorf("bandwidth 1e-200: error %v", err)
	}
}
