// Package query releases counts, histograms, sums and maxima of records with differential privacy,
// and accounts for their cost.
//
//	budget := dp.Budget{Epsilon: 1, Delta: 1e-6}
//	s, err := query.Session{Budget: budget, Source: noise.Crypto()}.Open("ages.ledger")
//	counts, err := s.Histogram(ctx, ages, []string{"young", "old"}, query.Noise{Scale: 4}) // exact: ε = 1/4
//	total, err := s.Sum(ctx, incomes, 0, 100, 1, query.Noise{Scale: 1000}) // incomes cut to [0, 100]: ε = 100/1000
//	left, err := s.Left(ctx)                                               // what the budget still pays for
//
// A record is the data of one person: neighbours differ in one record, or as Budget.Relation says.
// An exchange costs as much as a substitution, one record out and one in.
//
// # What a session promises
//
// All its answers together are (Budget.Epsilon, Budget.Delta)-differentially private, whatever is
// asked: each question, and the noise on it, may depend on all earlier answers. A question that the
// budget does not pay for is refused before any noise is drawn. What was spent at some time before
// the end has no promise of its own (a filter is not an odometer), so a session reports what is
// Left, and Budget is its promise.
//
// Composing the events that happened to be asked would not do: who chooses the noise of a question
// by the answers before it can exceed an (ε, δ) that each fixed sequence of questions meets: with two
// counts at ε = 1 and δ = .05, by 38 per cent of δ. A session has one of three forms of accounting:
//
//   - Budget.Delta = 0: the sum of the ε of the questions.
//   - Declare: questions and their noise are given before the first answer. Their composition is
//     computed exactly, and each of them may then be asked once, in any order, about anything.
//   - Otherwise a question is answered while the sum of ε is within Budget.Epsilon, or the sum of
//     Rényi divergences at one order, fixed at the start, is within what (ε, δ) follows from: see
//     Left. Gaussian noise is then larger than after Declare by 4 to 11 per cent, where ε is from .1
//     to 10 and δ from 1e-5 to 1e-9 (by 23 at ε = 1 and δ = .05). Laplace noise costs more beside
//     Gaussian noise than in a session by itself, which goes by the sum: declare such mixtures.
//
// All noise is drawn on integers by package noise. A session of Open has a ledger: a release is on
// the disk before its noise is drawn, and the next program goes on with what is left of the budget.
// Other sessions are in memory alone.
//
// The running time depends on the number of records.
//
// # Sources
//
// Feldman, Zrnic, "Individual privacy accounting via a Rényi filter" (2021); Whitehouse, Ramdas,
// Rogers, Wu, "Fully adaptive composition in differential privacy" (2023); Rogers, Roth, Ullman,
// Vadhan, "Privacy odometers and filters" (2016).
package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/internal/journal"
	"coupling/dp/noise"
	"coupling/lab/logspace"
)

const in, inBudget = check.In("query"), check.In("query: Session.Budget")

var bad = in.Bad

// Session answers questions about one data set within a budget. Its fields are fixed at the first
// question, except Source. It is not safe for concurrent use.
type Session struct {
	Budget dp.Budget // with the relation Substitution only if the number of records is public
	// KeysDelta is the part of Budget.Delta that UnknownKeys may use, in [0, Budget.Delta].
	KeysDelta float64
	Source    noise.Source // noise.Crypto() for real data

	began    *terms // at the first question; nil before
	declared []Question
	asked    []Question
	prices   []price          // of the first of these
	ledger   *journal.Journal // nil if the session is in memory alone
}

// terms are what must not change once an answer is known.
type terms struct {
	Epsilon, Delta, KeysDelta float64
	Relation                  dp.Relation
}

// terms returns and checks them.
func (s *Session) terms() (terms, error) {
	t := terms{s.Budget.Epsilon, s.Budget.Delta, s.KeysDelta, s.Budget.Relation}
	err := check.All(inBudget.Epsilon(t.Epsilon), inBudget.Delta(t.Delta))
	if err == nil && !(t.KeysDelta >= 0 && t.KeysDelta <= t.Delta) {
		err = bad("Session.KeysDelta = %v: must be in [0, %v], a part of the budget's delta", t.KeysDelta, t.Delta)
	}
	return t, err
}

// begin fixes the terms.
func (s *Session) begin() error {
	if s.Source == nil {
		return bad("Session.Source = nil: must be a source of random bits, such as noise.Crypto()")
	}
	t, err := s.terms()
	switch {
	case err != nil:
		return err
	case s.began == nil:
		s.began = &t
	case *s.began != t:
		return bad("Session: the budget was %+v at the first question and is %+v: must stay the same", *s.began, t)
	}
	return nil
}

// ErrLedger marks a ledger with a line that no session has written, or of a session with another
// budget.
var ErrLedger = errors.New("ledger cannot be used")

// Open continues the session whose releases are in the ledger at path, or begins it, with the
// budget and the source of s. Every data set needs a ledger of its own, to be kept for as long as
// the data are asked. The budget must be that of the first Open: one that grew with the answers
// would promise nothing. Errors: ErrLedger, [coupling/lab/durable.ErrLocked] while another session
// has the ledger open. Close it at the end.
func (s Session) Open(path string) (*Session, error) {
	t, err := s.terms()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	const kind = "releases of coupling/dp/query, 2, within "
	out := &Session{Budget: s.Budget, KeysDelta: s.KeysDelta, Source: s.Source, began: &t}
	out.ledger, err = journal.Open(path, kind+string(text), out.replay)
	if other := new(journal.OtherError); errors.As(err, &other) {
		if first, ours := strings.CutPrefix(other.Head, kind); ours {
			return nil, fmt.Errorf("%s: was begun within %s, not %s: %w", path, first, text, ErrLedger)
		}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// entry is a line of the ledger: a release, or a declaration, which is the first one.
type entry struct {
	Declared []Question `json:",omitempty"`
	Question
}

// replay takes a line of the ledger.
func (s *Session) replay(line string) error {
	var e entry
	_ = json.Unmarshal([]byte(line), &e)
	asked := e.Declared
	if asked == nil {
		asked = []Question{e.Question}
	}
	all, _, err := s.events(asked)
	if err == nil {
		_, err = dp.Branches(all, dp.Relation{})
	}
	again, _ := json.Marshal(e)
	late := e.Declared != nil && (s.declared != nil || s.asked != nil)
	if err != nil || string(again) != line || late || e.Declared == nil && !s.mayAsk(e.Question) {
		return fmt.Errorf("%q is no release: %w", line, ErrLedger)
	}
	if s.declared = append(s.declared, e.Declared...); e.Declared == nil {
		s.asked = append(s.asked, asked...)
	}
	return nil
}

// Close closes the ledger, if there is one.
func (s *Session) Close() error {
	if s.ledger == nil {
		return nil
	}
	return s.ledger.Close()
}

// write adds a line to the ledger, if there is one.
func (s *Session) write(e entry) error {
	if s.ledger == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return s.ledger.Append(string(line))
}

// Question is what a question costs, for Declare, as Counting, Summing, FindingKeys and FindingMax
// make it: an ε and a δ of its own, or noise on integers of which one record moves one by at most
// Step.
type Question struct {
	Noise          Noise   `json:",omitzero"`
	Values         int     `json:",omitzero"`
	Step           int     `json:",omitzero"`
	Epsilon, Delta float64 `json:",omitzero"`
}

// Counting is the question of Count (keys = 1), or of Histogram with that many keys.
func Counting(keys int, n Noise) Question { return Question{Noise: n, Values: keys, Step: 1} }

// Summing is the question of Sum.
func Summing(low, high, step float64, n Noise) (Question, error) {
	if !(low <= high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return Question{}, bad("low = %v, high = %v: must be finite, in order", low, high)
	}
	ends, err := noise.Grid{Step: step}.Round([]float64{low, high}) // they bound the effect of a record
	if err != nil {
		return Question{}, err
	}
	most := max(math.Abs(ends[0]), math.Abs(ends[1])) / step
	if most == 0 {
		return Question{}, bad("step = %v: [%v, %v] is rounded to 0, so that the sum is 0", step, low, high)
	}
	if most > 1<<30 {
		return Question{}, bad("step = %v: is too fine for values up to %v", step, max(math.Abs(low), math.Abs(high)))
	}
	return Question{Noise: n, Values: 1, Step: int(most)}, nil
}

// FindingKeys is the question of UnknownKeys.
func FindingKeys(scale, delta float64) Question {
	return Question{Epsilon: 1 / scale * (1 + 1e-15), Delta: delta}
}

// FindingMax is the question of Argmax.
func FindingMax(scale float64, monotone bool) Question {
	if monotone {
		return FindingKeys(scale, 0)
	}
	return FindingKeys(scale/2, 0)
}

// event is what the question costs, for groups of that size.
func (q Question) event(group int) (dp.Event, error) {
	switch {
	case q.Epsilon == 0:
		return q.Noise.event(q.Values, q.Step, group)
	case q.Delta == 0:
		return dp.Pure{Epsilon: q.Epsilon}, nil
	}
	return dp.Approximate{Epsilon: q.Epsilon, Delta: q.Delta}, nil
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

// Event composes everything released so far, or declared; nil if nothing was. Where noise was chosen
// as one went, its composition is no promise: Budget is.
func (s *Session) Event() dp.Event {
	asked := s.asked
	if s.declared != nil {
		asked = s.declared
	}
	out, err := s.compose(asked)
	if err != nil || out == nil { // no question in a session has an error
		return nil
	}
	return out
}

// compose lists what questions cost.
func (s *Session) compose(asked []Question) (out dp.Compose, err error) {
	for _, q := range asked {
		e, err := q.event(s.Budget.Relation.Group)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Declare gives the questions that are to be asked, and their noise, before the first answer. Each
// may then be asked once, in any order; other questions are refused. The composition is that of the
// budget's accountant, exact by default. The error is an *OverBudgetError where it exceeds the
// budget; more than that, or another noise, needs another declaration.
//
// Proof that the order and the data asked may depend on answers. Let L be the sum of the losses of
// the dominating pairs so far, and S the declared questions that are left. The most that can still
// be added to δ is V(L, S) = δ_S(ε − L), δ_S being the profile of the composition of S: by induction,
// to ask q ∈ S next costs E[V(L + loss of q, S \ q)] at most, which is V(L, S) whichever q it is, as
// composition commutes; and to stop costs (1 − e^(ε−L))₊ = δ_∅(ε − L) ≤ δ_S(ε − L).
func (s *Session) Declare(ctx context.Context, questions ...Question) error {
	if len(s.asked) > 0 || s.declared != nil {
		return bad("Session.Declare: must come before the first question, and once")
	}
	if err := s.begin(); err != nil {
		return err
	}
	all, err := s.compose(questions)
	if err != nil {
		return err
	}
	g, err := dp.EpsilonBy(ctx, s.Budget.Accountant, all, s.Budget.Relation.OfRecords(), s.Budget.Delta)
	if err != nil {
		return err
	}
	if g.Epsilon > s.Budget.Epsilon*(1+slack) {
		return &OverBudgetError{Event: all, Needs: g, Budget: s.Budget}
	}
	if err := s.write(entry{Declared: questions}); err != nil {
		return err
	}
	s.declared = slices.Clone(questions)
	return nil
}

// mayAsk reports whether nothing was declared, or the question was and is left.
func (s *Session) mayAsk(q Question) bool { return s.declared == nil || slices.Contains(s.undone(), q) }

// undone lists the declared questions that were not asked.
func (s *Session) undone() []Question {
	left := slices.Clone(s.declared)
	for _, q := range s.asked {
		if i := slices.Index(left, q); i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	return left
}

// spend adds a release to the session and its ledger, if the budget pays for it.
func (s *Session) spend(ctx context.Context, q Question) error {
	if err := s.begin(); err != nil {
		return err
	}
	if !s.mayAsk(q) {
		return bad("%+v: must be one of the declared questions that are left: %+v", q, s.undone())
	}
	if s.declared == nil {
		if err := s.filter(ctx, q); err != nil {
			return err
		}
	}
	if err := s.write(entry{Question: q}); err != nil {
		return err
	}
	s.asked = append(s.asked, q)
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
	return "query: " + e.Event.String() + ": with what was released before it needs ε = " +
		dp.FormatUp(e.Needs.Epsilon, 6) +
		" of " + dp.FormatUp(e.Budget.Epsilon, 6) + " at δ = " + fmt.Sprint(e.Needs.Delta) + ": take more noise"
}

// Count returns how many records there are, with noise.
func (s *Session) Count(ctx context.Context, records int, n Noise) (int, error) {
	if records < 0 || records > 1<<50 {
		return 0, bad("records = %d: must be in [0, 2^50]", records)
	}
	out, err := s.release(ctx, []float64{float64(records)}, Counting(1, n))
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
	return s.release(ctx, counts, Counting(len(keys), n))
}

// release answers a question of integers.
func (s *Session) release(ctx context.Context, values []float64, q Question) ([]int, error) {
	if err := s.spend(ctx, q); err != nil {
		return nil, err
	}
	noisy, err := q.Noise.add(s.Source, values)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(noisy))
	for i, v := range noisy {
		out[i] = int(v)
	}
	return out, nil
}

// Sum returns the sum of values that are cut to [low, high] and rounded to multiples of step, a power
// of two; NaN counts as 0 cut to [low, high]. One record moves it by at most max(|low|, |high|). The
// noise is in units of step: ε = max(|low|, |high|)/(step·Scale). Sums beyond 2^50 steps are cut to
// that on the way, which one record moves by no more.
func (s *Session) Sum(ctx context.Context, values []float64, low, high, step float64, n Noise) (float64, error) {
	q, err := Summing(low, high, step, n)
	if err != nil {
		return 0, err
	}
	cut := make([]float64, len(values))
	for i, v := range values {
		if math.IsNaN(v) {
			v = 0
		}
		cut[i] = min(high, max(low, v))
	}
	rounded, err := noise.Grid{Step: step}.Round(cut)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, v := range rounded {
		// Integers below 2^52: exact. No cut moves neighbours apart, and none depends on how many records there are.
		sum = min(mostSteps, max(-mostSteps, sum+v/step))
	}
	out, err := s.release(ctx, []float64{sum}, q)
	if err != nil {
		return 0, fmt.Errorf("%w (of a sum that one record moves by %d steps of %v, which are the unit of its noise)",
			err, q.Step, step)
	}
	return float64(out[0]) * step, nil
}

// mostSteps is the largest sum in units of its step.
const mostSteps = 1 << 50

// Cell is a key with its count.
type Cell struct {
	Key   string
	Count int
}

// UnknownKeys returns the keys of the records with their counts, sorted by key, where keys may be
// anything: those whose count with discrete Laplace noise of the given scale is at least
//
//	1 + t,   P(noise ≥ t) = ρ^t/(1+ρ) ≤ delta,   ρ = e^(−1/scale).
//
// A key that only one record has is released with probability at most delta, and other counts move
// by one: (1/scale, delta) for one record (stability-based histogram: Korolova, Kenthapadi, Mishra,
// Ntoulas 2009; Bun, Nissim, Stemmer 2016). The deltas of all such questions are within KeysDelta.
func (s *Session) UnknownKeys(ctx context.Context, of []string, scale, delta float64) ([]Cell, error) {
	n := Noise{Scale: scale}
	if _, err := n.law(); err != nil {
		return nil, err
	}
	if !(delta > 0 && delta < 1) {
		return nil, bad("delta = %v: must be in (0, 1)", delta)
	}
	counts := map[string]float64{}
	for _, k := range of {
		counts[k]++
	}
	if err := s.spend(ctx, FindingKeys(scale, delta)); err != nil {
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
	if err := s.spend(ctx, FindingMax(scale, monotone)); err != nil {
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
