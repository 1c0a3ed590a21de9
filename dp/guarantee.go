package dp

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"coupling/dp/best"
	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// Kind is the kind of a number: exact or a bound.
type Kind int

const (
	// None means no guarantee at all: the Kind of a Guarantee{}, and of the result beside an error.
	None Kind = iota
	// Exact means within 1e-8 relative of the value for the dominating pairs, and on the safe side
	// of it.
	Exact
	// UpperBound means at least the value.
	UpperBound
)

// String names the kind.
func (k Kind) String() string {
	name := [...]string{None: "no guarantee", Exact: "exact", UpperBound: "upper bound"}
	if k < 0 || int(k) >= len(name) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return name[k]
}

// exactWidth is the relative width up to which an enclosure counts as exact.
const exactWidth = 1e-8

// Guarantee is the guarantee that an event is (Epsilon, Delta)-differentially private under
// Relation. The zero value promises nothing. It remembers what it was computed from, for Profile:
// compare fields, not values with ==.
type Guarantee struct {
	Epsilon, Delta float64 // NaN beside an error
	// Lower is a certified lower bound of the number asked for, for the dominating pairs; 0 if
	// there is none.
	Lower      float64
	Kind       Kind
	Accountant string
	Relation   Relation
	// Inserted and Removed are the split at which the worst is attained.
	Inserted, Removed int

	about *subject // nil if no accountant of this package computed it
}

// subject is what was accounted for, and by what.
type subject struct {
	by       Accountant
	event    Event
	relation Relation
}

// nothing is the result beside an error.
func nothing() Guarantee { return Guarantee{Epsilon: math.NaN(), Delta: math.NaN()} }

// String returns the guarantee in a line; ε is rounded upwards.
func (g Guarantee) String() string {
	if g.Kind == None {
		return "no guarantee"
	}
	return fmt.Sprintf("ε = %s at δ = %g (%v, by %s, under %v)", FormatUp(g.Epsilon, 6), g.Delta, g.Kind, g.Accountant,
		g.Relation)
}

// Sentence returns the guarantee as a sentence. unit names one record, such as "record"
// or "labelled image"; numbers are rounded upwards. It assumes that sampling, noise and sensitivity
// are as the event says; the caller must state that.
func (g Guarantee) Sentence(unit string) string {
	if g.Kind == None {
		return "No guarantee: nothing is promised."
	}
	delta := ""
	if g.Delta > 0 {
		delta = " + " + FormatUp(g.Delta, 4)
	}
	return fmt.Sprintf("For every set S of outputs: P(S | data) ≤ %s · P(S | data with %s)%s.",
		factorUp(g.Epsilon), g.Relation.Change(unit), delta)
}

// factorUp prints e^ε rounded upwards, with four digits, or so many, up to twelve, that e^ε − 1 has two.
func factorUp(eps float64) string {
	factor, digits := math.Exp(eps), 4
	if over := math.Expm1(eps); over > 0 && over < .01 {
		digits = min(2-int(math.Floor(logspace.Log(over)/math.Ln10)), 12)
		factor *= 1 + 2e-13 // more than FormatUp forgives, which would be a part of so small an ε
	}
	return FormatUp(factor, digits)
}

// FormatUp prints v with the given number of significant digits, from 1 to 17, rounded upwards, so
// that the printed (ε, δ) holds. A value that exceeds a short number by less than 1e-13 of itself
// counts as that number: accountants round up by as little, and 1 would be printed as 1.0000001.
func FormatUp(v float64, digits int) string {
	text := strconv.FormatFloat(v, 'g', digits, 64)
	shown, err := strconv.ParseFloat(text, 64)
	if err != nil || !(shown < v-1e-13*math.Abs(v)) || math.IsInf(v, 0) {
		return text
	}
	// The last digit goes up by one, in the text, so that nothing is rounded again.
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	n, _ := new(big.Int).SetString(strings.Replace(mantissa, ".", "", 1), 10)
	e, _ := strconv.Atoi(exponent)
	up, _ := strconv.ParseFloat(fmt.Sprintf("%de%d", n.Add(n, big.NewInt(1)), e-digits+1), 64)
	return strconv.FormatFloat(up, 'g', digits, 64)
}

// Profile returns the privacy profile of the event that g was computed for: upper bounds of δ at an
// odd number of values of ε, from 0 to twice g's, of which asked is the index. They are within a
// hundredth where the accountant allows it, so that each takes milliseconds. A guarantee that was
// put together by hand has no event: ErrParameter.
func (g Guarantee) Profile(ctx context.Context, points int) (eps, delta []float64, asked int, err error) {
	if g.about == nil || points < 3 || points%2 == 0 {
		return nil, nil, 0, bad("profile of %d points: must be odd and ≥ 3, of a guarantee that was computed", points)
	}
	by := g.about.by
	if by == Accountant(Best{}) {
		by = Best{Width: .01}
	}
	middle, scale := points/2, .5
	if g.Epsilon > 0 {
		asked, scale = middle, g.Epsilon
	}
	for k := range points {
		at, err := DeltaBy(ctx, by, g.about.event, g.about.relation, scale*(float64(k)/float64(middle)))
		if err != nil {
			return nil, nil, 0, err
		}
		eps, delta = append(eps, at.Epsilon), append(delta, at.Delta)
	}
	return eps, delta, asked, nil
}

// Accountant bounds ε and δ of a composition of dominating pairs: see pair.Accountant.
type Accountant = pair.Accountant

// Best is the accountant that tries the others, the sharpest first, until the number is sharp.
type Best = best.Accountant

// Epsilon returns the least ε ≥ 0 at which an event is (ε, delta)-differentially private under a
// relation, by the best accountant that applies, for delta in [0, 1]. At delta = 0 it is the sum of
// the largest losses, at 1 it is 0. Errors wrap ErrParameter, ErrNoPair or ErrUnbounded. Cost: milliseconds where
// the contour integral applies to the worst branch, some seconds at most where privacy-loss
// distributions are needed. When ctx is done, its error is returned.
func Epsilon(ctx context.Context, e Event, r Relation, delta float64) (Guarantee, error) {
	return EpsilonBy(ctx, Best{}, e, r, delta)
}

// Delta returns the least δ at which an event is (eps, δ)-differentially private under a relation,
// for any finite eps. Below 0, where δ is at least 1 − e^eps, it is that of ε = −eps for the
// reversed relation: δ(eps) = 1 − e^eps + e^eps δ′(−eps). Errors and cost are those of Epsilon.
func Delta(ctx context.Context, e Event, r Relation, eps float64) (Guarantee, error) {
	return DeltaBy(ctx, Best{}, e, r, eps)
}

// EpsilonBy is Epsilon with a given accountant; nil is Best{}.
func EpsilonBy(ctx context.Context, a Accountant, e Event, r Relation, delta float64) (Guarantee, error) {
	g, _, err := search{by: a, event: e, relation: r, q: pair.EpsilonAt(delta)}.guarantee(ctx)
	return g, err
}

// DeltaBy is Delta with a given accountant; nil is Best{}.
func DeltaBy(ctx context.Context, a Accountant, e Event, r Relation, eps float64) (Guarantee, error) {
	if eps < 0 && !math.IsInf(eps, -1) {
		g, err := DeltaBy(ctx, a, e, r.reversed(), -eps)
		if err != nil {
			return g, err
		}
		return g.reflected(r), nil
	}
	g, _, err := search{by: a, event: e, relation: r, q: pair.DeltaAt(eps)}.guarantee(ctx)
	return g, err
}

// reflected turns δ at −ε under the reversed relation into that at ε < 0 under r. A test of M(x)
// against M(x′) that accepts where the other rejects has, with p = P(M(x) ∈ S) and q = P(M(x′) ∈
// S), p − e^ε q = 1 − e^ε + e^ε·((1−q) − e^(−ε)(1−p)).
func (g Guarantee) reflected(r Relation) Guarantee {
	subject := *g.about
	subject.relation = r
	g.about, g.Relation = &subject, r
	g.Inserted, g.Removed = g.Removed, g.Inserted
	g.Epsilon = -g.Epsilon
	gap, scale := -math.Expm1(g.Epsilon), math.Exp(g.Epsilon)
	g.Lower = (gap + scale*g.Lower) * (1 - 1e-15)
	g.Delta = min(1, (gap+scale*g.Delta)*(1+1e-15))
	g.Kind = kindOf(g.Lower, g.Delta)
	return g
}

// kindOf is the kind of an enclosure.
func kindOf(lower, upper float64) Kind {
	if upper-lower <= exactWidth*upper {
		return Exact
	}
	return UpperBound
}

// guarantee answers the question for the worst branch. It also returns the answer for the first
// branch. If that alone is above q.Far, which is not 0, the error is errFar. Of a search that is
// partial there is no guarantee, of kind None.
func (s search) guarantee(ctx context.Context) (Guarantee, pair.Answer, error) {
	if s.by == nil {
		s.by = Best{}
	}
	if err := s.worst(ctx); err != nil {
		return nothing(), pair.Answer{}, err
	}
	g := s.g
	g.Relation, g.Kind, g.about = s.relation, kindOf(g.Lower, s.v), &subject{s.by, s.event, s.relation}
	g.Epsilon, g.Delta = s.v, s.q.At
	if s.q.Delta {
		g.Epsilon, g.Delta = s.q.At, s.v
	}
	if s.partial {
		g.Kind = None
	}
	return g, s.first, nil
}
