package dp_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/pair"
	"coupling/lab/must"
)

// generating is the generating function of the number of runs of e.
func generating(e dp.RepeatAndSelect, x float64) float64 {
	switch {
	case e.Poisson > 0:
		return math.Exp(e.Poisson * (x - 1))
	case e.Shape == 0:
		return math.Log(1-(1-e.Gamma)*x) / math.Log(e.Gamma)
	}
	return (math.Pow(1-(1-e.Gamma)*x, -e.Shape) - 1) / (math.Pow(e.Gamma, -e.Shape) - 1)
}

// bestOf is the law of the best of the runs of e, whose answers have the law p: that of the generating
// function at the distribution function of a run.
func bestOf(e dp.RepeatAndSelect, p ...float64) (law []float64) {
	below, last := 0.0, 0.0
	if e.Poisson > 0 { // no run
		last = generating(e, 0)
		law = append(law, last)
	}
	for _, m := range p {
		below += m
		v := generating(e, min(below, 1))
		law, last = append(law, v-last), v
	}
	return law
}

// The best of K runs of randomised response on three answers: exact δ, in both directions, lies
// below what is accounted for, at every ε.
func TestRepeatAndSelect(t *testing.T) {
	const eps = .1824 // above the largest |log p/q|, which is log 1.2
	for _, e := range []dp.RepeatAndSelect{{Shape: 1, Gamma: .1}, {Shape: 0, Gamma: .05}, {Shape: -.5, Gamma: .01},
		{Shape: 3, Gamma: .5}, {Poisson: 5}} {
		e.Event = dp.Pure{Epsilon: eps}
		const h = 1e-6
		if mean := (1 - generating(e, 1-h)) / h; math.Abs(mean/e.Mean()-1) > 1e-3 {
			t.Errorf("%v: mean %v, of the generating function %v", e, e.Mean(), mean)
		}
		a, b := bestOf(e, .25, .3, .45), bestOf(e, .3, .32, .38)
		for _, at := range []float64{.05, .2, .4, .7} {
			there, back := 0.0, 0.0
			for i := range a {
				there, back = there+max(0, a[i]-math.Exp(at)*b[i]), back+max(0, b[i]-math.Exp(at)*a[i])
			}
			g, err := dp.Delta(t.Context(), e, dp.Relation{}, at)
			if err != nil || g.Delta < max(there, back) || g.Kind != dp.UpperBound || g.Lower != 0 {
				t.Errorf("%v: δ(%v) = %v, %v; exactly %v and %v", e, at, g, err, there, back)
			}
		}
	}
	train := dp.SGD(1, .01, 1000)
	for _, e := range []dp.Event{
		dp.RepeatAndSelect{Event: train}, dp.RepeatAndSelect{Event: train, Gamma: .1, Poisson: 1},
		dp.RepeatAndSelect{Event: train, Shape: -1, Gamma: .1}, dp.RepeatAndSelect{Event: train, Poisson: math.Inf(1)},
	} {
		if _, err := dp.Epsilon(t.Context(), e, dp.Relation{}, 1e-6); !errors.Is(err, dp.ErrParameter) {
			t.Errorf("%v: %v", e, err)
		}
	}
	sampled := dp.Poisson{Rate: .1, Event: dp.RepeatAndSelect{Event: train, Gamma: .1}}
	if _, err := dp.Epsilon(t.Context(), sampled, dp.Relation{}, 1e-6); !errors.Is(err, dp.ErrNoPair) {
		t.Errorf("a sample of it: %v", err)
	}
}

// Poisson selections, which may release nothing, lie above their exact compositions.
func TestComposedPoissonSelections(t *testing.T) {
	const eps, delta = 3, 1e-6
	truth := 1 / (1 + math.Exp(-eps)) * (1 - 1e-9)
	for mean, times := range map[float64]int{.001: 10, .01: 100, .2: 100, 1: 10} {
		e := dp.RepeatAndSelect{Event: dp.Pure{Epsilon: eps}, Poisson: mean}
		d := must.Get(pair.NewDiscrete(bestOf(e, 1-truth, truth), bestOf(e, truth, 1-truth)))
		steps := []pair.Step{{Pair: d, Times: times}}
		exact := must.Get(dp.Best{}.Bound(t.Context(), steps, pair.EpsilonAt(delta)))
		g := must.Get(dp.Epsilon(t.Context(), dp.Repeat{Times: times, Event: e}, dp.Relation{}, delta))
		if g.Epsilon < exact.Lower {
			t.Errorf("%d × %v: %v, exactly %v", times, e, g.Epsilon, exact)
		}
	}
}

// counted is a pair that counts its moments.
type counted struct {
	pair.Pair
	count func()
}

func (c counted) LogMoment(alpha float64) (k, wrong float64) {
	c.count()
	return c.Pair.LogMoment(alpha)
}
func (c counted) Swap() pair.Pair { return counted{c.Pair.Swap(), c.count} }

// A selection asks few moments of its runs, and hardly any more when it is cancelled.
func TestMomentsOfSelections(t *testing.T) {
	for most, last := range map[int]int{120: 0, 40: 3} {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		p := counted{must.Get(pair.Poisson(pair.Gaussian, 1, .1, 0, 1)), func() {
			if calls++; calls == last {
				cancel()
			}
		}}
		_, err := dp.Epsilon(ctx, dp.RepeatAndSelect{Event: dp.FromPair{Removal: p}, Gamma: .1}, dp.Relation{}, 1e-5)
		if calls > most || errors.Is(err, context.Canceled) != (last > 0) {
			t.Errorf("%d moments, cancelled after %d: %v", calls, last, err)
		}
	}
}
