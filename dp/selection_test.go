package dp_test

import (
	"errors"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/pair"
	"coupling/lab/must"
)

// The best of K runs of randomised response on three answers: the law of the best is that of the
// generating function of K at the distribution function of a run. Exact δ, in both directions, lies
// below what is accounted for, at every ε.
func TestRepeatAndSelect(t *testing.T) {
	p, q := []float64{.25, .3, .45}, []float64{.3, .32, .38}
	const eps = .1824 // above the largest |log p/q|, which is log 1.2
	for _, e := range []dp.RepeatAndSelect{{Shape: 1, Gamma: .1}, {Shape: 0, Gamma: .05}, {Shape: -.5, Gamma: .01},
		{Shape: 3, Gamma: .5}, {Poisson: 5}} {
		e.Event = dp.Pure{Epsilon: eps}
		generating := func(x float64) float64 {
			switch {
			case e.Poisson > 0:
				return math.Exp(e.Poisson * (x - 1))
			case e.Shape == 0:
				return math.Log(1-(1-e.Gamma)*x) / math.Log(e.Gamma)
			}
			return (math.Pow(1-(1-e.Gamma)*x, -e.Shape) - 1) / (math.Pow(e.Gamma, -e.Shape) - 1)
		}
		best := func(p []float64) (law []float64) {
			below, last := 0.0, 0.0
			if e.Poisson > 0 { // no run
				last = generating(0)
				law = append(law, last)
			}
			for _, m := range p {
				below += m
				v := generating(min(below, 1))
				law, last = append(law, v-last), v
			}
			return law
		}
		const h = 1e-6
		if mean := (1 - generating(1-h)) / h; math.Abs(mean/e.Mean()-1) > 1e-3 {
			t.Errorf("%v: mean %v, of the generating function %v", e, e.Mean(), mean)
		}
		a, b := best(p), best(q)
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

// Poisson selections, which may release nothing, lie above their exact compositions: the best of K
// bits is 1 unless all are 0.
func TestComposedPoissonSelections(t *testing.T) {
	const eps, delta = 3, 1e-6
	truth := 1 / (1 + math.Exp(-eps)) * (1 - 1e-9)
	for _, c := range []struct {
		mean  float64
		times int
	}{{.001, 10}, {.01, 100}, {.2, 100}, {1, 10}} {
		best := func(p float64) []float64 {
			none, zeros := math.Exp(-c.mean), math.Exp(-c.mean*p)
			return []float64{none, zeros - none, 1 - zeros}
		}
		d := must.Get(pair.NewDiscrete(best(truth), best(1-truth)))
		steps := []pair.Step{{Pair: d, Times: c.times}}
		exact := must.Get(dp.Best{}.Bound(t.Context(), steps, pair.EpsilonAt(delta)))
		e := dp.Repeat{Times: c.times, Event: dp.RepeatAndSelect{Event: dp.Pure{Epsilon: eps}, Poisson: c.mean}}
		if g := must.Get(dp.Epsilon(t.Context(), e, dp.Relation{}, delta)); g.Epsilon < exact.Lower {
			t.Errorf("%v: %v, exactly %v", e, g.Epsilon, exact)
		}
	}
}
