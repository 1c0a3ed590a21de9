package dptest

import (
	"errors"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/pair"

	"pgregory.net/rapid"
)

// Subject is an accountant with what it promises.
type Subject struct {
	Accountant dp.Accountant
	// Answers says whether the accountant must answer for these steps; nil: always. Where it need not, an error is accepted.
	Answers func(steps []pair.Step) bool
	// RelWidth bounds (Upper − Lower)/Upper of ε in the known answers; 0: no promise.
	RelWidth float64
	// RelTol is how far from agreeing Epsilon and Delta of the same composition may be, and monotonicity be broken, relative to
	// log δ and ε; 0 means 1e-9. Accountants that choose a grid by the question need more.
	RelTol float64
}

// Run checks an accountant. It takes seconds.
func Run(t *testing.T, s Subject) {
	t.Helper()
	t.Run("KnownAnswers", func(t *testing.T) { s.knownAnswers(t) })
	t.Run("Laws", func(t *testing.T) { s.laws(t) })
	t.Run("Swap", func(t *testing.T) { s.swap(t) })
	t.Run("BadInput", func(t *testing.T) { s.badInput(t) })
	t.Run("Extremes", func(t *testing.T) { s.extremes(t) })
}

func (s Subject) tol() float64 {
	if s.RelTol == 0 {
		return 1e-9
	}
	return s.RelTol
}

// refused deals with an error: true when the case is over.
func (s Subject) refused(t testing.TB, steps []pair.Step, err error) bool {
	t.Helper()
	if err == nil {
		return false
	}
	if s.Answers == nil || s.Answers(steps) {
		t.Errorf("%v: %v", steps, err)
	}
	return true
}

// badInput asks what has no answer.
func (s Subject) badInput(t *testing.T) {
	g := gaussian(t, 1, 0.1, 0, 1)
	good := []pair.Step{{Pair: g, Times: 10}}
	for _, steps := range [][]pair.Step{nil, {{Pair: g, Times: 0}}, {{Pair: g, Times: -1}}} {
		if v, err := s.Accountant.Epsilon(steps, 1e-5); err == nil {
			t.Errorf("Epsilon of %v: %v, want an error", steps, v)
		}
		if v, err := s.Accountant.Delta(steps, 1); err == nil {
			t.Errorf("Delta of %v: %v, want an error", steps, v)
		}
	}
	for _, delta := range []float64{-0.1, 1, 2, math.NaN()} {
		if v, err := s.Accountant.Epsilon(good, delta); err == nil {
			t.Errorf("Epsilon at δ = %v: %v, want an error", delta, v)
		}
	}
	for _, eps := range []float64{-1, math.NaN(), math.Inf(1)} {
		if v, err := s.Accountant.Delta(good, eps); err == nil {
			t.Errorf("Delta at ε = %v: %v, want an error", eps, v)
		}
	}
}

// laws draws compositions and asks the same thing in several ways.
func (s Subject) laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := drawSteps(t)
		delta := math.Exp(rapid.Float64Range(-30, -1).Draw(t, "log delta"))
		e, err := s.Accountant.Epsilon(steps, delta)
		if err != nil {
			if s.Answers == nil || s.Answers(steps) {
				if !errors.Is(err, dp.ErrUnbounded) {
					t.Fatalf("Epsilon: %v", err)
				}
			}
			return
		}
		if math.IsNaN(e.Upper) || math.IsNaN(e.Lower) || e.Lower < 0 || e.Lower > e.Upper {
			t.Fatalf("Epsilon: %v", e)
		}
		// At ε the δ must not exceed delta, by the accountant's own word.
		d, err := s.Accountant.Delta(steps, e.Upper)
		if err != nil || math.IsNaN(d.Upper) || d.Lower > d.Upper || d.Lower > delta*(1+s.tol()) {
			t.Fatalf("Delta at %v: %v, %v; want at most %v", e.Upper, d, err, delta)
		}
		// Smaller δ, larger ε; δ falls with ε.
		if e2, err := s.Accountant.Epsilon(steps, delta/3); err == nil && e2.Upper < e.Lower {
			t.Fatalf("ε falls from %v to %v as δ falls to a third", e, e2)
		}
		if d2, err := s.Accountant.Delta(steps, e.Upper+0.5); err == nil && d2.Lower > d.Upper {
			t.Fatalf("δ rises from %v to %v with ε", d, d2)
		}
		// Order, and writing T as two steps, change nothing beyond the enclosures.
		other := reorder(steps)
		o, err := s.Accountant.Epsilon(other, delta)
		if err != nil && s.Answers != nil && !s.Answers(other) {
			return
		}
		if err != nil || o.Lower > e.Upper || e.Lower > o.Upper || far(o.Upper, e.Upper, s.tol()) {
			t.Fatalf("%v gives %v; in another order %v, %v", steps, e, o, err)
		}
		// One more step never helps.
		more := append(append([]pair.Step{}, steps...), pair.Step{Pair: steps[0].Pair, Times: 1})
		if m, err := s.Accountant.Epsilon(more, delta); err == nil && m.Upper < e.Lower {
			t.Fatalf("one more step: ε falls from %v to %v", e, m)
		}
	})
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
		{{Pair: gaussian(t, 2, 0.05, 1, 1), Times: 100}}, {{Pair: gaussian(t, 2, 1, 0, 1), Times: 10}}, {{Pair: response(t, 0.7, 1), Times: 30}},
	} {
		back := []pair.Step{{Pair: steps[0].Pair.Swap(), Times: steps[0].Times}}
		a, err := s.Accountant.Epsilon(steps, 1e-6)
		if s.refused(t, steps, err) {
			continue
		}
		b, err := s.Accountant.Epsilon(back, 1e-6)
		if s.refused(t, back, err) {
			continue
		}
		if far(a.Upper, b.Upper, s.tol()) {
			t.Errorf("%v: ε %v, swapped %v", steps, a, b)
		}
	}
}
