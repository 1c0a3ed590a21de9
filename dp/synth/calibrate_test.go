//go:build unix

package synth_test

import (
	"errors"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/synth"
	"coupling/dp/synth/denoise"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/dp/synth/merf"
	"coupling/dp/synth/refine"
	"coupling/dp/synth/semidual"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"
)

var digits = synth.Public{Records: 1000, Classes: []string{"a", "b"}, Channels: 1, Height: 28, Width: 28}

// For no method an exchange costs less noise than a substitution, which it is for sums of images,
// and that costs more than one image more or less.
func TestAnExchangeCostsASubstitution(t *testing.T) {
	gan := dpsinkhorn.Suggested(digits)
	gan.Steps = 2
	for name, m := range map[string]synth.Method{
		"merf": merf.Config{}, "refine": refine.Suggested(1, digits), "semidual": semidual.Config{Steps: 2},
		"denoise": denoise.Config{Records: 1000, Batch: 100, Steps: 2}, "dpsinkhorn": gan,
	} {
		if testing.Short() && name != "merf" && name != "dpsinkhorn" {
			continue // one of one release and one of many steps
		}
		noise := func(kind dp.RelationKind) float64 {
			t.Helper()
			got, g, err := synth.Calibrate(t.Context(), m, digits, dp.Budget{
				Epsilon:    1,
				Delta:      1e-5,
				Relation:   dp.Relation{Kind: kind},
				Accountant: dp.Best{Width: 1e-2},
			})
			if err != nil {
				t.Fatalf("%s, %v: %v", name, dp.Relation{Kind: kind}, err)
			}
			e := must.Get(got.Event(digits))
			again, err := dp.Epsilon(t.Context(), e, dp.Relation{Kind: kind}.OfRecords(), 1e-5)
			if err != nil || again.Epsilon > 1+1e-9 || g.Epsilon > 1 {
				t.Errorf("%s, %v: %v, accounted for again %v, %v", name, dp.Relation{Kind: kind}, g, again, err)
			}
			most, err := dp.Epsilon(t.Context(), e, dp.Relation{}, 1e-5) // falls with the noise
			if err != nil {
				t.Fatal(err)
			}
			return 1 / most.Epsilon
		}
		one, two, exchange := noise(dp.AddRemove), noise(dp.Substitution), noise(dp.Exchange)
		if exchange < two*.98 || two < one*.98 {
			t.Errorf(
				"%s: 1/ε of one image more or less is %v if calibrated for that, %v for substitution, %v for exchange",
				name, one, two, exchange)
		}
	}
}

// Beside an error there is no ε, and no noise to train with.
func TestNothingBesideAnError(t *testing.T) {
	for name, c := range map[string]struct {
		m merf.Config
		p synth.Public
		b dp.Budget
	}{
		"settings": {merf.Config{Features: -1}, digits, dp.Budget{Epsilon: 1, Delta: 1e-5}},
		"budget":   {merf.Config{}, digits, dp.Budget{Epsilon: math.NaN(), Delta: 1e-5}},
		"relation": {merf.Config{}, digits, dp.Budget{Epsilon: 1, Delta: 1e-5, Relation: dp.Relation{Kind: 9}}},
	} {
		m, g, err := synth.Calibrate(t.Context(), c.m, c.p, c.b)
		if !errors.Is(err, dp.ErrParameter) || !math.IsNaN(g.Epsilon) || !math.IsNaN(g.Delta) || g.Kind != dp.None {
			t.Errorf("%s: %v, %v", name, g, err)
		}
		_, err = m.Train(t.Context(), nntest.CPU(t), halves(10), synth.Run{})
		if !errors.Is(err, dp.ErrParameter) || !math.IsNaN(m.NoiseMultiplier) {
			t.Errorf("%s: noise multiplier %v, training after it: %v", name, m.NoiseMultiplier, err)
		}
	}
}
