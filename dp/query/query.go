// Package query releases counts, histograms, sums and maxima of records with differential privacy,
// and accounts for their cost.
//
//	s, err := query.Open("ages.ledger", dp.Budget{Epsilon: 1, Delta: 1e-6}, noise.Crypto())
//	counts, err := s.Histogram(ctx, ages, []string{"young", "old"}, query.Noise{Scale: 4}) // noise on integers, exact, ε = 1/4
//	total, err := s.Sum(ctx, incomes, 0, 100, 1, query.Noise{Scale: 1000})                 // each income is cut to [0, 100]: ε = 100/1000
//	g, err := s.Spent(ctx)                                                                 // of all that was released
//
// A record is the data of one person: neighbours differ in one record, or as Budget.Relation says. An exchange costs as much as a
// substitution, one record out and one in.
//
// Every release is first added to the session with its event. If the ε of the events so far and this
// one exceeds the budget's by more than one part in 10¹², which rounding may add, it is refused
// before any noise is drawn. So Event covers all that was released, and adaptive questions compose.
// All noise is drawn on integers by package noise. A session that [Open] returns has a ledger: a
// release is on the disk before its noise is drawn, and the next program goes on with what is left
// of the budget. A Session{} is in memory alone.
//
// The running time depends on the number of records.
package query

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/internal/journal"
	"coupling/dp/noise"
	"coupling/lab/logspace"
)

const in, inBudget = check.In("query"), check.In("query: Session.Budget")

var bad = in.Bad

// Session answers questions about one data set within a budget. It is not safe for concurrent use.
type Session struct {
	Budget dp.Budget    // with the relation Substitution only if the number of records is public
	Source noise.Source // noise.Crypto() for real data
	spent  dp.Compose
	ledger *journal.Journal // nil if the session is in memory alone
}

// ErrLedger marks a ledger with a line that no session has written.
var ErrLedger = errors.New("ledger cannot be used")

// Open continues the session whose releases are in the ledger at path, or begins it. Every data set
// needs a ledger of its own, to be kept for as long as the data are asked; the budget may differ from
// that of an earlier session, whose releases it counts. Errors: ErrLedger, [coupling/lab/durable.ErrLocked] while
// another session has the ledger open. Close it at the end.
func Open(path string, budget dp.Budget, source noise.Source) (*Session, error) {
	s := &Session{Budget: budget, Source: source}
	var err error
	s.ledger, err = journal.Open(path, "releases of coupling/dp/query, 1", func(line string) error {
		var r released
		_ = json.Unmarshal([]byte(line), &r)
		e, err := r.event(budget.Relation.Group)
		if err == nil {
			_, err = dp.Branches(e, dp.Relation{})
		}
		if again, _ := json.Marshal(r); err != nil || string(again) != line {
			return fmt.Errorf("%q is no release: %w", line, ErrLedger)
		}
		s.spent = append(s.spent, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes the ledger, if there is one.
func (s *Session) Close() error {
	if s.ledger == nil {
		return nil
	}
	return s.ledger.Close()
}

// released is a release as it is in the ledger: what has an ε and a δ of its own, or noise on
// integers of which a record moves one by at most Step.
type released struct {
	Noise          Noise   `json:",omitzero"`
	Values         int     `json:",omitzero"`
	Step           int     `json:",omitzero"`
	Epsilon, Delta float64 `json:",omitzero"`
}

// event is what the release costs, for groups of that size.
func (r released) event(group int) (dp.Event, error) {
	switch {
	case r.Epsilon == 0:
		return r.Noise.event(r.Values, r.Step, group)
	case r.Delta == 0:
		return dp.Pure{Epsilon: r.Epsilon}, nil
	}
	return dp.Approximate{Epsilon: r.Epsilon, Delta: r.Delta}, nil
}

// Noise is added to integers: discrete Laplace noise P(k) ∝ e^(−|k|/Scale), or discrete Gaussian
// noise P(k) ∝ e^(−k²/2Sigma²). Set one of the two.
type Noise struct{ Scale, Sigma float64 }

// exactWork bounds the size of an exact pair: its points times the records that differ.
const exactWork = 1 << 20

// law is the noise on integers; the error says what is not in range, before anything is spent.
func (n Noise) law() (l interface {
	Grid() (noise.Grid, error)
	Event(noise.Query) (dp.Event, error)
	Add(noise.Source, []float64) ([]float64, error)
}, err error,
) {
	switch {
	case n.Scale > 0 && n.Sigma == 0:
		l = noise.Laplace{Scale: n.Scale, Granularity: 1}
	case n.Sigma > 0 && n.Scale == 0:
		l = noise.Gaussian{Sigma: n.Sigma, Granularity: 1}
	default:
		return nil, bad("noise = %+v: must have one of Scale and Sigma, positive", n)
	}
	_, err = l.Grid()
	return l, err
}

// event is the event of adding the noise to values where one record moves one value by at most step,
// for groups of that size. It is exact; where an exact pair would be large, it is the event of a fine
// grid, at most half a per cent above.
func (n Noise) event(values, step, group int) (dp.Event, error) {
	l, err := n.law()
	if err != nil {
		return nil, err
	}
	if differ := 2 * float64(max(1, group)); n.Scale > 0 && float64(step)*differ*differ <= exactWork {
		return dp.DiscreteLaplace{Scale: n.Scale, Sensitivity: step}, nil
	}
	return l.Event(noise.Query{Sensitivity: float64(step), Dim: values, OnGrid: true})
}

// add draws the noise.
func (n Noise) add(src noise.Source, values []float64) ([]float64, error) {
	l, err := n.law()
	if err != nil {
		return nil, err
	}
	return l.Add(src, values)
}

// Event covers everything released so far; nil if nothing was.
func (s *Session) Event() dp.Event {
	if len(s.spent) == 0 {
		return nil
	}
	return slices.Clone(s.spent)
}

// Spent returns the guarantee of everything released so far, at the budget's δ.
func (s *Session) Spent(ctx context.Context) (dp.Guarantee, error) {
	if len(s.spent) == 0 {
		return dp.EpsilonBy(ctx, dp.Best{}, dp.Pure{}, s.Budget.Relation.OfRecords(), s.Budget.Delta)
	}
	return s.cost(ctx, dp.Best{}, s.spent)
}

// cost is the guarantee of an event by the budget's accountant, or by another if it has none.
func (s *Session) cost(ctx context.Context, by dp.Accountant, e dp.Event) (dp.Guarantee, error) {
	return dp.EpsilonBy(ctx, cmp.Or(s.Budget.Accountant, by), e, s.Budget.Relation.OfRecords(), s.Budget.Delta)
}

// spend adds a release to the session and its ledger, if it is within the budget.
func (s *Session) spend(ctx context.Context, r released) error {
	if s.Source == nil {
		return bad("Session.Source = nil: must be a source of random bits, such as noise.Crypto()")
	}
	if err := check.All(inBudget.Epsilon(s.Budget.Epsilon), inBudget.Delta(s.Budget.Delta)); err != nil {
		return err
	}
	e, err := r.event(s.Budget.Relation.Group)
	if err != nil {
		return err
	}
	next := append(slices.Clone(s.spent), e)
	g, err := s.cost(ctx, dp.Best{Width: 1e-2}, next) // enough, unless the budget is nearly spent
	if err != nil || g.Epsilon > s.Budget.Epsilon {
		g, err = s.cost(ctx, dp.Best{}, next)
	}
	if err != nil {
		return err
	}
	if !(g.Epsilon <= s.Budget.Epsilon*(1+1e-12)) {
		return &OverBudgetError{Event: e, Needs: g, Budget: s.Budget}
	}
	if s.ledger != nil {
		line, err := json.Marshal(r)
		if err == nil {
			err = s.ledger.Append(string(line))
		}
		if err != nil {
			return err
		}
	}
	s.spent = next
	return nil
}

// OverBudgetError reports a question that was refused because it would exceed the budget. Nothing
// was released or spent.
type OverBudgetError struct {
	Event  dp.Event
	Needs  dp.Guarantee // of all that was released and the question
	Budget dp.Budget
}

// Error names the budget and the cost.
func (e *OverBudgetError) Error() string {
	return "query: " + e.Event.String() + ": with what was released before it needs ε = " + dp.FormatUp(e.Needs.Epsilon, 6) +
		" of " + dp.FormatUp(e.Budget.Epsilon, 6) + ": take more noise, or a larger budget"
}

// Count returns how many records there are, with noise.
func (s *Session) Count(ctx context.Context, records int, n Noise) (int, error) {
	out, err := s.release(ctx, []float64{float64(records)}, 1, n)
	if err != nil {
		return 0, err
	}
	return out[0], nil
}

// Histogram returns how many records have each of the keys, with noise on every count, zero counts
// included. of holds the key of every record; records of other keys are not counted. The keys must
// not depend on the records: see UnknownKeys.
func (s *Session) Histogram(ctx context.Context, of, keys []string, n Noise) ([]int, error) {
	index := map[string]int{}
	for i, k := range keys {
		if _, twice := index[k]; twice {
			return nil, bad("keys[%d] = %q: is there twice", i, k)
		}
		index[k] = i
	}
	counts := make([]float64, len(keys))
	for _, k := range of {
		if i, ok := index[k]; ok {
			counts[i]++
		}
	}
	return s.release(ctx, counts, 1, n)
}

// release adds noise to integers where one record moves one of them by at most step.
func (s *Session) release(ctx context.Context, values []float64, step int, n Noise) ([]int, error) {
	if err := s.spend(ctx, released{Noise: n, Values: len(values), Step: step}); err != nil {
		return nil, err
	}
	noisy, err := n.add(s.Source, values)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(noisy))
	for i, v := range noisy {
		out[i] = int(v)
	}
	return out, nil
}

// Sum returns the sum of values that are cut to [low, high] and rounded to multiples of step, a power of two; NaN counts as 0 cut to
// [low, high]. One record moves it by at most max(|low|, |high|); the noise is in units of step.
func (s *Session) Sum(ctx context.Context, values []float64, low, high, step float64, n Noise) (float64, error) {
	if !(low <= high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return 0, bad("low = %v, high = %v: must be finite, in order", low, high)
	}
	cut := make([]float64, len(values), len(values)+2)
	for i, v := range values {
		if math.IsNaN(v) {
			v = 0
		}
		cut[i] = min(high, max(low, v))
	}
	rounded, err := noise.Grid{Step: step}.Round(append(cut, low, high)) // the ends too: they bound the effect of a record
	if err != nil {
		return 0, err
	}
	ends := rounded[len(values):]
	most := max(math.Abs(ends[0]), math.Abs(ends[1])) / step
	if most == 0 {
		return 0, bad("step = %v: [%v, %v] is rounded to 0, so that the sum is 0", step, low, high)
	}
	if most*float64(len(values)) > 1<<52 || most > 1<<30 {
		return 0, bad("step = %v: is too fine for values up to %v", step, max(math.Abs(low), math.Abs(high)))
	}
	sum := 0.0
	for _, v := range rounded[:len(values)] {
		sum += v / step // integers: exact
	}
	out, err := s.release(ctx, []float64{sum}, int(most), n)
	if err != nil {
		return 0, err
	}
	return float64(out[0]) * step, nil
}

// Cell is a key with its count.
type Cell struct {
	Key   string
	Count int
}

// UnknownKeys returns the keys of the records with their counts, sorted by key, where keys may be anything: those whose count with discrete
// Laplace noise of the given scale is at least
//
//	1 + t,   P(noise ≥ t) = ρ^t/(1+ρ) ≤ delta,   ρ = e^(−1/scale).
//
// A key that only one record has is released with probability at most delta, and other counts move
// by one: (1/scale, delta) for one record (stability-based histogram: Korolova, Kenthapadi, Mishra,
// Ntoulas 2009; Bun, Nissim, Stemmer 2016).
func (s *Session) UnknownKeys(ctx context.Context, of []string, scale, delta float64) ([]Cell, error) {
	n := Noise{Scale: scale}
	_, err := n.law()
	if err := check.All(err, inBudget.Delta(s.Budget.Delta)); err != nil {
		return nil, err
	}
	if !(delta > 0 && delta <= s.Budget.Delta) {
		return nil, bad("delta = %v: must be positive, and at most the budget's %v", delta, s.Budget.Delta)
	}
	counts := map[string]float64{}
	for _, k := range of {
		counts[k]++
	}
	if err := s.spend(ctx, released{Epsilon: 1 / scale * (1 + 1e-15), Delta: delta}); err != nil {
		return nil, err
	}
	least := 1 + threshold(scale, delta)
	keys := slices.Sorted(maps.Keys(counts))
	var values []float64
	for _, k := range keys {
		values = append(values, counts[k])
	}
	noisy, err := n.add(s.Source, values)
	if err != nil {
		return nil, err
	}
	var out []Cell
	for i, v := range noisy {
		if v >= least {
			out = append(out, Cell{keys[i], int(v)})
		}
	}
	return out, nil
}

// threshold is the least integer t ≥ 1 with P(noise ≥ t) ≤ delta, with some to spare for rounding.
func threshold(scale, delta float64) float64 {
	return max(1, math.Ceil(scale*(-logspace.Log(delta)-math.Log1p(math.Exp(-1/scale)))*(1+1e-12)))
}

// Argmax returns the index of a large score: of the largest after exponential noise of the given
// scale, drawn by permute-and-flip, which is the same (McKenna, Sheldon 2020; Ding et al. 2021).
// Every score moves by at most one with one record. It costs 2/scale, or 1/scale if adding a record
// lowers no score, as with counts (monotone).
func (s *Session) Argmax(ctx context.Context, scores []int, scale float64, monotone bool) (int, error) {
	if err := in.Positive("scale", scale); err != nil {
		return 0, err
	}
	if len(scores) == 0 {
		return 0, bad("scores: must not be empty")
	}
	top := slices.Max(scores)
	if slices.Min(scores) < -1<<50 || top > 1<<50 {
		return 0, bad("scores: must be at most 2^50 in size")
	}
	eps := 2 / scale
	if monotone {
		eps = 1 / scale
	}
	if err := s.spend(ctx, released{Epsilon: eps * (1 + 1e-15)}); err != nil {
		return 0, err
	}
	left := make([]int, len(scores))
	for i := range left {
		left[i] = i
	}
	for {
		k, err := noise.Index(s.Source, len(left))
		if err != nil {
			return 0, err
		}
		i := left[k]
		keep, err := noise.Keep(s.Source, top-scores[i], scale)
		if err != nil {
			return 0, err
		}
		if keep {
			return i, nil
		}
		left[k] = left[len(left)-1]
		left = left[:len(left)-1]
	}
}
