package score

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// An autoregression with coefficient ρ is worth (1 − ρ)/(1 + ρ) independent values a step.
func TestESSOfAutoregression(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, rho := range []float64{0, .5, .9, -.4} {
		const m, n = 20, 2000
		chains := make([][]float64, m)
		for c := range chains {
			v := rng.NormFloat64()
			for range n {
				chains[c] = append(chains[c], v)
				v = rho*v + math.Sqrt(1-rho*rho)*rng.NormFloat64()
			}
		}
		ess, rhat, err := ESS(chains)
		if err != nil {
			t.Fatal(err)
		}
		want := m * n * (1 - rho) / (1 + rho)
		if math.Abs(ess/want-1) > .15 { // the estimate of τ from 40,000 values has a standard error of some 5 %
			t.Errorf("ρ = %g: effective %.0f, want %.0f", rho, ess, want)
		}
		if math.Abs(rhat-1) > .02 {
			t.Errorf("ρ = %g: R̂ = %.3f", rho, rhat)
		}
	}
	apart := [][]float64{{0, .1, 0, .1, 0}, {5, 5.1, 5, 5.1, 5}}
	if _, rhat, _ := ESS(apart); rhat < 10 {
		t.Errorf("chains apart: R̂ = %.2f", rhat)
	}
}

// Check passes chains that have arrived and stops those that have not, or that sit in one mode each.
func TestCheck(t *testing.T) {
	g := must(NewGaussian(nil, mat.NewSymDense(2, []float64{1, 0, 0, 4})))
	there := normals(rand.New(rand.NewPCG(2, 2)), 500, 2)
	for i := range 500 {
		there.Set(i, 1, 2*there.At(i, 1))
	}
	k := Check{Step: .1, Steps: 1500}
	r, err := k.Run(t.Context(), g, Start(there, rand.New(rand.NewPCG(3, 3))), true)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Mixed() || r.Acceptance < .97 || !strings.HasPrefix(r.String(), "mixed") {
		t.Errorf("exact draws: %v", r)
	}
	// The slow coordinate is an autoregression with ρ = 1 − .1/4, its square one with ρ².
	if lo, hi := 1500*.025/1.975, 1500*(1-.975*.975)/(1+.975*.975); r.Fresh < .6*lo || r.Fresh > 1.4*hi {
		t.Errorf("%.2f fresh values a chain, want %.2f to %.2f", r.Fresh, lo, hi)
	}
	r, err = k.Run(t.Context(), g, Start(mat.NewDense(500, 2, nil), rand.New(rand.NewPCG(3, 3))), true)
	if err != nil {
		t.Fatal(err)
	}
	if r.Mixed() || r.Drift < 5 {
		t.Errorf("chains that just began: %v", r)
	}
	narrow := mat.NewSymDense(1, []float64{.04})
	f := must(NewMixture(nil, must(NewGaussian([]float64{-4}, narrow)), must(NewGaussian([]float64{4}, narrow))))
	apart := mat.NewDense(100, 1, nil)
	for i := range 100 {
		apart.Set(i, 0, float64(i%2*8-4)+.2*rand.New(rand.NewPCG(uint64(i), 0)).NormFloat64())
	}
	r, err = Check{Step: .004}.Run(t.Context(), f, Start(apart, rand.New(rand.NewPCG(3, 3))), true)
	if err != nil {
		t.Fatal(err)
	}
	if r.Mixed() || r.RHat < 2 {
		t.Errorf("chains in one mode each: %v", r)
	}
}
