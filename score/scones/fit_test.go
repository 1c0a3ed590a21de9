package scones

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/data/synth"

	"gonum.org/v1/gonum/mat"
)

// Samples of new sources lie where the discrete plan puts them: their conditional means are its barycentric projection,
// and all together they look like the target.
func TestFit(t *testing.T) {
	rng := seeded(1)
	x, y := must(synth.Normal(rng, 400, 2)), must(synth.Moons(rng, 400, .05))
	fitted := must(Fit{Lambda: .5}.Run(t.Context(), x, y, rng))
	sources := must(synth.Normal(rng, 100, 2))
	const k = 30
	out := must(fitted.Sample(t.Context(), sources, k, rng))
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

func TestFitRefuses(t *testing.T) {
	rng := seeded(2)
	x, nan := must(synth.Normal(rng, 5, 2)), mat.NewDense(1, 2, []float64{0, math.NaN()})
	same := mat.NewDense(3, 2, nil)
	for name, err := range map[string]error{
		"nan":       second(Fit{}.Run(t.Context(), x, nan, rng)),
		"dimension": second(Fit{}.Run(t.Context(), x, mat.NewDense(3, 1, nil), rng)),
		"empty":     second(Fit{}.Run(t.Context(), x, &mat.Dense{}, rng)),
		"lambda":    second(Fit{Lambda: -1}.Run(t.Context(), x, x, rng)),
		"one place": second(Fit{}.Run(t.Context(), x, same, rng)),
	} {
		if !errors.Is(err, ErrParameter) && !errors.Is(err, ErrShape) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func ExampleFit() {
	rng := rand.New(rand.NewPCG(1, 2))
	x, _ := synth.Normal(rng, 300, 2)
	y, _ := synth.EightGaussians(rng, 300, 3, .1)
	fitted, err := Fit{Lambda: 1}.Run(context.Background(), x, y, rng)
	if err != nil {
		fmt.Println(err)
		return
	}
	samples, err := fitted.Sample(context.Background(), mat.NewDense(1, 2, []float64{1.5, 0}), 5, rng)
	if err != nil {
		fmt.Println(err)
		return
	}
	n, d := samples.Dims()
	fmt.Println(fitted.Plan.Status, n, d)
	// Output:
	// converged 5 2
}
