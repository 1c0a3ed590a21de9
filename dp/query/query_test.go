package query_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"coupling/dp"
	"coupling/dp/noise"
	"coupling/dp/query"
	"coupling/lab/must"
)

func session(eps float64) *query.Session {
	return &query.Session{
		Budget:    dp.Budget{Epsilon: eps, Delta: 1e-6},
		KeysDelta: 1e-7,
		Source:    noise.Seeded(rand.New(rand.NewPCG(1, 2))),
	}
}

// fixedCost is the guarantee of what a session released, had the noise been fixed beforehand.
func fixedCost(s *query.Session) (dp.Guarantee, error) {
	return dp.Epsilon(context.Background(), s.Event(), s.Budget.Relation.OfRecords(), s.Budget.Delta)
}

// Costs add up as the events say, and beyond the budget nothing is released or spent.
func TestSession(t *testing.T) {
	s, ctx := session(1), t.Context()
	must.Get(s.Count(ctx, 10, query.Noise{Scale: 4}))
	// 20 steps: 1/4
	if _, err := s.Sum(ctx, []float64{1, 2, 300, math.NaN(), math.Inf(1)}, -5, 10, .5,
		query.Noise{Scale: 80}); err != nil {
		t.Fatal(err)
	}
	must.Get(s.Argmax(ctx, []int{3, 9, 4}, 4, true))
	want := dp.Compose{dp.DiscreteLaplace{Scale: 4, Sensitivity: 1}, dp.DiscreteLaplace{Scale: 80, Sensitivity: 20},
		dp.Pure{Epsilon: .25 * (1 + 1e-15)}}
	if s.Event().String() != want.String() {
		t.Errorf("event %v, want %v", s.Event(), want)
	}
	left, err := s.Left(ctx)
	if err != nil || math.Abs(left.Epsilon-.25) > 1e-9 || left.Divergence != 0 || left.Delta != 1e-7 {
		t.Errorf("%+v, %v", left, err)
	}
	var over *query.OverBudgetError
	if _, err := s.Histogram(ctx, nil, []string{"a"}, query.Noise{Scale: 2}); !errors.As(err, &over) {
		t.Errorf("beyond the budget: %v", err)
	}
	if again, err := s.Left(ctx); err != nil || !reflect.DeepEqual(again, left) {
		t.Errorf("%v after %v, %v", again, left, err)
	}
	// no budget is without limit
	for _, b := range []dp.Budget{{Epsilon: math.NaN(), Delta: 1e-6}, {Epsilon: -1, Delta: 1e-6},
		{Epsilon: 1, Delta: math.NaN()}} {
		s := query.Session{Budget: b, Source: noise.Seeded(rand.New(rand.NewPCG(1, 2)))}
		if _, err := s.Count(ctx, 1, query.Noise{Scale: 4}); !errors.Is(err, dp.ErrParameter) || s.Event() != nil {
			t.Errorf("%+v: %v, %v", b, err, s.Event())
		}
	}
	if _, err := session(1).UnknownKeys(ctx, []string{"a"}, 4, 2e-7); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("a delta above that of keys: %v", err)
	}
	if left, err := session(1).Left(ctx); err != nil || left.Epsilon != 1 || left.Delta != 1e-7 {
		t.Errorf("nothing released: %+v, %v", left, err)
	}
	unknown := session(1)
	unknown.Budget.Relation.Kind = 9
	if left, err := unknown.Left(ctx); !errors.Is(err, dp.ErrParameter) || left.Epsilon != 0 {
		t.Errorf("nothing released under an unknown relation: %+v, %v", left, err)
	}
	unknown = session(1)
	unknown.Budget.Delta = -1e-6
	if _, err := unknown.UnknownKeys(ctx, nil, 4, 1e-7); err == nil ||
		!strings.Contains(err.Error(), "Session.Budget: delta = -1e-06") {
		t.Errorf("a budget with a negative delta: %v", err)
	}
}

// A session with noise of many sizes answers quickly, and spends all of its budget.
func TestManySizes(t *testing.T) {
	s, n := session(.5), 0
	start := time.Now()
	for ; ; n++ {
		if _, err := s.Count(t.Context(), 1, query.Noise{Sigma: 70 + float64(n)/7}); err != nil {
			var over *query.OverBudgetError
			if !errors.As(err, &over) || over.Needs.Epsilon < .5 || over.Needs.Epsilon > .52 {
				t.Fatal(n, err)
			}
			break
		}
	}
	if took := time.Since(start) / time.Duration(n); took > 2*time.Second {
		t.Errorf("%d questions, %v each", n, took)
	}
	t.Log(n, time.Since(start))
	if left, err := s.Left(t.Context()); err != nil || left.Divergence > .02*left.Order*.01 {
		t.Errorf("%+v, %v", left, err)
	}
}

// Sums are those of the cut values, with noise of the size that was asked for.
func TestValues(t *testing.T) {
	ctx, src := t.Context(), noise.Seeded(rand.New(rand.NewPCG(4, 4)))
	of := []string{"a", "b", "a", "z", "a"}
	sum, square := 0.0, 0.0
	const trials = 1000
	for range trials {
		s := query.Session{Budget: dp.Budget{Epsilon: 9, Delta: 1e-6}, Source: src}
		c := must.Get(s.Histogram(ctx, of, []string{"a", "b", "c"}, query.Noise{Sigma: 2}))
		for i, want := range []int{3, 1, 0} {
			d := float64(c[i] - want)
			sum, square = sum+d, square+d*d
		}
	}
	s := session(1e6)
	n := 3. * trials
	if math.Abs(sum/n) > 5*2/math.Sqrt(n) || math.Abs(square/n-4) > 5*4*math.Sqrt(2/n) { // five standard errors
		t.Errorf("mean error %v, variance %v; want 0 and 4", sum/n, square/n)
	}
	total, err := s.Sum(ctx, []float64{1, 2, 300, math.NaN(), math.Inf(-1)}, -5, 10, .5, query.Noise{Scale: .1})
	if err != nil || math.Abs(total-8) > .5*.1*60 { // 1 + 2 + 10 + 0 − 5
		t.Errorf("sum %v, %v", total, err)
	}
}

// A key that one record has is shown with probability δ at most, and keys that many have nearly always.
func TestUnknownKeys(t *testing.T) {
	const scale, delta, trials = 2., .05, 20_000
	src := noise.Seeded(rand.New(rand.NewPCG(5, 8)))
	rare, often := 0, 0
	for range trials {
		s := query.Session{Budget: dp.Budget{Epsilon: 1, Delta: .1}, KeysDelta: .1, Source: src}
		cells := must.Get(s.UnknownKeys(t.Context(), append([]string{"rare"}, many("often", 30)...), scale, delta))
		for _, c := range cells {
			if c.Key == "rare" {
				rare++
			} else {
				often++
			}
		}
	}
	if p := float64(rare) / trials; p > delta+5*math.Sqrt(delta/trials) || p < delta/3 {
		t.Errorf("a single record's key is shown with probability %v, said to be at most %v", p, delta)
	}
	if often < trials*999/1000 {
		t.Errorf("a common key is shown %d times of %d", often, trials)
	}
}

func many(key string, n int) (out []string) {
	for range n {
		out = append(out, key)
	}
	return out
}

// The law of the maximum of two is that of permute-and-flip, and its loss when a score moves is what the event says.
func TestArgmax(t *testing.T) {
	const scale, trials = 2., 60_000
	src := noise.Seeded(rand.New(rand.NewPCG(3, 1)))
	law := func(scores []int) (p []float64) {
		p = make([]float64, len(scores))
		for range trials {
			s := query.Session{Budget: dp.Budget{Epsilon: 2}, Source: src}
			i := must.Get(s.Argmax(t.Context(), scores, scale, false))
			p[i] += 1. / trials
		}
		return p
	}
	got := law([]int{5, 4})
	// The lower one wins if it comes first and is kept.
	if want := .5 * math.Exp(-1/scale); math.Abs(got[1]-want) > 5*math.Sqrt(want/trials) {
		t.Errorf("the lower of two wins with probability %v, want %v", got[1], want)
	}
	a, b := law([]int{5, 5, 4}), law([]int{4, 6, 5})
	for i := range a {
		if l := math.Abs(math.Log(a[i] / b[i])); l > 2/scale+.1 {
			t.Errorf("loss %v of outcome %d, said to be at most %v", l, i, 2/scale)
		}
	}
}

func TestBadInput(t *testing.T) {
	ctx, n, s := t.Context(), query.Noise{Scale: 1}, session(100)
	changed := func(change func(s *query.Session)) *query.Session {
		s := session(100)
		change(s)
		return s
	}
	noKeys := changed(func(s *query.Session) { s.KeysDelta = 0 })
	allKeys := changed(func(s *query.Session) { s.KeysDelta = 1 })
	noSource := changed(func(s *query.Session) { s.Source = nil })
	for name, err := range map[string]error{
		"no noise":    must.Err(s.Count(ctx, 1, query.Noise{})),
		"two noises":  must.Err(s.Count(ctx, 1, query.Noise{1, 1})),
		"negative":    must.Err(s.Count(ctx, 1, query.Noise{Scale: -1})),
		"NaN":         must.Err(s.Count(ctx, 1, query.Noise{Sigma: math.NaN()})),
		"twice":       must.Err(s.Histogram(ctx, nil, []string{"a", "a"}, n)),
		"order":       must.Err(s.Sum(ctx, nil, 1, 0, 1, n)),
		"step":        must.Err(s.Sum(ctx, nil, 0, 1, .3, n)),
		"all rounded": must.Err(s.Sum(ctx, nil, 0, 1, 8, n)),
		"too fine":    must.Err(s.Sum(ctx, nil, 0, 1e9, 0x1p-30, n)),
		"delta":       must.Err(s.UnknownKeys(ctx, nil, 1, 0)),
		"no scores":   must.Err(s.Argmax(ctx, nil, 1, true)),
		"below 0":     must.Err(s.Count(ctx, -1, n)),
		"too many":    must.Err(s.Count(ctx, 1<<50+1, n)),
		"no keys":     must.Err(noKeys.UnknownKeys(ctx, nil, 1, 1e-9)),
		"all keys":    must.Err(allKeys.Count(ctx, 1, n)),
		"no source":   must.Err(noSource.Count(ctx, 1, n)),
	} {
		if !errors.Is(err, dp.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range []*query.Session{s, noKeys, allKeys, noSource} {
		if s.Event() != nil {
			t.Errorf("spent %v", s.Event())
		}
	}
}

// A user's first try: the whole δ of the budget for one release of keys, and half of it for each of two.
func TestUnknownKeysTakeTheWholeDelta(t *testing.T) {
	for _, delta := range []float64{1e-6, 1e-9, .01, 1. / 3, .9} {
		for n := 1; n <= 2; n++ {
			s := session(3)
			s.Budget.Delta, s.KeysDelta = delta, delta
			for range n {
				if _, err := s.UnknownKeys(t.Context(), []string{"a", "b"}, 1, delta/float64(n)); err != nil {
					t.Errorf("δ = %v in %d parts: %v", delta, n, err)
				}
			}
			left, err := s.Left(t.Context())
			if err != nil || math.Abs(left.Epsilon-3+float64(n)) > 1e-12 || left.Order != 0 {
				t.Errorf("δ = %v in %d parts: %+v, %v", delta, n, left, err)
			}
			if _, err := s.UnknownKeys(t.Context(), nil, 1, delta/4); err == nil && delta < .1 {
				t.Errorf("δ = %v and a quarter of it: within the budget", delta)
			}
		}
	}
}

// Ordinary sums whose exact pair is too large have the event of a fine grid, which is never below
// the closed form of continuous noise and close to it; for Laplace noise that is Δ/b.
func TestLargeSums(t *testing.T) {
	for _, c := range []struct {
		high, step float64
		n          query.Noise
		group      int
	}{
		{1e5, 1, query.Noise{Sigma: 3e5}, 1}, {2e4, 1, query.Noise{Sigma: 2e4}, 1},
		{100, 1. / 64, query.Noise{Sigma: 500 * 64}, 1},
		{100, 1, query.Noise{Sigma: 26_300}, 1}, {100, 1, query.Noise{Sigma: 5000}, 40},
		{1 << 21, 1, query.Noise{Scale: 1 << 22}, 1}, {1e6, 1. / 4, query.Noise{Scale: 1e7}, 1},
		{1000, 1, query.Noise{Scale: 1e5}, 100},
	} {
		for _, kind := range []dp.RelationKind{dp.AddRemove, dp.Exchange} {
			s := session(1e6)
			s.Budget.Relation = dp.Relation{Kind: kind, Group: c.group}
			if c.n.Scale > 0 {
				s.Budget.Delta, s.KeysDelta = 0, 0
			}
			if _, err := s.Sum(t.Context(), []float64{1, 2, 3}, 0, c.high, c.step, c.n); err != nil {
				t.Errorf("%+v: %v", c, err)
				continue
			}
			got := must.Get(fixedCost(s))
			units := c.high / c.step * float64(c.group)
			if kind == dp.Exchange {
				units *= 2
			}
			want := units / c.n.Scale
			if c.n.Scale == 0 {
				noise := dp.Gaussian{NoiseMultiplier: c.n.Sigma / units}
				g := must.Get(dp.Epsilon(t.Context(), noise, dp.Relation{}, s.Budget.Delta))
				want = g.Epsilon
			}
			if got.Epsilon < want*(1-1e-9) || got.Epsilon > want*(1+1e-4) {
				t.Errorf("%+v, %v: %v, want ε = %v", c, s.Budget.Relation, got, want)
			}
		}
	}
}

// A sum is refused by its price, whatever the number of records: a limit on that number would give it
// away for nothing. Sums that are too large are cut.
func TestSumsDoNotTellHowManyRecords(t *testing.T) {
	values := make([]float64, 1<<22+1)
	var over *query.OverBudgetError
	for _, few := range []int{1, len(values)} {
		s := query.Session{Budget: dp.Budget{Epsilon: 1e-9}, Source: noise.Crypto()}
		if _, err := s.Sum(t.Context(), values[:few], 0, 1<<30, 1, query.Noise{Scale: 1}); !errors.As(err, &over) {
			t.Errorf("%d records: %v", few, err)
		}
	}
	for i := range values {
		values[i] = 1 << 30
	}
	s := query.Session{Budget: dp.Budget{Epsilon: 1}, Source: noise.Crypto()}
	if got, err := s.Sum(t.Context(), values, 0, 1<<30, 1, query.Noise{Scale: 1 << 31}); err != nil ||
		math.Abs(got/(1<<50)-1) > 1e-3 {
		t.Errorf("a sum of 2^52 is %v, %v, want 2^50", got, err)
	}
}
