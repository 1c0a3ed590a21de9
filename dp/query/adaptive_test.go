package query_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/dp"
	"coupling/dp/noise"
	"coupling/dp/query"
	"coupling/lab/must"
)

// adversary asks for counts and for keys. It chooses each question's noise by the answers so far, so
// that the session gives away as much as it can at ε.
type adversary struct {
	eps    float64
	first  []query.Question                                    // of all rounds but the last
	takes  func(asked []query.Question, q query.Question) bool // whether the session answers
	lowest map[string][]query.Question                         // of the last round, found for a history
}

func count(n query.Noise) query.Question { return query.Counting(1, n) }

// losses are those of a question about one record, and their probabilities: P(k) against P(k−1) of a
// count; of keys an infinite loss with their δ, or randomised response.
func losses(q query.Question) (loss, mass []float64) {
	eps := q.Epsilon
	if q.Noise.Scale > 0 {
		eps = 1 / q.Noise.Scale
	}
	if eps > 0 {
		up := (1 + math.Tanh(eps/2)) / 2 // P(k ≤ 0)
		return []float64{eps, -eps, math.Inf(1)}, []float64{up * (1 - q.Delta), (1 - up) * (1 - q.Delta), q.Delta}
	}
	sigma := q.Noise.Sigma
	law, most := gauss(sigma), int(12*sigma)+12
	for k := -most; k <= most; k++ {
		loss, mass = append(loss, (1-2*float64(k))/(2*sigma*sigma)), append(mass, law(k))
	}
	return loss, mass
}

// fixed is δ at eps of questions whose noise is fixed beforehand, where the loss so far is l.
func fixed(eps, l float64, asked []query.Question) float64 {
	if len(asked) == 0 {
		return max(0, -math.Expm1(eps-l))
	}
	sum := 0.
	loss, mass := losses(asked[0])
	for i, w := range mass {
		sum += w * fixed(eps, l+loss[i], asked[1:])
	}
	return sum
}

// then is asked with one more question.
func then(asked []query.Question, q query.Question) []query.Question {
	return append(asked[:len(asked):len(asked)], q)
}

// last lists the questions of each kind with the least noise that the session answers.
func (a *adversary) last(asked []query.Question) []query.Question {
	key := fmt.Sprint(asked)
	if a.lowest[key] == nil {
		for _, of := range []func(v float64) query.Question{
			func(v float64) query.Question { return count(query.Noise{Scale: v}) },
			func(v float64) query.Question { return count(query.Noise{Sigma: v}) },
			func(v float64) query.Question { return query.FindingKeys(1000, .1/v) },
		} {
			lo, hi := .2, 1e5
			for range 40 {
				if mid := math.Sqrt(lo * hi); a.takes(asked, of(mid)) {
					hi = mid
				} else {
					lo = mid
				}
			}
			if hi < 1e5 {
				a.lowest[key] = append(a.lowest[key], of(hi))
			}
		}
	}
	return a.lowest[key]
}

// delta is the largest δ at eps that choices of noise reach in some more rounds.
func (a *adversary) delta(l float64, asked []query.Question, rounds int) float64 {
	most := 0.
	if rounds == 1 {
		for _, q := range a.last(asked) {
			most = max(most, fixed(a.eps, l, []query.Question{q}))
		}
		return most
	}
	for _, q := range a.first {
		sum := 0.
		loss, mass := losses(q)
		for i, w := range mass {
			if w > 0 {
				sum += w * a.delta(l+loss[i], then(asked, q), rounds-1)
			}
		}
		most = max(most, sum)
	}
	return most
}

// answers reports whether a session answers the questions one after the other.
func answers(t *testing.T, s query.Session, asked []query.Question) bool {
	for _, q := range asked {
		var err error
		if q.Delta > 0 {
			_, err = s.UnknownKeys(t.Context(), nil, 1/q.Epsilon, q.Delta)
		} else {
			_, err = s.Count(t.Context(), 1, q.Noise)
		}
		if err != nil {
			return false
		}
	}
	return true
}

// No choice of noise makes a session exceed its budget. Sessions that compose what happened to be
// asked exceed it, though every sequence of questions by itself is within it.
func TestAdversary(t *testing.T) {
	scales := func(scales ...float64) (out []query.Question) {
		for _, s := range scales {
			out = append(out, count(query.Noise{Scale: s}))
		}
		return out
	}
	for _, c := range []struct {
		eps, delta, keys float64
		first            []query.Question
		rounds           int
		least            float64 // by how much composition of what was asked exceeds δ
	}{
		{1, .05, 0, scales(8), 2, 1.37}, {.3, .03, 0, scales(8), 2, 1.14}, {1, 1e-5, 0, scales(10), 2, 1.02},
		{1, .05, 0, scales(8, 16), 4, 1.49},
		{1, .05, .02, scales(8), 2, 1.46}, // where keys are asked for too, their δ is chosen as noise is
	} {
		s := query.Session{Budget: dp.Budget{Epsilon: c.eps, Delta: c.delta}, KeysDelta: c.keys, Source: noise.Crypto()}
		for name, takes := range map[string]func(asked []query.Question, q query.Question) bool{
			"composed": func(asked []query.Question, q query.Question) bool {
				return (q.Delta == 0 || c.keys > 0) && fixed(c.eps, 0, then(asked, q)) <= c.delta
			},
			"session": func(asked []query.Question, q query.Question) bool { return answers(t, s, then(asked, q)) },
		} {
			a := adversary{c.eps, c.first, takes, map[string][]query.Question{}}
			ratio := a.delta(0, nil, c.rounds) / c.delta
			t.Logf("%+v, %s: %.4f δ", c, name, ratio)
			if name == "session" && !(ratio > .1 && ratio <= 1) || name == "composed" && !(ratio > c.least) {
				t.Errorf("%+v, %s: %.4f δ", c, name, ratio)
			}
		}
	}
}

// Noise that is declared beforehand is composed exactly, so that less of it is needed; the session then
// answers what was declared, each question once and in any order, and goes on after it was closed.
func TestDeclare(t *testing.T) {
	budget := dp.Budget{Epsilon: 1, Delta: 1e-6}
	sigma, _ := must.Get2(dp.MinNoise(t.Context(), budget, func(sigma float64) dp.Event {
		return dp.Compose{dp.DiscreteGaussian{Sigma: sigma, Sensitivity: 1},
			dp.DiscreteLaplace{Scale: 4, Sensitivity: 1}}
	}))
	count, histogram := query.Noise{Sigma: sigma}, query.Noise{Scale: 4}
	path := filepath.Join(t.TempDir(), "ledger")
	open := func() *query.Session {
		return must.Get(query.Session{Budget: budget, Source: noise.Crypto()}.Open(path))
	}
	s := open()
	var over *query.OverBudgetError
	if err := s.Declare(t.Context(), query.Counting(1, count), query.Counting(2, histogram),
		query.FindingMax(50, true)); !errors.As(err, &over) {
		t.Errorf("more than the budget: %v", err)
	}
	must.Do(s.Declare(t.Context(), query.Counting(1, count), query.Counting(2, histogram)))
	ask := func(s *query.Session, first bool) error {
		if first {
			_, err := s.Count(t.Context(), 3, count)
			return err
		}
		_, err := s.Histogram(t.Context(), nil, []string{"a", "b"}, histogram)
		return err
	}
	if err := ask(s, false); err != nil {
		t.Error(err)
	}
	for range 2 { // before and after it is closed
		if err := ask(s, false); !errors.Is(err, dp.ErrParameter) {
			t.Errorf("a second time: %v", err)
		}
		if left, err := s.Left(t.Context()); err != nil ||
			!slices.Equal(left.Declared, []query.Question{query.Counting(1, count)}) {
			t.Errorf("left: %+v, %v", left, err)
		}
		if err := s.Declare(t.Context(), query.FindingMax(50, true)); !errors.Is(err, dp.ErrParameter) {
			t.Errorf("declared again: %v", err)
		}
		must.Do(s.Close())
		s = open()
	}
	if err := errors.Join(ask(s, true), s.Close()); err != nil {
		t.Error(err)
	}
	s = &query.Session{Budget: budget, Source: noise.Crypto()}
	if err := errors.Join(ask(s, false), ask(s, true)); !errors.As(err, &over) {
		t.Errorf("as one goes: %v, want that the filter needs more noise", err)
	}
	s.Budget.Epsilon = 2
	if err := ask(s, true); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("a budget that grew with the answers: %v", err)
	}
}

// The δ that keys do not use is not left to the filter.
func TestKeysDeltaIsSetAside(t *testing.T) {
	left := func(delta, keys float64) float64 {
		s := query.Session{Budget: dp.Budget{Epsilon: 1, Delta: delta}, KeysDelta: keys, Source: noise.Crypto()}
		return must.Get(s.Left(t.Context())).Divergence
	}
	if aside, without := left(.05, .02), left(.05-.02, 0); aside != without || left(.05, 0) <= aside {
		t.Errorf("%v is left for the filter, without keys %v", aside, without)
	}
}

// Noise in units of the values, where it is in steps, is refused with the ε that it would have.
func TestNoiseInTheWrongUnit(t *testing.T) {
	s := query.Session{Budget: dp.Budget{Epsilon: 1, Delta: 1e-6}, Source: noise.Crypto()}
	_, err := s.Sum(t.Context(), []float64{1}, -1, 3, 0x1p-7, query.Noise{Scale: 4})
	if err == nil || !strings.Contains(err.Error(), "needs ε = 96 of 1") ||
		!strings.Contains(err.Error(), "moves by 384 steps of 0.0078125") {
		t.Error(err)
	}
	if _, err := s.Count(t.Context(), 1, query.Noise{Sigma: 1e-3}); err == nil {
		t.Error("noise of .001 was taken")
	}
	s.Budget.Delta = 0
	s = query.Session{Budget: s.Budget, Source: s.Source}
	if _, err := s.Count(t.Context(), 1, query.Noise{Sigma: 9}); !errors.Is(err, dp.ErrUnbounded) {
		t.Errorf("Gaussian noise at δ = 0: %v", err)
	}
}
