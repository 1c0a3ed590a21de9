package dp_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"coupling/dp"
	"coupling/dp/pair"
	"coupling/lab/must"
)

// peersCase is a mechanism of dp_accounting with δ at some ε.
type peersCase struct {
	Noise, Way                   string
	Parameter, Rate, Sensitivity float64
	Bound                        float64   // of a truncated discrete Gaussian
	Means, Weights               []float64 // of a mixture
	Eps, Delta                   []float64
}

// event is the mechanism here.
func (c peersCase) event(t *testing.T) dp.Event {
	var p pair.Pair
	var err error
	switch c.Noise {
	case "Gaussian":
		return dp.Gaussian{NoiseMultiplier: c.Parameter / c.Sensitivity}
	case "Laplace":
		return dp.Laplace{Scale: c.Parameter / c.Sensitivity}
	case "DiscreteLaplace":
		return dp.DiscreteLaplace{Scale: 1 / c.Parameter, Sensitivity: int(c.Sensitivity)}
	case "DiscreteGaussian":
		law := make([]float64, int(2*c.Bound+1+c.Sensitivity))
		for k := -c.Bound; k <= c.Bound; k++ {
			law[int(k+c.Bound)] = math.Exp(-k * k / 2 / c.Parameter / c.Parameter)
		}
		floats.Scale(1/floats.Sum(law), law)
		moved := slices.Concat(law[len(law)-int(c.Sensitivity):], law[:len(law)-int(c.Sensitivity)])
		p, err = pair.NewDiscrete(moved, law)
	case "MixtureGaussian":
		var parts []pair.Component
		for i, mean := range c.Means {
			parts = append(parts, pair.Component{LogWeight: math.Log(c.Weights[i]), Mean: mean})
		}
		p, err = pair.NewMixture(pair.Gaussian, c.Parameter, parts, []pair.Component{{}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return dp.FromPair{Removal: p}
}

// Questions of dp_accounting's own tests of one step (privacy_loss_mechanism_test.py, and those that
// privacy_loss_distribution_test.py asks for its grids) with their answers: δ at ε < 0, at 0 and
// above, in each direction, sampled or not.
func TestPeersDelta(t *testing.T) {
	var file struct{ Cases []peersCase }
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
		e := c.event(t)
		if c.Rate > 0 {
			e = dp.Poisson{Rate: c.Rate, Event: e}
		}
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
	if negative < 200 {
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
		d := must.Get(pair.NewDiscrete(p, q))
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
		branches := must.Get(dp.Branches(e, dp.Relation{}))
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

// And of its accountants (pld_privacy_accountant_test.py): δ at the ε of compositions, the largest power
// 1 − β of a test with a type I error of a tenth, and μ-GDP for errors from .005. Lines of δ at
// finitely many ε bound power and μ from above. It bounds a truncated batch by an exchange on both
// sides, where a sample that lacks the record needs none: 17.904, which is above ours.
func TestPeersAccountants(t *testing.T) {
	mixture := func(deviation float64, means, weights []float64) dp.Event {
		return peersCase{Noise: "MixtureGaussian", Parameter: deviation, Means: means, Weights: weights}.event(t)
	}
	truncated := func(size int) dp.Event {
		return dp.TruncatedPoisson{Rate: .5, Cap: 2, Size: size, Event: dp.Gaussian{NoiseMultiplier: 1}}
	}
	compose := func(a, b dp.Event) dp.Event {
		return dp.Compose{dp.Repeat{Times: 3, Event: a}, dp.Repeat{Times: 2, Event: b}}
	}
	sampled := func(m dp.Event) dp.Event { return dp.Repeat{Times: 3, Event: dp.Poisson{Rate: .2, Event: m}} }
	for _, c := range []struct {
		event                 dp.Event
		eps, delta, tolerance float64
		power, mu             float64 // 0 where it does not ask
	}{
		{compose(mixture(1, []float64{0, 1, 2}, []float64{.2, .6, .2}),
			mixture(2, []float64{0, 2, 3}, []float64{.33, .34, .33})), 17.193115, 1e-6, 1e-11, 0, 0},
		{sampled(dp.Gaussian{NoiseMultiplier: .5}), 1, .15594, 1e-5, 0, 0},
		{sampled(dp.Laplace{Scale: .5}), 2.46964, 1e-14, 1e-6, 0, 0},
		{compose(dp.Laplace{Scale: 1}, dp.Laplace{Scale: 2}), 4, 0, 1e-12, 0, 0},
		{compose(dp.DiscreteLaplace{Scale: 1}, dp.DiscreteLaplace{Scale: 2}), 4, 0, 1e-12, 0, 0},
		{dp.Repeat{Times: 3, Event: dp.Gaussian{NoiseMultiplier: math.Sqrt(3)}}, 1, .126936, 1e-6, .38914, 1},
		{dp.Compose{dp.Pure{Epsilon: 1}, dp.Pure{Epsilon: 2}}, 3, 0, 1e-12, .8286, 2.358},
		{dp.Compose{dp.Approximate{Epsilon: 1, Delta: .1}, dp.Approximate{Epsilon: 2, Delta: .2}},
			3, .28, 1e-12, .91938, math.Inf(1)},
		{dp.Gaussian{}, 1, 1, 0, 1, math.Inf(1)},
		{dp.Laplace{}, 1, 1, 0, 1, math.Inf(1)},
		{dp.DiscreteLaplace{}, 1, 1, 0, 1, math.Inf(1)},
		{dp.Poisson{Event: dp.Gaussian{}}, 0, 0, 0, .1, 0},
		{dp.Repeat{Event: dp.Gaussian{}}, 0, 0, 0, .1, 0},
	} {
		g, err := dp.DeltaBy(t.Context(), dp.Best{Width: 3e-5}, c.event, dp.Relation{}, c.eps)
		if err != nil || math.Abs(g.Delta-c.delta) > c.tolerance {
			t.Errorf("%v: δ(%v) = %v, %v; dp_accounting has %v", c.event, c.eps, g.Delta, err, c.delta)
			continue
		}
		if c.power == 0 {
			continue
		}
		curve := must.Get(g.TradeOff(t.Context(), 201))
		mu, err := curve.GDP(.005)
		if power := 1 - curve.At(.1); math.Abs(power-c.power) > 1e-3 || mu < c.mu-1e-3 || mu > c.mu+2e-3 || err != nil {
			t.Errorf("%v: power %v, μ = %v, %v; dp_accounting has %v and %v", c.event, power, mu, err, c.power, c.mu)
		}
	}
	g, err := dp.EpsilonBy(t.Context(), dp.Best{Width: .01}, compose(truncated(4), truncated(3)), dp.Relation{}, 1e-6)
	if err != nil || g.Epsilon < 16.4 || g.Epsilon > 17.904330 {
		t.Errorf("truncated batches: %v, %v", g, err)
	}
}

// And of its Rényi accountant (rdp_privacy_accountant_test.py), what is no Gaussian in a Poisson sample: nothing, no
// noise at all, an event with a δ, Laplace noise, selections of at least its mean. Ours is at most as large. At δ = 1
// it says ∞ without noise, where every event has ε = 0.
func TestPeersRenyi(t *testing.T) {
	gauss, bare := dp.Gaussian{NoiseMultiplier: 1}, dp.Gaussian{}
	nothing := dp.Repeat{Event: gauss}
	ask := func(e dp.Event, r dp.Relation, delta, least, most float64) {
		t.Helper()
		g, err := dp.Epsilon(t.Context(), e, r, delta)
		if errors.Is(err, dp.ErrUnbounded) {
			g.Epsilon, err = math.Inf(1), nil
		}
		if err != nil || g.Epsilon < least || g.Epsilon > most {
			t.Errorf("%v, %v, δ = %v: %v, %v; dp_accounting has %v", e, r, delta, g.Epsilon, err, most)
		}
	}
	for _, kind := range []dp.RelationKind{dp.AddRemove, dp.Substitution, dp.Exchange} {
		r := dp.Relation{Kind: kind}
		for e, lost := range map[dp.Event]float64{nothing: 0, bare: 1, dp.Repeat{Times: 10, Event: bare}: 1} {
			unbounded := 0.
			if lost > 0 {
				unbounded = math.Inf(1)
			}
			for _, e := range []dp.Event{e, dp.Compose{e}, dp.Compose{nothing, e}} {
				for _, delta := range []float64{0, 1e-12, .99} {
					ask(e, r, delta, unbounded, unbounded)
				}
				ask(e, r, 1, 0, 0)
				for _, eps := range []float64{0, 1e-12, 100} {
					if g, err := dp.Delta(t.Context(), e, r, eps); err != nil || g.Delta != lost {
						t.Errorf("%v, %v, ε = %v: %v, %v", e, r, eps, g.Delta, err)
					}
				}
			}
		}
	}
	one, laplace := dp.Relation{}, dp.Laplace{Scale: 1}
	both := dp.Compose{gauss, dp.Approximate{Delta: .01}}
	ask(gauss, one, .01/.99, 2.3, 2.74926452443942)
	ask(both, one, .02, epsilonOf(t, gauss, .01/.99).Lower, 2.74926452443942)
	ask(both, one, .005, math.Inf(1), math.Inf(1))
	alone, err := dp.Delta(t.Context(), gauss, one, 1)
	if g, err2 := dp.Delta(t.Context(), both, one, 1); err != nil || err2 != nil || g.Delta > .2545641671909523 ||
		g.Delta < .01+.99*alone.Lower || alone.Delta > .24703451231409326 {
		t.Errorf("%v: %v, alone %v", both, g, alone)
	}
	ask(dp.Laplace{Scale: .01}, one, 1e-10, 99.9999999997, 99.99999999983068)
	ask(laplace, one, 1e-10, .9999999997, .9999999998306853)
	ask(dp.Laplace{Scale: 100}, one, 1e-10, .0099999997, .009999999830685282)
	ask(dp.Repeat{Times: 100, Event: laplace}, one, 1e-10, 60, 99.99999999296853)
	for _, c := range []struct{ mean, shape, gamma, most float64 }{{1000, 1, 1e-3, 3.0000000015643824},
		{1000, 0, 1e-4, 2.000000001263959}, {1000, .5, 5e-4, 2.5000000014042705}, {100, 2, .0195, 4.000000000962693},
		{1000, 5, .0049, 7.000000002687556}} {
		e := dp.RepeatAndSelect{Shape: c.shape, Gamma: c.gamma, Event: laplace}
		if ask(e, one, 1e-10, 1.9+c.shape, c.most*(1+1e-9)); e.Mean() < c.mean*(1-1e-9) {
			t.Errorf("%v: mean %v", e, e.Mean())
		}
	}
}
