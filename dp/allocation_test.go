package dp_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"coupling/dp"
	"coupling/dp/internal/refs"
)

// directions are removal and insertion.
var directions = [...]dp.Relation{{Kind: dp.Removal}, {Kind: dp.Insertion}}

// Brackets made by another program (allocation.md): ours is never below their lower end and within
// a thousandth of the upper one, and our lower end not above it. Short tests take the cheap laws.
func TestAllocationBrackets(t *testing.T) {
	var file struct {
		Cases []struct {
			Mechanism               string
			Noise, Delta            float64
			Steps, Selected, Epochs int
			Remove, Add             [2]float64
		}
	}
	refs.Load(t, "allocation.json", &file)
	for _, c := range file.Cases {
		if testing.Short() && (c.Steps > 10 || c.Noise == .5 || c.Epochs > 10 || c.Delta < 1e-5) {
			continue
		}
		var m dp.Mechanism = dp.Gaussian{NoiseMultiplier: c.Noise}
		if c.Mechanism == "laplace" {
			m = dp.Laplace{Scale: c.Noise}
		}
		e := dp.Repeat{Times: c.Epochs, Event: dp.Allocation{Steps: c.Steps, Selected: c.Selected, Event: m}}
		for i, want := range [...][2]float64{c.Remove, c.Add} {
			g, err := dp.Epsilon(t.Context(), e, directions[i], c.Delta)
			if err != nil || g.Epsilon < want[0] || g.Epsilon > 1.001*want[1] || g.Lower > want[1] {
				t.Errorf("%v, %v, δ = %g: [%v, %v], %v; want in %v", e, directions[i], c.Delta, g.Lower,
					g.Epsilon, err, want)
			}
			if c.Selected > 1 && (g.Lower != 0 || g.Kind != dp.UpperBound) {
				t.Errorf("%v: lower bound %v of kind %v for a decomposition, which is not tight", e, g.Lower, g.Kind)
			}
		}
	}
}

// One of two steps by quadrature of the two-dimensional densities (allocation.md).
func TestAllocationOfTwo(t *testing.T) {
	for _, c := range []struct {
		sigma, delta, remove, add float64
	}{
		{.8, 1e-5, 4.989959655359, 4.029362692465},
		{.8, 1e-8, 6.725432552543, 5.289836336113},
		{1, 1e-5, 3.697385212538, 3.079732588486},
		{1, 1e-8, 5.086104034319, 4.092532366696},
	} {
		for i, want := range [...]float64{c.remove, c.add} {
			e := dp.Allocation{Steps: 2, Selected: 1, Event: dp.Gaussian{NoiseMultiplier: c.sigma}}
			g, err := dp.Epsilon(t.Context(), e, directions[i], c.delta)
			if err != nil || g.Lower > want*(1+1e-12) || g.Epsilon < want*(1-1e-12) || g.Epsilon-g.Lower > 1e-4*want {
				t.Errorf("%v, δ = %g, %v: [%v, %v], %v; want %v", e, c.delta, directions[i], g.Lower,
					g.Epsilon, err, want)
			}
		}
	}
}

// The noise for the ε of σ = 1 is σ = 1, rounded to the safe side: the rough laws of a search's first
// stages do not decide it.
func TestAllocationCalibrated(t *testing.T) {
	b := dp.Budget{Epsilon: 3.697385212538, Delta: 1e-5} // of TestAllocationOfTwo
	sigma, g, err := dp.MinNoise(t.Context(), b, func(noise float64) dp.Event {
		return dp.Allocation{Steps: 2, Selected: 1, Event: dp.Gaussian{NoiseMultiplier: noise}}
	})
	if err != nil || sigma < 1-1e-12 || sigma > 1.0005 || g.Epsilon > b.Epsilon {
		t.Errorf("σ = %v, %v, %v; want 1", sigma, g, err)
	}
}

func epsilonOf(t *testing.T, e dp.Event, delta float64) dp.Guarantee {
	t.Helper()
	g, err := dp.Epsilon(t.Context(), e, dp.Relation{}, delta)
	if err != nil {
		t.Fatalf("%v: %v", e, err)
	}
	return g
}

// A record in every step is not sampled. The relation's ε is the worse direction's: for Laplace noise
// that is insertion, whose ε exceeds that of a Poisson sample, so that the smaller of the two must not
// be taken.
func TestAllocationLaws(t *testing.T) {
	gauss, laplace := dp.Gaussian{NoiseMultiplier: 1}, dp.Laplace{Scale: .5}
	for _, steps := range []int{1, 7} {
		a := epsilonOf(t, dp.Repeat{Times: 3, Event: dp.Allocation{Steps: steps, Selected: steps, Event: gauss}}, 1e-5)
		if b := epsilonOf(t, dp.Repeat{Times: 3 * steps, Event: gauss}, 1e-5); a.Epsilon != b.Epsilon ||
			a.Lower != b.Lower {
			t.Errorf("all of %d steps: %v, plain %v", steps, a, b)
		}
	}
	a := dp.Allocation{Steps: 100, Selected: 1, Event: laplace}
	g := epsilonOf(t, a, 1e-5)
	if p := epsilonOf(t, dp.Repeat{Times: 100, Event: dp.Poisson{Rate: .01, Event: laplace}},
		1e-5); g.Lower <= p.Epsilon || g.Inserted != 1 {
		t.Errorf("%v; Poisson sample %v", g, p)
	}
	// Pure differential privacy inside bounds ε at every δ, and at 0.
	for _, delta := range []float64{0, 1e-30, 1e-12} {
		if g := epsilonOf(t, a, delta); g.Epsilon > 2*(1+1e-13) {
			t.Errorf("δ = %g: %v of noise that costs 2", delta, g)
		}
	}
	// ε is 0 at a δ above the total variation.
	if g := epsilonOf(t, dp.Allocation{Steps: 1000, Selected: 1, Event: dp.Gaussian{NoiseMultiplier: 5}},
		.01); g.Epsilon != 0 {
		t.Errorf("δ above the total variation: %v", g)
	}
}

// For k > 1 the pair of the mechanism is P = the mean over k-subsets S of N(e_S, σ²), Q = N(0, σ²):
// M = e_k(W)/C(t,k). Monte Carlo of its δ, from draws of P, lies below the bound; and the bound is
// not a different quantity.
func TestAllocationOfManyByMonteCarlo(t *testing.T) {
	const steps, selected, draws = 10, 4, 200_000
	rng := rand.New(rand.NewPCG(3, 9))
	for _, eps := range []float64{1, 2.5} {
		sum, square := 0.0, 0.0
		for range draws {
			var e [selected + 1]float64 // elementary symmetric functions of the ratios
			e[0] = 1
			for i := range steps { // the record is in the first steps, which no symmetric function sees
				x := rng.NormFloat64()
				if i < selected {
					x++
				}
				w := math.Exp(x - .5)
				for k := selected; k > 0; k-- {
					e[k] += w * e[k-1]
				}
			}
			v := max(0, 1-math.Exp(eps)*210/e[selected])
			sum, square = sum+v, square+v*v
		}
		mean := sum / draws
		spread := math.Sqrt((square/draws - mean*mean) / draws)
		event := dp.Allocation{Steps: steps, Selected: selected, Event: dp.Gaussian{NoiseMultiplier: 1}}
		g, err := dp.Delta(t.Context(), event, dp.Relation{Kind: dp.Removal}, eps)
		if err != nil || g.Delta < mean+3*spread || g.Delta > 2*mean || g.Lower != 0 {
			t.Errorf("δ(%v): %v, %v; Monte Carlo %v ± %v", eps, g, err, mean, spread)
		}
	}
}

// What the theorems do not cover is refused, and the message names what and why.
func TestAllocationRefusals(t *testing.T) {
	gauss := dp.Gaussian{NoiseMultiplier: 1}
	of := func(e dp.Event) dp.Event { return dp.Allocation{Steps: 10, Selected: 1, Event: e} }
	for _, c := range []struct {
		event    dp.Event
		relation dp.Relation
		kind     error
		says     string
	}{
		{of(gauss), dp.Relation{Group: 2}, dp.ErrNoPair, "more than one record"},
		{of(gauss), dp.Relation{Kind: dp.Substitution}, dp.ErrNoPair, "replaced"},
		{of(gauss), dp.Relation{Kind: dp.Exchange}, dp.ErrNoPair, "replaced"},
		{of(dp.Poisson{Rate: .1, Event: gauss}), dp.Relation{}, dp.ErrNoPair, "one mechanism each"},
		{of(dp.Repeat{Times: 2, Event: gauss}), dp.Relation{}, dp.ErrNoPair, "one mechanism each"},
		{of(of(gauss)), dp.Relation{}, dp.ErrNoPair, "one mechanism each"},
		{dp.Poisson{Rate: .1, Event: of(gauss)}, dp.Relation{}, dp.ErrNoPair, "a sample of which"},
		{dp.WithoutReplacement{Batch: 1, Size: 9, Event: of(gauss)}, dp.Relation{}, dp.ErrNoPair, "a sample of which"},
		{of(dp.ZCDP{Rho: 1}), dp.Relation{}, dp.ErrNoPair, "known by its moments"},
		{of(dp.Gaussian{}), dp.Relation{}, dp.ErrUnbounded, "eps"},
		{of(nil), dp.Relation{}, dp.ErrNoPair, "one mechanism each"},
		{dp.Allocation{Steps: 3, Selected: 4, Event: gauss}, dp.Relation{}, dp.ErrParameter, "4 of 3 steps"},
		{dp.Allocation{Steps: 3, Event: gauss}, dp.Relation{}, dp.ErrParameter, "0 of 3 steps"},
		{of(dp.Gaussian{NoiseMultiplier: -1}), dp.Relation{}, dp.ErrParameter, "noise multiplier = -1"},
		{of(dp.Gaussian{NoiseMultiplier: 1e-3}), dp.Relation{}, dp.ErrNotApplicable, "Allocation"},
	} {
		_, err := dp.Epsilon(t.Context(), c.event, c.relation, 1e-5)
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%v under %v: %v; want %v, %q", c.event, c.relation, err, c.kind, c.says)
		}
	}
}
