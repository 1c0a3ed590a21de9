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
)

// adversary asks for counts. It chooses each noise by the answers so far, so that the session gives
// away as much as it can at ε.
type adversary struct {
	eps    float64
	first  []query.Noise                                 // the noise of all rounds but the last, one of these
	takes  func(asked []query.Noise, n query.Noise) bool // whether the session answers
	lowest map[string][]query.Noise                      // of the last round, found for a history
}

// losses are those of a count that one record moves, and their probabilities: P(k) against P(k−1).
func losses(n query.Noise) (loss, mass []float64) {
	if n.Scale > 0 {
		up := (1 + math.Tanh(.5/n.Scale)) / 2 // P(k ≤ 0)
		return []float64{1 / n.Scale, -1 / n.Scale}, []float64{up, 1 - up}
	}
	law, most := gauss(n.Sigma), int(12*n.Sigma)+12
	for k := -most; k <= most; k++ {
		loss, mass = append(loss, (1-2*float64(k))/(2*n.Sigma*n.Sigma)), append(mass, law(k))
	}
	return loss, mass
}

// fixed is δ at eps of counts whose noise is fixed beforehand, where the loss so far is l.
func fixed(eps, l float64, asked []query.Noise) float64 {
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

// last lists the least noise of each kind that the session adds to one more count.
func (a *adversary) last(asked []query.Noise) []query.Noise {
	key := fmt.Sprint(asked)
	if a.lowest[key] == nil {
		for _, of := range []func(v float64) query.Noise{
			func(v float64) query.Noise { return query.Noise{Scale: v} }, func(v float64) query.Noise { return query.Noise{Sigma: v} },
		} {
			lo, hi := .2, 500.
			for range 30 {
				if mid := math.Sqrt(lo * hi); a.takes(asked, of(mid)) {
					hi = mid
				} else {
					lo = mid
				}
			}
			a.lowest[key] = append(a.lowest[key], of(hi))
		}
	}
	return a.lowest[key]
}

// delta is the largest δ at eps that choices of noise reach in some more rounds.
func (a *adversary) delta(l float64, asked []query.Noise, rounds int) float64 {
	most := 0.
	if rounds == 1 {
		for _, n := range a.last(asked) {
			most = max(most, fixed(a.eps, l, []query.Noise{n}))
		}
		return most
	}
	for _, n := range a.first {
		sum := 0.
		loss, mass := losses(n)
		for i, w := range mass {
			sum += w * a.delta(l+loss[i], append(asked[:len(asked):len(asked)], n), rounds-1)
		}
		most = max(most, sum)
	}
	return most
}

// No choice of noise makes a session exceed its budget. Sessions that compose what happened to be
// asked exceed it, though every sequence of noises by itself is within it.
func TestAdversary(t *testing.T) {
	for _, c := range []struct {
		budget dp.Budget
		first  []query.Noise
		rounds int
		least  float64 // by how much composition of the noise so far exceeds δ
	}{
		{dp.Budget{Epsilon: 1, Delta: .05}, []query.Noise{{Scale: 8}}, 2, 1.37},
		{dp.Budget{Epsilon: .3, Delta: .03}, []query.Noise{{Scale: 8}}, 2, 1.14},
		{dp.Budget{Epsilon: 1, Delta: 1e-5}, []query.Noise{{Scale: 10}}, 2, 1.02},
		{dp.Budget{Epsilon: 1, Delta: .05}, []query.Noise{{Scale: 8}, {Scale: 16}}, 4, 1.4},
	} {
		composed := func(asked []query.Noise, n query.Noise) bool {
			return fixed(c.budget.Epsilon, 0, append(asked[:len(asked):len(asked)], n)) <= c.budget.Delta
		}
		answered := func(asked []query.Noise, n query.Noise) bool {
			s := query.Session{Budget: c.budget, Source: noise.Crypto()}
			for _, n := range append(asked[:len(asked):len(asked)], n) {
				if _, err := s.Count(t.Context(), 1, n); err != nil {
					return false
				}
			}
			return true
		}
		for name, takes := range map[string]func([]query.Noise, query.Noise) bool{"composed": composed, "session": answered} {
			a := adversary{c.budget.Epsilon, c.first, takes, map[string][]query.Noise{}}
			ratio := a.delta(0, nil, c.rounds) / c.budget.Delta
			t.Logf("%v, %d rounds, %s: %.4f δ, last %v", c.budget, c.rounds, name, ratio, a.lowest)
			if name == "session" && !(ratio > .01 && ratio <= 1) || name == "composed" && !(ratio > c.least) {
				t.Errorf("%v, %d rounds, %s: %.4f δ", c.budget, c.rounds, name, ratio)
			}
		}
	}
}

// Noise that is declared beforehand is composed exactly, so that less of it is needed; the session then
// answers what was declared, each question once and in any order, and goes on after it was closed.
func TestDeclare(t *testing.T) {
	budget := dp.Budget{Epsilon: 1, Delta: 1e-6}
	sigma, _, err := dp.MinNoise(t.Context(), budget, func(sigma float64) dp.Event {
		return dp.Compose{dp.DiscreteGaussian{Sigma: sigma, Sensitivity: 1}, dp.DiscreteLaplace{Scale: 4, Sensitivity: 1}}
	})
	if err != nil {
		t.Fatal(err)
	}
	count, histogram := query.Noise{Sigma: sigma}, query.Noise{Scale: 4}
	path := filepath.Join(t.TempDir(), "ledger")
	open := func() *query.Session {
		s, err := query.Session{Budget: budget, Source: noise.Crypto()}.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	var over *query.OverBudgetError
	if err := s.Declare(t.Context(), query.Counting(1, count), query.Counting(2, histogram), query.FindingMax(50, true)); !errors.As(err, &over) {
		t.Errorf("more than the budget: %v", err)
	}
	if err := s.Declare(t.Context(), query.Counting(1, count), query.Counting(2, histogram)); err != nil {
		t.Fatal(err)
	}
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
		if left, err := s.Left(t.Context()); err != nil || !slices.Equal(left.Declared, []query.Question{query.Counting(1, count)}) {
			t.Errorf("left: %+v, %v", left, err)
		}
		if err := s.Declare(t.Context(), query.FindingMax(50, true)); !errors.Is(err, dp.ErrParameter) {
			t.Errorf("declared again: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
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
		l, err := s.Left(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l.Divergence
	}
	if aside, without := left(.05, .02), left(.05-.02, 0); aside != without || left(.05, 0) <= aside {
		t.Errorf("%v is left for the filter, without keys %v", aside, without)
	}
}

// Noise in units of the values, where it is in steps, is refused with the ε that it would have.
func TestNoiseInTheWrongUnit(t *testing.T) {
	s := query.Session{Budget: dp.Budget{Epsilon: 1, Delta: 1e-6}, Source: noise.Crypto()}
	_, err := s.Sum(t.Context(), []float64{1}, -1, 3, 0x1p-7, query.Noise{Scale: 4})
	if err == nil || !strings.Contains(err.Error(), "needs ε = 96 of 1") || !strings.Contains(err.Error(), "moves by 384 steps of 0.0078125") {
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
