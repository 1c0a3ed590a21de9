package dp_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"coupling/dp"
	"coupling/dp/pair"
)

// Questions of dp_accounting's own tests of one step (privacy_loss_mechanism_test.py, and those that
// privacy_loss_distribution_test.py asks for its grids) with the answers of that package: δ at ε < 0, at 0
// and above, in each direction, sampled or not. Discrete Gaussians are
// not among them: it tests these truncated.
func TestPeersDelta(t *testing.T) {
	var file struct {
		Cases []struct {
			Noise, Way                   string
			Parameter, Rate, Sensitivity float64
			Eps, Delta                   []float64
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
			"Gaussian":        dp.Gaussian{NoiseMultiplier: c.Parameter / c.Sensitivity},
			"Laplace":         dp.Laplace{Scale: c.Parameter / c.Sensitivity},
			"DiscreteLaplace": dp.DiscreteLaplace{Scale: 1 / c.Parameter, Sensitivity: int(c.Sensitivity)},
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
	if negative < 140 {
		t.Errorf("only %d questions at ε < 0", negative)
	}
}

// And those of two distributions on a few values (privacy_loss_distribution_test.py): the numbers it
// states, and for compositions sums over all outcomes, in the worse direction.
func TestPeersDistributions(t *testing.T) {
	delta := func(p, q []float64, eps float64) (sum float64) {
		for i := range p {
			sum += max(0, p[i]-math.Exp(eps)*q[i])
		}
		return sum
	}
	product := func(a, b []float64) (out []float64) {
		for _, x := range a {
			for _, y := range b {
				out = append(out, x*y)
			}
		}
		return out
	}
	upper, lower := []float64{.5, .2, 0, .3}, []float64{.2, .2, .6, 0}
	upper2, lower2 := []float64{0, .7, .3}, []float64{.4, .6, 0}
	both, thrice := product(upper, upper2), product(product(upper, upper), upper)
	bothLow, thriceLow := product(lower, lower2), product(product(lower, lower), lower)
	event := func(p, q []float64) dp.Event {
		d, err := pair.NewDiscrete(p, q)
		if err != nil {
			t.Fatal(err)
		}
		return dp.FromPair{Removal: d}
	}
	one, two := event(upper, lower), event(upper2, lower2)
	for _, c := range []struct {
		event     dp.Event
		eps, want float64
	}{
		{event([]float64{.6, .4}, []float64{.5, .5}), math.Log(.9), .15},
		{event([]float64{.5, .4, 0, .1}, lower), math.Log(.9), .64},
		{dp.Compose{one, two}, -.5, max(delta(both, bothLow, -.5), delta(bothLow, both, -.5))},
		{dp.Compose{two, one}, -.5, max(delta(both, bothLow, -.5), delta(bothLow, both, -.5))},
		{dp.Repeat{Times: 3, Event: one}, -.2, max(delta(thrice, thriceLow, -.2), delta(thriceLow, thrice, -.2))},
	} {
		g, err := dp.Delta(t.Context(), c.event, dp.Relation{}, c.eps)
		if err != nil || g.Delta < c.want*(1-1e-12) || g.Delta > c.want*(1+1e-6) || g.Lower > c.want*(1+1e-12) {
			t.Errorf("%v: δ(%v) in [%v, %v], want %v: %v", c.event, c.eps, g.Lower, g.Delta, c.want, err)
		}
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
