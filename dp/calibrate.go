package dp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"coupling/dp/closed"
	"coupling/dp/internal/check"
	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// ErrUnreachable marks a budget that no value of the parameter meets.
var ErrUnreachable = errors.New("no value meets the budget")

// Budget is the ε that may be spent at δ under a relation. A nil Accountant means Best.
type Budget struct {
	Epsilon, Delta float64
	Relation       Relation
	Accountant     Accountant
}

func (b Budget) accountant() Accountant { return cmp.Or[Accountant](b.Accountant, Best{}) }

// contourWidth is the width of contours from which Best asks no other accountant.
const contourWidth = 1e-5

// farAbove is how many times the budget an ε is at which no more need be known of it.
const farAbove = 8

// stages are the accuracies of the answers in a search, the last one that of the budget's
// accountant: rough answers narrow the range in which sharp ones are needed. All are safe.
func (b Budget) stages() []pair.Question {
	q := pair.EpsilonAt(b.Delta)
	if a, ok := b.accountant().(Best); !ok || a.Width > 0 {
		return []pair.Question{q}
	}
	coarse, middle := q, q
	coarse.Width, coarse.Floor, coarse.Effort, middle.Effort = 1e-2, b.Epsilon/32, 1, 1
	return []pair.Question{coarse, middle, q}
}

// A probe is a value of the parameter with its result.
type probe struct {
	x        float64 // log of the value
	excess   float64 // log(ε/budget): at most 0 when it meets the budget, +Inf without a finite bound
	relWidth float64 // relative uncertainty of ε
	g        Guarantee
	first    pair.Answer
	settled  bool  // the next stage would answer the same
	plain    bool  // and Epsilon too
	refused  error // no accountant has an answer there, as where an exact pair has too many points
}

func (p probe) ok() bool { return p.excess <= 0 }

// stopTol is the unspent share of the budget at which the search stops: the accountant could not
// resolve a smaller one, as on the other side of it, bad, if that may meet the budget too. It is at
// most most, even if no good lower bound of ε is known.
func (p probe) stopTol(bad *probe, most float64) float64 {
	width := p.relWidth
	if bad != nil && bad.g.Lower > 0 && bad.excess <= -math.Log1p(-bad.relWidth) {
		width = max(width, bad.relWidth)
	}
	return max(1e-9, min(most, width))
}

// A calibration searches for the last value of a parameter that meets the budget, where ε is
// monotone in the parameter.
type calibration struct {
	Budget
	event        func(float64) Event
	safe, unsafe float64 // logs of the ends: if any value meets the budget, safe does
	whole        bool    // values are integers
	guess        bool    // of many splits only two are asked, which are likely to decide
	sharp        bool    // in the last of several stages
	slope, apart float64 // of the excess, between probes so far apart
	last         *probe  // of this stage
}

// probe computes the excess at a value, rounded to an integer if whole.
func (c *calibration) probe(ctx context.Context, q pair.Question, x float64) (probe, error) {
	value := math.Exp(x)
	if c.whole {
		value = math.Round(value)
		x = logspace.Log(value)
	}
	q.Like.Refused = c.refused(x, q)
	if !c.sharp {
		q.Far = farAbove * c.Epsilon
	}
	p := probe{x: x}
	var err error
	p.g, p.first, err = search{
		by:       c.accountant(),
		event:    c.event(value),
		relation: c.Relation,
		q:        q,
		guess:    c.guess,
		low:      16 * q.Floor, // half of the budget
	}.guarantee(ctx)
	switch {
	case errors.Is(err, ErrNotApplicable):
		p.refused = err
		fallthrough
	case errors.Is(err, ErrUnbounded):
		p.excess = math.Inf(1)
		return p, nil
	case err != nil:
		return p, err
	}
	c.last = &p
	switch eps := p.g.Epsilon; {
	case eps == 0:
		p.excess = math.Inf(-1)
	case eps <= c.Epsilon:
		p.excess = min(0, logspace.Log(eps/c.Epsilon))
	default:
		p.excess = max(math.SmallestNonzeroFloat64, logspace.Log(eps/c.Epsilon))
	}
	p.relWidth = min(1, (p.g.Epsilon-p.g.Lower)/p.g.Epsilon)
	sharpest := p.first.Order > 0 || p.first.By == closed.Accountant{}.Name() // a contour or a closed form
	usual := q.Effort == 1 && q.Width == 0 && sharpest && p.relWidth <= contourWidth
	all := c.guess || p.g.Kind != None // the branches that count here, unless the first was below half of the budget
	p.settled = all && (usual || kindOf(p.g.Lower, p.g.Epsilon) == Exact)
	p.plain = len(q.Like.Refused) == 0 && (c.sharp || usual && c.Relation.size() == 1)
	return p, nil
}

// run searches a value, and asks what Epsilon will answer there, where the last probe did not.
func (c *calibration) run(ctx context.Context, start float64) (p probe, err error) {
	if err := check.All(in.Delta(c.Delta), in.Epsilon(c.Epsilon)); err != nil {
		return p, err
	}
	if p, err = c.search(ctx, start); err == nil && !p.plain && !(c.sharp && p.g.Epsilon <= c.Epsilon*(1-exactWidth)) {
		p, err = c.confirm(ctx, p)
	}
	return p, err
}

// confirm moves a value to the safe side, by what is needed, until Epsilon's answer meets the budget.
// What refused a similar question is not asked again; if it answers Epsilon after all, its upper end,
// of an exact answer, is above the one found here by exactWidth at most. Nearer the budget all are asked.
func (c *calibration) confirm(ctx context.Context, p probe) (probe, error) {
	c.sharp = true
	q := pair.EpsilonAt(c.Delta)
	for rest := exactWidth; ; rest *= 16 {
		q.Most = c.Epsilon
		if len(c.refused(p.x, q)) > 0 {
			q.Most *= 1 - exactWidth
		}
		got, err := c.probe(ctx, q, p.x)
		if err == nil && got.ok() && got.g.Epsilon > q.Most {
			c.last, q.Most = nil, c.Epsilon
			got, err = c.probe(ctx, q, p.x)
		}
		switch {
		case err != nil || got.ok():
			return got, err
		case got.x == c.safe:
			return got, cmp.Or(got.refused, ErrUnreachable)
		}
		p.x = c.extrapolate(got, 1, rest)
	}
}

// refused lists the accountants that refused a similar question, without closed forms, which are quick to refuse.
func (c *calibration) refused(x float64, q pair.Question) []string {
	if c.last == nil || math.Abs(c.last.x-x) >= max(0.2, min(1, 100*q.Width)) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.last.first.Refused),
		func(name string) bool { return name == closed.Accountant{}.Name() })
}

// search runs the stages, each from the end of the previous one.
func (c *calibration) search(ctx context.Context, start float64) (p probe, err error) {
	stages := c.stages()
	several := len(stages) > 1
	if c.Relation.Kind == AddRemove && c.Relation.size() > firstSpans && !c.guess {
		few := *c
		few.guess = true
		if p, err = few.search(ctx, start); err == nil {
			start, c.slope, c.apart, stages = p.x, few.slope, few.apart, stages[len(stages)-1:]
		}
	}
	for i, q := range stages {
		if i < 2 { // what accountants refused in the middle they would refuse at the end, or need seconds for
			c.last = nil
		}
		c.sharp = several && i+1 == len(stages)
		p, err = c.stage(ctx, q, start, max(1e-3, q.Width))
		if err != nil && (i+1 == len(stages) || !errors.Is(err, ErrUnreachable)) {
			return p, err
		}
		// an exact answer is the last one, but for integers, of which the next had a rough one
		if err == nil && (p.settled && !c.whole || i == 1 && p.limited()) {
			break
		}
		start = p.x
		switch {
		case err == nil && q.Width > 0:
			start = c.ahead(p, max(1e-3, p.relWidth/8))
		case err == nil && p.relWidth < sharpened:
			start = c.ahead(p, p.relWidth/4)
		}
	}
	return p, err
}

// leastStep is the relative accuracy of the value.
const leastStep = 1e-9

// leastShare is the least share of a bracket that a secant leaves; where secants do not shrink it, it is halved.
const leastShare = 1e-6

// sharpened is the width from which the next stage is expected to have sharper answers.
const sharpened = 5e-4

// limited reports whether distributions, which know no saddle point, answered less sharply than they
// were asked to: with more work they would answer much the same.
func (p probe) limited() bool {
	return p.first.Order == 0 && p.relWidth >= sharpened && p.relWidth < 0.1
}

// ahead returns where a sharper answer is to be expected to meet the budget, but for a share of it: of a
// grid's upper and lower ends the truth is at a third.
func (c *calibration) ahead(p probe, rest float64) float64 {
	if c.slope == 0 || c.whole || !(p.relWidth < 0.1) {
		return p.x
	}
	third := logspace.Log((2*p.g.Lower + p.g.Epsilon) / 3 / c.Epsilon)
	x := p.x - (third+rest)/c.slope
	return min(max(x, min(c.safe, c.unsafe)), max(c.safe, c.unsafe))
}

// stage returns the last value that meets the budget; with ErrUnreachable there is none, and it
// returns the safe end. A value without an answer counts as one that does not meet it. Where the
// search for a first one that does ends there, it looks nearer.
func (c *calibration) stage(ctx context.Context, q pair.Question, start, most float64) (probe, error) {
	var good, bad *probe
	stride, known, width := math.Ln2, math.Inf(1), math.Inf(1)
	for last := 0.0; ; {
		p, err := c.probe(ctx, q, start)
		if err != nil {
			return p, err
		}
		c.learn(good, bad, p)
		switch far := bad != nil && math.Abs(p.x-bad.x) > 1e-2; {
		case p.ok():
			good = &p
		case p.refused != nil && good == nil && far:
			start, stride = (p.x+bad.x)/2, math.Abs(p.x-bad.x)/4
			continue
		default:
			bad = &p
		}
		switch {
		case good == nil && bad.x == c.safe:
			return *bad, cmp.Or(bad.refused, ErrUnreachable)
		case good != nil && (good.x == c.unsafe ||
			-good.excess <= max(good.stopTol(bad, most), leastStep*math.Abs(c.slope))):
			return *good, nil
		case good == nil || bad == nil:
			start = c.extrapolate(p, stride, p.stopTol(nil, most)/2)
			if last > 0 && !(math.Abs(p.excess) < last/4) {
				stride *= 2
			}
			last = math.Abs(p.excess)
		default:
			nearest, span := min(-good.excess, bad.excess), math.Abs(bad.x-good.x)
			bisect := !(nearest < known/2 || span < .6*width)
			next, ok := c.interpolate(*good, *bad, bisect, good.stopTol(bad, most)/2)
			if !ok {
				return *good, nil
			}
			start, known, width = next, nearest, span
		}
	}
}

// learn records the slope between a probe and the nearer end of the bracket, if they differ by more
// than their uncertainty.
func (c *calibration) learn(good, bad *probe, p probe) {
	near := math.Inf(1)
	for _, o := range [...]*probe{good, bad} {
		if o == nil || o.x == p.x || math.Abs(o.x-p.x) > near ||
			c.slope != 0 && math.Abs(p.excess-o.excess) < max(p.relWidth, o.relWidth) {
			continue
		}
		if v := (p.excess - o.excess) / (p.x - o.x); !math.IsInf(v, 0) && !math.IsNaN(v) && v*(c.unsafe-c.safe) > 0 {
			c.slope, near = v, math.Abs(o.x-p.x)
			c.apart = near
		}
	}
}

// extrapolate returns the next value to try when only one side is known: the one at which, by the
// slope, all but rest of the budget is spent, farther the longer the stride has become, or a stride away.
func (c *calibration) extrapolate(p probe, stride, rest float64) float64 {
	end := c.unsafe
	if !p.ok() {
		end = c.safe
	}
	step := stride
	if !math.IsInf(p.excess, 0) { // a slope that is not known is taken to be 1
		step = min(step, stride/math.Ln2*(math.Abs((p.excess+rest)/cmp.Or(c.slope, 1))+1e-10))
	}
	if c.whole { // to the next integer at least
		if end > p.x {
			step = max(step, math.Log1p(math.Exp(-p.x)))
		} else {
			step = max(step, -math.Log1p(-math.Exp(-p.x)))
		}
	}
	if math.Abs(end-p.x) <= step {
		return end
	}
	return p.x + math.Copysign(step, end-p.x)
}

// interpolate returns the next value to try between one that meets the budget and one that does
// not: the one at which, by the slope at the nearer of them or else by the secant, all but rest is
// spent, if both are finite and bisect is false, else the middle. It returns false when the two are
// adjacent.
func (c *calibration) interpolate(good, bad probe, bisect bool, rest float64) (float64, bool) {
	w, span := 0.5, bad.x-good.x
	if d := bad.excess - good.excess; !bisect && !math.IsInf(d, 0) && !math.IsNaN(d) {
		w = min(1-leastShare, max(leastShare, -(good.excess+rest)/d))
		from, excess := 0.0, good.excess
		if bad.excess < -good.excess {
			from, excess = 1, bad.excess
		}
		if v := from - (excess+rest)/(c.slope*span); v > 0 && v < 1 && c.apart < math.Abs(span)/4 {
			w = v
		}
	}
	x := good.x + w*span
	if !c.whole {
		return x, math.Abs(span) > leastStep
	}
	a, b := math.Round(math.Exp(good.x)), math.Round(math.Exp(bad.x))
	n := min(max(math.Round(math.Exp(x)), min(a, b)+1), max(a, b)-1)
	return logspace.Log(n), math.Abs(a-b) > 1
}

// MinNoise returns the least x in [1e-4, 1e9] such that event(x) meets the budget, for an event
// whose ε falls with x: a noise multiplier or a scale. It is rounded to the safe side, relatively
// by 1e-9 or by the equivalent of the uncertainty of ε, a thousandth at most. The guarantee is that
// of the event at x; beside an error both are NaN. Cost: some 20 accountings, most of them rough.
func MinNoise(ctx context.Context, b Budget, event func(noise float64) Event) (float64, Guarantee, error) {
	return b.search(ctx, event, "noise", 1, 1e9, 1e-4)
}

// MaxRate returns the largest sampling rate in [1e-15, 1] such that event(rate) meets the budget,
// rounded down as MinNoise rounds up.
func MaxRate(ctx context.Context, b Budget, event func(rate float64) Event) (float64, Guarantee, error) {
	return b.search(ctx, event, "rate", 0.01, 1e-15, 1)
}

func (b Budget) search(ctx context.Context, event func(float64) Event, name string,
	start, safe, unsafe float64) (float64, Guarantee, error) {
	h := calibration{Budget: b, event: event, safe: logspace.Log(safe), unsafe: logspace.Log(unsafe)}
	t, err := h.run(ctx, logspace.Log(start))
	if errors.Is(err, ErrUnreachable) {
		err = fmt.Errorf("dp: %s up to %g: eps = %v at delta = %v: %w", name, safe, b.Epsilon, b.Delta, err)
	}
	if err != nil {
		return math.NaN(), nothing(), err
	}
	return math.Exp(t.x), t.g, nil
}

// maxSteps bounds the search for a number of steps.
const maxSteps = 1_000_000_000_000

// MaxSteps returns the largest T up to 1e12 such that event(T) meets the budget, 0 when not even
// one step does. Where the accountant's ε is not exact, T is the largest up to the equivalent of
// its uncertainty.
func MaxSteps(ctx context.Context, b Budget, event func(steps int) Event) (int, error) {
	h := calibration{
		Budget: b,
		event:  func(x float64) Event { return event(int(x)) },
		unsafe: logspace.Log(maxSteps),
		whole:  true,
	}
	t, err := h.run(ctx, 0)
	if errors.Is(err, ErrUnreachable) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return int(math.Round(math.Exp(t.x))), nil
}
