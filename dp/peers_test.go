package dp_test

import (
	"math"
	"testing"

	"coupling/dp"
)

// Questions of dp_accounting's own tests (privacy_loss_mechanism_test.py, to their seven places): δ
// at ε < 0 and at both ends, of sampled mechanisms in each direction. Their REPLACE is ours of
// fixed batches, whose unit is an exchange, and is not asked.
func TestPeersDelta(t *testing.T) {
	add, remove := dp.Insertion, dp.Removal
	gauss, laplace := dp.Poisson{Rate: .2, Event: dp.Gaussian{NoiseMultiplier: 1}},
		dp.Poisson{Rate: .2, Event: dp.Laplace{Scale: 1}}
	for _, c := range []struct {
		event dp.Event
		kind  dp.RelationKind
		eps   []float64
		want  []float64
	}{
		{dp.Gaussian{NoiseMultiplier: 1}, add, []float64{-2, -1, 0, 1, 2},
			[]float64{.86749642, .67881797, .38292492, .12693674, .020923636}},
		{gauss, add, []float64{-.3, -.2, -.1, 0, .1, .2, .3},
			[]float64{.27768558, .21052945, .14204776, .076584985, .02337934, .00020196, 0}},
		{gauss, remove, []float64{-.3, -.2, -.1, 0, .1, .2, .5, 1},
			[]float64{.25918178, .1814346, .11631708, .076584985, .051816131, .035738492, .012494629, .00229682}},
		{dp.Laplace{Scale: .5}, remove, []float64{-.5, 0, .5, 1, 2},
			[]float64{.7134952031, .6321205588, .5276334473, .3934693403, 0}},
		{laplace, add, []float64{-.3, -.2, -.1, 0, .1, .2, .3},
			[]float64{.2591817793, .2008511573, .1405456165, .07869386806, .01879989609, 0, 0}},
		{laplace, remove, []float64{-.3, -.2, -.1, 0, .1, .2, .3},
			[]float64{.2591817793, .1812692469, .1121734314, .07869386806, .05015600993, .02391739939, 0}},
	} {
		for i, eps := range c.eps {
			g, err := dp.Delta(t.Context(), c.event, dp.Relation{Kind: c.kind}, eps)
			if err != nil || math.Abs(g.Delta-c.want[i]) > 6e-8 {
				t.Errorf("%v, %v: δ(%v) = %v, %v; dp_accounting has %v", c.event, c.kind, eps, g.Delta, err, c.want[i])
			}
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
