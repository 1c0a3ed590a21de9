package dptest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/pair"
	_ "coupling/lab/draws" // a fixed seed

	"pgregory.net/rapid"
)

// Subject is an accountant with its promises.
type Subject struct {
	Accountant dp.Accountant
	// Answers reports whether the accountant must answer for these steps; nil: always. For the others
	// it may refuse any question.
	Answers func(steps []pair.Step) bool
	// RelWidth bounds (Upper − Lower)/Upper of ε in the known answers; 0: no promise.
	RelWidth float64
	// RelTol is how far from agreeing Epsilon and Delta of the same composition may be, and
	// monotonicity be broken, relative to log δ and ε; 0 means 1e-9. Accountants that choose a grid
	// by the question need more.
	RelTol float64
}

// Run checks an accountant. It takes seconds.
func Run(t *testing.T, s Subject) {
	t.Helper()
	t.Run("KnownAnswers", func(t *testing.T) { s.knownAnswers(t) })
	t.Run("Laws", func(t *testing.T) { s.laws(t) })
	t.Run("Swap", func(t *testing.T) { s.swap(t) })
	t.Run("TradeOff", func(t *testing.T) { s.tradeOff(t) })
	t.Run("BadInput", func(t *testing.T) { s.badInput(t) })
	t.Run("Extremes", func(t *testing.T) { s.extremes(t) })
}

func (s Subject) ask(steps []pair.Step, q pair.Question) (pair.Answer, error) {
	return s.Accountant.Bound(context.Background(), steps, q)
}

func (s Subject) tol() float64 { return cmp.Or(s.RelTol, 1e-9) }

// refused deals with an error: true when the case is over.
func (s Subject) refused(t testing.TB, steps []pair.Step, err error) bool {
	t.Helper()
	if err == nil {
		return false
	}
	if s.mustAnswer(steps) {
		t.Errorf("%v: %v", steps, err)
	}
	return true
}

func (s Subject) mustAnswer(steps []pair.Step) bool { return s.Answers == nil || s.Answers(steps) }

// badInput asks what has no answer; the errors are those that dp documents.
func (s Subject) badInput(t *testing.T) {
	g := gaussian(t, 1, 0.1, 0, 1)
	good := []pair.Step{{Pair: g, Times: 10}}
	refuse := func(what string, steps []pair.Step, q pair.Question) {
		t.Helper()
		if v, err := s.Accountant.Bound(t.Context(), steps, q); !errors.Is(err, dp.ErrParameter) {
			t.Errorf("%s: %v, %v; want dp.ErrParameter", what, v, err)
		}
	}
	for _, steps := range [][]pair.Step{nil, {{Pair: g, Times: 0}}, {{Pair: g, Times: -1}}, {{Times: 1}}} {
		refuse(fmt.Sprint("Epsilon of ", steps), steps, pair.EpsilonAt(1e-5))
		refuse(fmt.Sprint("Delta of ", steps), steps, pair.DeltaAt(1))
	}
	for _, delta := range []float64{-0.1, 1, 2, math.NaN()} {
		refuse(fmt.Sprint("Epsilon at ", delta), good, pair.EpsilonAt(delta))
	}
	for _, eps := range []float64{-1, math.NaN(), math.Inf(1)} {
		refuse(fmt.Sprint("Delta at ", eps), good, pair.DeltaAt(eps))
	}
	for _, q := range []pair.Question{{At: .1, Width: 1}, {At: .1, Effort: 2}, {At: .1, Against: .5},
		{At: .1, Floor: -1}, {Delta: true, Most: 1}, {Delta: true, Against: math.NaN()},
		{At: .1, Like: pair.Answer{Order: -1}}} {
		refuse(fmt.Sprintf("%+v", q), good, q)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := s.Accountant.Bound(done, good, pair.EpsilonAt(1e-5)); err == nil {
		t.Errorf("with a context that is done: %v", v)
	}
	s.unbounded(t)
}

// unbounded: a loss that is infinite with more than δ has no ε; what is not refused as beyond the
// accountant is refused as that. At δ = 0 a loss without bound has none either.
func (s Subject) unbounded(t *testing.T) {
	leaky, err := pair.NewDiscrete([]float64{0.5, 0.4, 0.1}, []float64{0.6, 0.4, 0})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p     pair.Pair
		delta float64
	}{{leaky, 0.05}, {leaky, 0}, {gaussian(t, 1, 1, 0, 1), 0}} {
		for _, times := range []int{1, 7} {
			v, err := s.ask([]pair.Step{{Pair: c.p, Times: times}}, pair.EpsilonAt(c.delta))
			if !errors.Is(err, dp.ErrUnbounded) && !errors.Is(err, dp.ErrNotApplicable) {
				t.Errorf("%d × %v at δ = %v: %v, %v; want dp.ErrUnbounded or dp.ErrNotApplicable", times, c.p,
					c.delta, v, err)
			}
		}
	}
}

// laws draws compositions and asks the same thing in several ways.
func (s Subject) laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := drawSteps(t)
		delta := math.Exp(rapid.Float64Range(-30, -1).Draw(t, "log delta"))
		e, err := s.ask(steps, pair.EpsilonAt(delta))
		if err != nil {
			if s.mustAnswer(steps) && !errors.Is(err, dp.ErrUnbounded) {
				t.Fatalf("Epsilon: %v", err)
			}
			return
		}
		if math.IsNaN(e.Upper) || math.IsNaN(e.Lower) || e.Lower < 0 || e.Lower > e.Upper {
			t.Fatalf("Epsilon: %v", e)
		}
		s.deltaLaws(t, steps, e.Upper, delta)
		// Smaller δ, larger ε.
		if e2, err := s.ask(steps, pair.EpsilonAt(delta/3)); err == nil && e2.Upper < e.Lower {
			t.Fatalf("ε falls from %v to %v as δ falls to a third", e, e2)
		}
		// Order, and writing T as two steps, change nothing beyond the enclosures.
		other := reorder(steps)
		o, err := s.ask(other, pair.EpsilonAt(delta))
		if err != nil && !s.mustAnswer(other) {
			return
		}
		if err != nil || o.Lower > e.Upper || e.Lower > o.Upper || far(o.Upper, e.Upper, s.tol()) {
			t.Fatalf("%v gives %v; in another order %v, %v", steps, e, o, err)
		}
		// One more step never helps.
		more := append(append([]pair.Step{}, steps...), pair.Step{Pair: steps[0].Pair, Times: 1})
		if m, err := s.ask(more, pair.EpsilonAt(delta)); err == nil && m.Upper < e.Lower {
			t.Fatalf("one more step: ε falls from %v to %v", e, m)
		}
	})
}

// deltaLaws: at an ε that holds with delta, δ must not exceed delta, by the accountant's own word; and δ falls with ε.
func (s Subject) deltaLaws(t *rapid.T, steps []pair.Step, eps, delta float64) {
	d, err := s.ask(steps, pair.DeltaAt(eps))
	if errors.Is(err, dp.ErrNotApplicable) && !s.mustAnswer(steps) {
		return
	}
	if err != nil || math.IsNaN(d.Upper) || d.Lower > d.Upper || d.Lower > delta*(1+s.tol()) {
		t.Fatalf("Delta at %v: %v, %v; want at most %v", eps, d, err, delta)
	}
	if d2, err := s.ask(steps, pair.DeltaAt(eps+0.5)); err == nil && d2.Lower > d.Upper {
		t.Fatalf("δ rises from %v to %v with ε", d, d2)
	}
}

func far(a, b, tol float64) bool { return math.Abs(a-b) > tol*max(a, b)+1e-12 }

// reorder reverses the steps and splits the repetitions.
func reorder(steps []pair.Step) []pair.Step {
	var out []pair.Step
	for i := len(steps) - 1; i >= 0; i-- {
		s := steps[i]
		if s.Times > 1 {
			out = append(out, pair.Step{Pair: s.Pair, Times: s.Times / 2})
			s.Times -= s.Times / 2
		}
		out = append(out, s)
	}
	return out
}

// swap: a pair that is its own mirror image has the same guarantee both ways.
func (s Subject) swap(t *testing.T) {
	for _, steps := range [][]pair.Step{
		{{Pair: gaussian(t, 2, 0.05, 1, 1), Times: 100}}, {{Pair: gaussian(t, 2, 1, 0, 1), Times: 10}},
		{{Pair: response(t, 0.7, 1), Times: 30}},
	} {
		back := []pair.Step{{Pair: steps[0].Pair.Swap(), Times: steps[0].Times}}
		a, err := s.ask(steps, pair.EpsilonAt(1e-6))
		if s.refused(t, steps, err) {
			continue
		}
		b, err := s.ask(back, pair.EpsilonAt(1e-6))
		if s.refused(t, back, err) {
			continue
		}
		if far(a.Upper, b.Upper, s.tol()) {
			t.Errorf("%v: ε %v, swapped %v", steps, a, b)
		}
	}
}

// tradeOff: the trade-off function by this accountant is below the known one, convex, and falls from at most 1 − α.
func (s Subject) tradeOff(t *testing.T) {
	for _, c := range []struct {
		event dp.Event
		known func(alpha float64) float64
	}{
		{dp.Gaussian{NoiseMultiplier: 1},
			func(a float64) float64 { return math.Erfc((math.Erfinv(2*a-1)*math.Sqrt2+1)/math.Sqrt2) / 2 }},
		{dp.RandomizedResponse{Truth: .75}, func(a float64) float64 { return max(1-3*a, (1-a)/3) }},
	} {
		g, err := dp.EpsilonBy(t.Context(), s.Accountant, c.event, dp.Relation{}, .3)
		var curve dp.TradeOff
		if err == nil {
			curve, err = g.TradeOff(t.Context(), 21)
		}
		if err != nil {
			if !errors.Is(err, dp.ErrNotApplicable) && !errors.Is(err, dp.ErrUnbounded) {
				t.Errorf("%v: %v", c.event, err)
			}
			continue
		}
		const step = 1. / 32
		for a := step; a < 1; a += step {
			before, at, after := curve.At(a-step), curve.At(a), curve.At(a+step)
			if at > c.known(a)+1e-12 || at > before || 2*at > before+after+1e-12 || at > 1-a {
				t.Errorf("%v: type II error %v, %v, %v about α = %v, known %v", c.event, before, at, after, a,
					c.known(a))
			}
		}
	}
}
