package dp_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"coupling/dp"
)

// Questions of dp_accounting's own tests of one step (privacy_loss_mechanism_test.py) with the answers
// of that package: δ at ε < 0, at 0 and above, in each direction, sampled or not. Discrete Gaussians are
// not among them: it tests these truncated.
func TestPeersDelta(t *testing.T) {
	var file struct {
		Cases []struct {
			Noise, Way      string
			Parameter, Rate float64
			Sensitivity     int
			Eps, Delta      []float64
		}
	}
	b, err := os.ReadFile("testdata/peers.json")
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]dp.RelationKind{"ADD": dp.Insertion, "REMOVE": dp.Removal, "REPLACE": dp.Substitution}
	negative := 0
	for _, c := range file.Cases {
		m := map[string]dp.Event{
			"Gaussian":        dp.Gaussian{NoiseMultiplier: c.Parameter / float64(c.Sensitivity)},
			"Laplace":         dp.Laplace{Scale: c.Parameter / float64(c.Sensitivity)},
			"DiscreteLaplace": dp.DiscreteLaplace{Scale: 1 / c.Parameter, Sensitivity: c.Sensitivity},
		}[c.Noise]
		e := dp.Poisson{Rate: c.Rate, Event: m}
		for i, eps := range c.Eps {
			if eps < 0 {
				negative++
			}
			g, err := dp.Delta(t.Context(), e, dp.Relation{Kind: kinds[c.Way]}, eps)
			if want := c.Delta[i]; err != nil || math.Abs(g.Delta-want) > 1e-9*want+1e-12 ||
				g.Kind != dp.Exact && want > 1e-12 {
				t.Errorf("%v, %s: δ(%v) = %v, %v, %v; dp_accounting has %v", e, c.Way, eps, g.Delta, g.Kind, err, want)
			}
		}
	}
	if negative < 43 {
		t.Errorf("only %d questions at ε < 0", negative)
	}
}

// And of its RepeatAndSelect (rdp_privacy_accountant_test.py): Corollaries 3 and 4 of Papernot and
// Steinke, pure ε and a Gaussian's ρ.
func TestPeersSelection(t *testing.T) {
	for _, c := range []struct{ shape, gamma float64 }{{0, 1e-4}, {1, 1e-3}, {.5, 1e-2}, {2, .1}, {5, .3}} {
		e := dp.RepeatAndSelect{Shape: c.shape, Gamma: c.gamma, Event: dp.Laplace{Scale: 1}}
		if g := epsilonOf(t, e, 1e-10); g.Epsilon > 2.01+1.01*c.shape || g.Epsilon < .9*(2+c.shape) {
			t.Errorf("%v: %v, want 2 + η at most, and about", e, g)
		}
	}
	for _, c := range []struct{ rho, gamma, shape float64 }{{.01, .01, 0}, {1, .1, 0}, {.01, .01, .5}, {1, .1, 1},
		{.01, .01, 5}} {
		e := dp.RepeatAndSelect{Shape: c.shape, Gamma: c.gamma,
			Event: dp.Gaussian{NoiseMultiplier: math.Sqrt(.5 / c.rho)}}
		branches, err := dp.Branches(e, dp.Relation{})
		if err != nil {
			t.Fatal(err)
		}
		for _, order := range []float64{3, 10, 100} {
			k, _ := branches[0].Steps[0].Pair.LogMoment(order)
			want := c.rho*(order-1) + math.Log(e.Mean())/(order-1) + 2*(1+c.shape)*math.Sqrt(-c.rho*math.Log(c.gamma)) -
				c.shape*c.rho
			if d := k / (order - 1); d < want*(1-1e-9) || d > want*1.02 { // of orders on a grid
				t.Errorf("%v: D_%v = %v, want %v", e, order, d, want)
			}
		}
	}
}
