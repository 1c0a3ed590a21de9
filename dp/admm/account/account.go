package account

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"coupling/dp"
	"coupling/dp/internal/check"
)

// ErrParameter marks a parameter out of range; the message names it and its value. It is dp.ErrParameter.
var ErrParameter = check.ErrParameter

const in = check.In("account")

var bad = in.Bad

// Account is the budget that a node has spent after some rounds, by three compositions of the same rounds.
type Account struct {
	// Alpha is the ε of each round, Degree the node's edges, Rounds their number, Delta the δ that ε is asked at.
	Alpha  float64
	Degree int
	Rounds int
	Delta  float64
	// Basic is the sum of the α_p: the exact worst at δ = 0, and an upper bound at every other.
	Basic dp.Guarantee
	// Optimal is the composition of any mechanisms of ε = α_p (Kairouz, Oh, Viswanath 2015): exact
	// for randomised response, and an upper bound for every other mechanism of which only α_p is
	// known.
	Optimal dp.Guarantee
	// Numerical composes the norm noise itself. Its dominating pair is the shift by the full
	// sensitivity along any axis. Proof that it dominates in every dimension: turn the shift s onto
	// an axis, for the density depends on ‖v‖ only; given the other coordinates the density f along
	// the axis is log-concave, the likelihood ratio f(x−s)/f(x) increases in x, and the
	// hockey-stick divergence is max_t F̄(t−s) − e^ε F̄(t), which grows with s for each t; average
	// over the other coordinates. So a shift that is shorter, or points elsewhere, has a smaller
	// divergence at every ε, and pairs that dominate compose (Zhu, Dong, Wang 2022, Theorem 10).
	// Its Kind says whether the number for these pairs is exact or an upper bound.
	Numerical dp.Guarantee
}

// Spend accounts for rounds of norm noise with privacy alpha each on degree values, at δ. Errors:
// parameters out of range. Cost: milliseconds to a second on up to a thousand values, seconds on thousands.
func Spend(ctx context.Context, alpha float64, degree, rounds int, delta float64) (Account, error) {
	a := Account{Alpha: alpha, Degree: degree, Rounds: rounds, Delta: delta}
	if err := check.All(in.Positive("Alpha", alpha), in.Delta(delta)); err != nil {
		return a, err
	}
	if degree < 1 || rounds < 1 {
		return a, bad("Degree = %d, Rounds = %d: must be at least 1", degree, rounds)
	}
	one := dp.Relation{}
	a.Basic = dp.Guarantee{
		Epsilon:    alpha * float64(rounds) * (1 + 4e-16),
		Delta:      delta,
		Kind:       dp.UpperBound,
		Accountant: "sum",
		Relation:   one,
	}
	if delta == 0 {
		a.Basic.Kind = dp.Exact
		a.Optimal, a.Numerical = a.Basic, a.Basic
		return a, nil
	}
	var err error
	if a.Optimal, err = dp.Epsilon(ctx, dp.Repeat{Times: rounds, Event: dp.Pure{Epsilon: alpha}}, one,
		delta); err != nil {
		return a, fmt.Errorf("account: optimal composition: %w", err)
	}
	if a.Optimal.Kind = dp.UpperBound; a.Optimal.Epsilon > a.Basic.Epsilon { // exact for randomised response only
		a.Optimal = a.Basic
	}
	noise := dp.Repeat{Times: rounds, Event: dp.NormNoise{Zeta: alpha, Dim: degree}}
	if a.Numerical, err = dp.Epsilon(ctx, noise, one, delta); err != nil {
		return a, fmt.Errorf("account: numerical composition: %w", err)
	}
	if a.Numerical.Epsilon > a.Basic.Epsilon {
		a.Numerical = a.Basic
	}
	return a, nil
}

// Best returns the least of the three, all of which hold.
func (a Account) Best() dp.Guarantee {
	return slices.MinFunc([]dp.Guarantee{a.Numerical, a.Optimal, a.Basic},
		func(x, y dp.Guarantee) int { return cmp.Compare(x.Epsilon, y.Epsilon) })
}

// Caveats returns the conditions to state beside every ε of this package.
func Caveats() []string {
	return []string{
		"It protects utility parameters of one node, as many as Parameters says (the paper: one); bounds and who " +
			"is joined to whom are not protected.",
		"The sensitivity rests on Slope and Range, which must be known beforehand for all parameters that a node " +
			"might have had.",
		"Noise is computed in float64, whose low bits leak (Mironov 2012), from a key that must stay with the " +
			"node: fit for experiments.",
		"Rounds of one kind are accounted for as if η and noise were fixed beforehand, as in one run they are; a " +
			"ledger with releases of several kinds, whose rules may have been chosen by what earlier ones showed, " +
			"goes by the sum of their ε.",
		"It is the cost of one run; further runs with the same parameters add to it. A node of its own " +
			"(Secret.Ledger) keeps account over all its runs and stops at its budget; nodes that are played in one " +
			"process keep none.",
	}
}

// String returns a table of the three, each with what it proves.
func (a Account) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rounds of ε = %g on %d edges, at δ = %g:\n", a.Rounds, a.Alpha, a.Degree, a.Delta)
	for _, row := range []struct {
		name string
		g    dp.Guarantee
		of   string
	}{
		{"basic", a.Basic, "holds for any mechanisms"},
		{"optimal", a.Optimal, "exact if only the ε of each round is known"},
		{"numerical", a.Numerical, "of this noise; its dominating pair is proved in every dimension"},
	} {
		fmt.Fprintf(&b, "  %-10s ε = %-10.6g %v, by %s: %s\n", row.name, row.g.Epsilon, row.g.Kind,
			row.g.Accountant, row.of)
	}
	if a.Best().Epsilon > 10 {
		fmt.Fprintf(&b, "  An ε of %.3g protects nothing: it lets odds change by a factor of e^%.3g.\n",
			a.Best().Epsilon, a.Best().Epsilon)
	}
	return b.String()
}

// UnlimitedRounds is the number of rounds of a budget without a limit, more than any run has.
const UnlimitedRounds = 1 << 20

// Budget is the privacy loss that a node may spend.
type Budget struct {
	// Alpha is the ε of each round, α_p > 0.
	Alpha float64 `json:"alpha"`
	// Epsilon and Delta limit the whole run, by the numerical composition or the sum, whichever is
	// less; Epsilon 0 is no limit.
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
}

// Past are earlier releases: Times of them, each with ε = Alpha for the change that the budget
// protects, on Degree values.
type Past struct {
	Alpha         float64
	Degree, Times int
}

// Rounds returns the number of rounds on degree edges that the budget pays for: 0 if it does not pay for
// one, UnlimitedRounds if it sets no limit. Errors: parameters out of range. Cost: seconds.
func (b Budget) Rounds(degree int) (int, error) { return b.After(nil, degree) }

// After returns the number of further rounds on degree edges that the budget pays for after the past; 0 if
// the past alone exceeds it. Where all rounds are of one kind, α and degree, it is by the same
// compositions. Where kinds differ, a later one may have been chosen by looking at earlier releases,
// and only the sum of the α is used. Errors: parameters out of range. Cost: seconds.
//
// Proof that the two rules may be mixed, whatever rules and budget of rounds are chosen by earlier
// releases: δ(ε) is the mean of (1 − e^(ε−L))₊ over all releases, L being their loss. Where kinds
// differ at the end the sum is at most ε, so is L, and nothing is added. The releases of one kind
// add at most what they would if they went on to the most rounds that Rounds allows, which is δ.
func (b Budget) After(past []Past, degree int) (int, error) {
	if err := in.Positive("Alpha", b.Alpha); err != nil {
		return 0, err
	}
	if b.Epsilon == 0 || degree == 0 {
		return UnlimitedRounds, nil
	}
	if err := check.All(in.Epsilon(b.Epsilon), in.Delta(b.Delta)); err != nil {
		return 0, err
	}
	alike, others, spent := 0, false, 0.0 // rounds of the same kind, and the sum of the others
	for _, p := range past {
		switch {
		case !(p.Alpha > 0) || p.Degree < 1 || p.Times < 1:
			return 0, bad("past %+v: must be positive", p)
		case p.Alpha == b.Alpha && p.Degree == degree:
			alike += p.Times
		default:
			spent, others = spent+p.Alpha*float64(p.Times), true
		}
	}
	pays := int(max(0, min(UnlimitedRounds, (b.Epsilon-spent)/b.Alpha*(1+1e-15)))) // by the sum, alike among them
	if b.Delta == 0 || pays == UnlimitedRounds || others {
		return max(0, pays-alike), nil
	}
	event := func(k int) dp.Event {
		return dp.Repeat{Times: k, Event: dp.NormNoise{Zeta: b.Alpha, Dim: degree}}
	}
	k, err := dp.MaxSteps(context.Background(), dp.Budget{Epsilon: b.Epsilon, Delta: b.Delta}, event)
	if err != nil {
		return 0, fmt.Errorf("account: rounds: %w", err)
	}
	return min(max(0, max(pays, k)-alike), UnlimitedRounds), nil
}
