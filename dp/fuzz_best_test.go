package dp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"coupling/dp/closed"
	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/dp/rdp"
)

// perCall is the processor time that one question may take before it counts as a hang. Wall time,
// of which a busy machine takes more, only ends those that do not end.
const perCall, never = 10 * time.Second, 5 * time.Minute

// limited returns a context for the accountings of one question, and a function that checks how long they took.
func limited(t interface{ Errorf(string, ...any) }, question any) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(context.Background(), never)
	start := processorTime()
	return ctx, func() {
		cancel()
		if took := processorTime() - start; took > perCall {
			t.Errorf("%v: took %v of processor time", question, took)
		}
	}
}

// A question is anything that may be asked, from numbers.
type question struct {
	mechanism, sampling, kind uint8
	noise, rate               float64
	batch, size, steps, group int
	x                         float64 // δ, or ε
}

func (q question) event() Event {
	var m Event
	switch q.mechanism % 5 {
	case 0:
		m = Gaussian{q.noise}
	case 1:
		m = Laplace{q.noise}
	case 3:
		m = DiscreteLaplace{Scale: q.noise}
	case 4:
		m = DiscreteGaussian{Sigma: q.noise}
	default:
		m = RandomizedResponse{0.5 + 0.5/(1+q.noise)}
	}
	switch q.sampling % 4 {
	case 1:
		m = Poisson{q.rate, m}
	case 2:
		m = WithoutReplacement{q.batch, q.size, m}
	case 3:
		m = WithReplacement{q.batch, q.size, m}
	}
	return Repeat{q.steps, m}
}

func (q question) relation() Relation {
	return Relation{Kind: RelationKind(q.kind % 5), Group: q.group}
}

// ask asks for ε and for δ, and checks what is certain: numbers, in time, and not below what a
// single step is known to leak.
func (q question) ask(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, a Accountant,
) {
	e, r := q.event(), q.relation()
	what := fmt.Sprintf("%s: %v under %v at %v", a.Name(), e, r, q.x)
	ctx, done := limited(t, "ε of "+what)
	g, err := EpsilonBy(ctx, a, e, r, q.x)
	done()
	ctx, done = limited(t, "δ of "+what)
	d, err2 := DeltaBy(ctx, a, e, r, q.x)
	done()
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err2, context.DeadlineExceeded) {
		t.Fatalf("%s: no answer in %v", what, never)
	}
	if err == nil && (!(g.Epsilon >= 0) || math.IsInf(g.Epsilon, 0) || !(g.Lower <= g.Epsilon)) {
		t.Errorf("%s: %v under %v: ε = %v, at least %v", a.Name(), e, r, g.Epsilon, g.Lower)
	}
	if err2 == nil && (!(d.Delta >= 0 && d.Delta <= 1) || !(d.Lower <= d.Delta)) {
		t.Errorf("%s: %v under %v: δ = %v, at least %v", a.Name(), e, r, d.Delta, d.Lower)
	}
	branches, err3 := Branches(e, r)
	if err3 != nil {
		return
	}
	for _, b := range branches {
		one := []pair.Step{{Pair: b.Steps[0].Pair, Times: 1}}
		if v, err4 := (closed.Accountant{}).Bound(context.Background(), one,
			pair.EpsilonAt(max(q.x, math.SmallestNonzeroFloat64))); err == nil && err4 == nil && v.Lower > g.Epsilon {
			t.Errorf("%s: %v under %v at δ = %v: %v, but one step has %v", a.Name(), e, r, q.x, g, v)
		}
		if v, err4 := (closed.Accountant{}).Bound(context.Background(), one, pair.DeltaAt(q.x)); err2 == nil &&
			err4 == nil && v.Lower > d.Delta {
			t.Errorf("%s: %v under %v at ε = %v: δ = %v, but one step has %v", a.Name(), e, r, q.x, d.Delta, v)
		}
	}
}

func fuzzQuestions(f *testing.F, accountant Accountant) {
	for i, q := range []question{
		{noise: 0.0157, mechanism: 1, sampling: 1, rate: 4.8e-6, steps: 3, group: 3, x: 1.6e-131},
		{noise: 1e6, sampling: 1, rate: 1e-12, steps: 1_000_000_000, group: 1, kind: 3, x: 1e-200},
		{noise: 1, mechanism: 2, sampling: 2, kind: 1, batch: 10, size: 1000, steps: 1000, group: 4, x: 1e-9},
		{noise: 2, sampling: 2, kind: 4, batch: 10, size: 1000, steps: 1000, group: 1, x: 1e-9},
		{noise: math.NaN(), sampling: 1, rate: -1, steps: 0, group: -3, x: 2},
	} {
		if testing.Short() && (i == 1 || i < 3 && accountant != (Best{})) {
			continue // they take longest; Best asks pld too, and a billion steps are among dptest's extremes
		}
		f.Add(q.mechanism, q.sampling, q.kind, q.noise, q.rate, q.batch, q.size, q.steps, q.group, q.x)
	}
	f.Fuzz(func(t *testing.T, mechanism, sampling, kind uint8, noise, rate float64, batch, size, steps, group int,
		x float64) {
		if group > 64 || batch > 100_000 || steps > 1_000_000_000 {
			return // beyond what is promised in the time
		}
		question{mechanism, sampling, kind, noise, rate, batch, size, steps, group, x}.ask(t, accountant)
	})
}

// For any parameters: a number on the safe side or an error, never NaN, never too small, never a hang.
func FuzzBest(f *testing.F) { fuzzQuestions(f, Best{}) }

func FuzzPLD(f *testing.F) { fuzzQuestions(f, pld.Accountant{}) }

func FuzzRDP(f *testing.F) { fuzzQuestions(f, rdp.Accountant{}) }

// The same, over parameters that make sense, so that they go deep: two, or a hundredth of
// -questions. Large groups, which take longest, are fuzzed.
func TestAnyQuestion(t *testing.T) {
	r := rand.New(rand.NewPCG(4+*firstSeed, 17))
	within := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + r.Float64()*math.Log(hi/lo)) }
	for range max(2, *questions/100) {
		q := question{
			mechanism: uint8(r.IntN(5)), sampling: uint8(r.IntN(4)), kind: uint8(r.IntN(4)),
			noise: within(1e-3, 1e6), rate: within(1e-12, 1), batch: int(within(1, 2000)), steps: int(within(1, 1e9)),
			group: 1 + r.IntN(2), x: within(1e-200, 0.5),
		}
		q.size = q.batch + q.group + int(within(1, 1e6))
		q.ask(t, Best{})
	}
}

// Post-processing: an observer who cannot tell some outcomes apart learns no more. δ of merged
// atoms is never larger, in any composition.
func TestPostProcessing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 8).Draw(t, "atoms")
		p, q := distribution(t, n, "P"), distribution(t, n, "Q")
		i := rapid.IntRange(0, n-2).Draw(t, "merged")
		full := must(pair.NewDiscrete(p, q))
		merged := must(pair.NewDiscrete(mergeAt(p, i), mergeAt(q, i)))
		times := rapid.SampledFrom([]int{1, 3, 40}).Draw(t, "times")
		eps := rapid.Float64Range(0, 3).Draw(t, "eps")
		for _, a := range []Accountant{Best{Width: 1e-3}, rdp.Accountant{}} {
			before := must(a.Bound(context.Background(), []pair.Step{{Pair: full, Times: times}}, pair.DeltaAt(eps)))
			after := must(a.Bound(context.Background(), []pair.Step{{Pair: merged, Times: times}}, pair.DeltaAt(eps)))
			// Of what is merged a lower bound is known: it must not exceed what was possible before.
			if after.Lower > before.Upper*(1+1e-9) {
				t.Fatalf("%s: δ(%v) in %v of %v, in %v merged", a.Name(), eps, before, full, after)
			}
		}
		if a, b := merged.LogDelta(eps), full.LogDelta(eps); a > b+1e-9 {
			t.Fatalf("log δ(%v) = %v, %v merged", eps, b, a)
		}
	})
}

func distribution(t *rapid.T, n int, name string) []float64 {
	w := rapid.SliceOfN(rapid.Float64Range(0.01, 1), n, n).Draw(t, name)
	sum := 0.0
	for _, x := range w {
		sum += x
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// mergeAt adds atom i+1 to atom i.
func mergeAt(p []float64, i int) []float64 {
	out := slices.Clone(p)
	out[i] += out[i+1]
	return slices.Delete(out, i+1, i+2)
}
