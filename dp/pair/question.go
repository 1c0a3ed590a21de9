package pair

import (
	"context"
	"math"

	"coupling/dp/internal/check"
)

// Step is a pair that is composed with itself Times times, and with the other steps of a list.
type Step struct {
	Pair  Pair
	Times int
}

// Accountant bounds ε and δ of a composition of pairs, in the direction of the pairs: for a
// symmetric relation take the worse of the pairs and their swaps. It returns an error if it cannot
// bound the answer. It is safe for concurrent use. dp/dptest checks an implementation.
type Accountant interface {
	// Name is the accountant's name in guarantees.
	Name() string
	// Bound answers a question about the composition of steps, or returns the error of ctx once
	// that is done. Other errors wrap ErrParameter (the question is out of range), ErrUnbounded
	// (the only certified answer is infinite) or ErrNotApplicable (another accountant may answer).
	Bound(ctx context.Context, steps []Step, q Question) (Answer, error)
}

// Question asks for ε at a δ or for δ at an ε: see EpsilonAt and DeltaAt.
type Question struct {
	Delta bool    // δ is asked for, not ε
	At    float64 // the given one: δ in [0, 1), or finite ε ≥ 0
	// Width is the largest width of the answer, relative to the number; 0 leaves it to the
	// accountant.
	Width float64
	// Floor is an absolute width of ε or δ that is narrow enough too.
	Floor float64
	// Far, if not 0, is an ε above which no more need be known: the answer may then be as wide as
	// [Far, MaxFloat64].
	Far float64
	// Most, if not 0, is an ε at or below which no more need be known. The answer is found as without
	// it, but for what would narrow it further: without it, the upper end would be at most as large.
	Most float64
	// Effort is the share of the usual work that may be spent on the answer, in [0, 1]; 0 leaves it
	// to the accountant, which may spend more where that would narrow the answer.
	Effort float64
	// Against, if not 0, says that δ is only needed for comparison with this value: the answer may
	// be as wide as that allows.
	Against float64
	// Like is the answer to a question about a similar composition, if there is one. It may save
	// time and does not change the answer.
	Like Answer
}

// EpsilonAt asks for the least ε ≥ 0 at which the composition is (ε, delta)-differentially private.
func EpsilonAt(delta float64) Question { return Question{At: delta} }

// DeltaAt asks for δ(eps).
func DeltaAt(eps float64) Question { return Question{Delta: true, At: eps} }

// Interval encloses a number: Lower ≤ value ≤ Upper. Lower is 0 if no lower bound is known.
type Interval struct{ Lower, Upper float64 }

// Within reports whether the interval is at most width wide, relative to its upper end, or as
// narrow as subnormal numbers are.
func (v Interval) Within(width float64) bool {
	return v.Upper-v.Lower <= max(width*v.Upper, 4*math.SmallestNonzeroFloat64)
}

// DeltaWithin returns δ from bounds of its log, rounded outwards also where it is subnormal. A log
// of −Inf is that of 0.
func DeltaWithin(logLower, logUpper float64) Interval {
	v := Interval{
		Lower: math.Exp(logLower - 4e-16*math.Abs(max(logLower, -1e3))),
		Upper: math.Exp(logUpper + 4e-16*math.Abs(max(logUpper, -1e3))),
	}
	if v.Lower < 0x1p-1022 {
		v.Lower = max(0, math.Nextafter(v.Lower, -1))
	}
	if v.Upper < 0x1p-1022 && !math.IsInf(logUpper, -1) {
		v.Upper = math.Nextafter(v.Upper, 1)
	}
	return Interval{Lower: min(1, v.Lower), Upper: min(1, v.Upper)}
}

// SumOfLargest encloses the sum of the largest losses, which is the ε of a composition at δ = 0;
// +Inf where a loss is unbounded.
func SumOfLargest(steps []Step) Interval {
	sum := 0.0
	for _, s := range steps {
		sum += float64(s.Times) * max(0, s.Pair.Support().Max)
	}
	room := 1e-14 + 4e-16*float64(len(steps))
	return Interval{Lower: sum * (1 - room), Upper: sum * (1 + room)}
}

// LargestLoss is the upper end of SumOfLargest, rounded up by the error of the pairs too: from that ε on, δ is 0.
func LargestLoss(steps []Step) float64 {
	relErr := 0.0
	for _, s := range steps {
		relErr = max(relErr, s.Pair.RelErr())
	}
	return SumOfLargest(steps).Upper * (1 + relErr)
}

// Answer is an enclosure of the number asked for.
type Answer struct {
	Interval
	By    string  // the accountant's name
	Order float64 // of the saddle point, where the accountant knows it
	// Refused names the accountants that were tried first and refused.
	Refused []string
}

// Decides reports whether an interval answers the question: it is as narrow as wanted, above Far, at or below Most,
// or on one side of Against.
func (q Question) Decides(v Interval, width float64) bool {
	return v.Within(width) || v.Upper-v.Lower <= q.Floor || q.Far > 0 && v.Lower > q.Far ||
		q.Most > 0 && v.Upper <= q.Most ||
		q.Against > 0 && (v.Upper <= q.Against || v.Lower > q.Against)
}

// Share is the work that may be spent: Effort times the usual work, but at least least.
func (q Question) Share(usual, least int) int {
	if q.Effort == 0 {
		return usual
	}
	return max(min(least, usual), int(q.Effort*float64(usual)))
}

// Check returns an error that wraps ErrParameter where steps or the question are out of range. by
// is the accountant's name.
func (q Question) Check(by string, steps []Step) error {
	in := check.In(by)
	err := in.Epsilon(q.At)
	if !q.Delta {
		err = in.Delta(q.At)
	}
	switch {
	case err != nil:
		return err
	case !(q.Width >= 0 && q.Width < 1):
		return in.Bad("Width = %v: must be in [0, 1)", q.Width)
	case !(q.Floor >= 0 && q.Far >= 0 && q.Most >= 0) || q.Far+q.Most > 0 && q.Delta:
		return in.Bad("Floor = %v, Far = %v, Most = %v: must be at least 0, and the last two 0 where δ is asked for",
			q.Floor, q.Far, q.Most)
	case !(q.Effort >= 0 && q.Effort <= 1):
		return in.Bad("Effort = %v: must be in [0, 1]", q.Effort)
	case !(q.Against >= 0 && q.Against <= 1) || q.Against > 0 && !q.Delta:
		return in.Bad("Against = %v: must be in [0, 1], and 0 where ε is asked for", q.Against)
	case !(q.Like.Order >= 0) || math.IsInf(q.Like.Order, 1):
		return in.Bad("Like.Order = %v: must be at least 0 and finite", q.Like.Order)
	case len(steps) == 0:
		return in.Bad("steps: must not be empty")
	}
	for i, s := range steps {
		if s.Pair == nil {
			return in.Bad("steps[%d].Pair = nil: must be a pair", i)
		}
		if s.Times < 1 {
			return in.Bad("steps[%d].Times = %d: must be at least 1", i, s.Times)
		}
	}
	return nil
}
