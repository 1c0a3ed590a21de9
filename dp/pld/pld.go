package pld

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"coupling/dp/internal/check"
	"coupling/dp/pair"
	"coupling/lab/logspace"

	"golang.org/x/sync/errgroup"
)

// ErrRange marks a composition whose numbers leave the range of float64, or of the grids that are
// permitted. It is pair.ErrNotApplicable.
var ErrRange = fmt.Errorf("out of range: %w", pair.ErrNotApplicable)

var bad = check.In("pld").Bad

const ulp = logspace.Ulp

// Accountant composes any dominating pairs by privacy-loss distributions on a grid. The zero value is ready to use; it
// is stateless and safe for concurrent use.
type Accountant struct {
	// Width is the wanted width of the interval, relative to ε (or to δ, for Delta); 1e-4 if zero. The grid is refined
	// until it is reached or Bins are used up; then the interval is what it is.
	Width float64
	// Bins limits the bins of the grid, 2²⁰ if zero (about a second), rounded down to a power of two.
	Bins int
	// Work limits the evaluations of noise densities, and of a grid's bins, after which the
	// interval is what it is, or after twice as many if it is wider than 1e-4; 2e7 (one or two
	// seconds) if zero. A first, rough grid is always composed.
	Work int
}

// Name is "pld".
func (Accountant) Name() string { return "pld" }

// Bound returns bounds of the least ε ≥ 0 with δ(ε) ≤ δ, for δ > 0, or of δ(ε). Upper is the
// pessimistic value, Lower the optimistic one; a Lower of 0 may mean that nothing is known. Where δ
// is to be compared with a value the grid is refined no further than until the interval leaves that
// out. Errors: pair.ErrParameter, pair.ErrUnbounded, ErrRange, which is pair.ErrNotApplicable.
func (a Accountant) Bound(ctx context.Context, steps []pair.Step, q pair.Question) (pair.Answer, error) {
	out := pair.Answer{By: a.Name()}
	if err := q.Check("pld", steps); err != nil {
		return out, err
	}
	a.Work = q.Share(a.work(), leastWork)
	if q.Width > 0 {
		a.Width = q.Width
	}
	at := question{eps: q.At, limit: math.NaN(), floor: q.Floor, far: q.Far, most: q.Most}
	switch {
	case !q.Delta && q.At == 0:
		return out, fmt.Errorf("pld: losses on a grid at delta = 0: %w", pair.ErrNotApplicable)
	case !q.Delta:
		at.logDelta, at.invert = logspace.Log(q.At), true
	case q.Against > 0:
		at.limit = q.Against
		a.Bins = min(a.bins(), comparedBins)
	}
	var err error
	out.Interval, err = a.answer(ctx, steps, at)
	return out, err
}

const (
	// leastWork is what a question's Effort leaves at least.
	leastWork = 300_000
	// comparedBins limits the grid where δ is only compared.
	comparedBins = 1 << 17
	// maxTimes is how often a step may be repeated.
	maxTimes = 1_000_000_000_000
)

const (
	// trimSlack is the relative error of δ that components left out may make.
	trimSlack = 1e-10
	// mostTrimmed is the largest ε for which components of Q are left out.
	mostTrimmed = 40.0
)

// answer leaves out what is negligible, unless ε turns out to be so large that it is not.
func (a Accountant) answer(ctx context.Context, steps []pair.Step, q question) (pair.Interval, error) {
	goal, eps := q.logDelta, mostTrimmed
	if !q.invert {
		goal, eps = pair.MostPrivate(steps, q.eps), q.eps
	}
	less, cut, trim := slices.Clone(steps), false, pair.TrimTo(steps, goal, trimSlack, eps)
	for i, s := range less {
		if p, ok := trim.Of(s.Pair); ok {
			less[i].Pair, cut = p, true
		}
	}
	if cut {
		q.slack = trimSlack
		v, err := a.untrimmed(ctx, less, q)
		if err == nil && v.Lower > mostTrimmed && q.far > 0 && q.far < mostTrimmed { // so it is for all components
			return pair.Interval{Lower: mostTrimmed, Upper: math.MaxFloat64}, nil
		}
		if err == nil && (!q.invert || v.Upper <= mostTrimmed) || ctx.Err() != nil {
			if !q.invert {
				v = pair.Interval{Lower: v.Lower * (1 - trimSlack), Upper: min(1, v.Upper*(1+trimSlack))}
			}
			return v, err
		}
		q.slack = 0
	}
	return a.untrimmed(ctx, steps, q)
}

func (a Accountant) untrimmed(ctx context.Context, steps []pair.Step, q question) (pair.Interval, error) {
	parts, err := a.parts(steps)
	if err != nil {
		return pair.Interval{}, err
	}
	parts = slices.DeleteFunc(parts, func(p *part) bool { return math.IsInf(p.loss.right.at(0).logDelta, -1) }) // P = Q
	if len(parts) == 0 {
		return pair.Interval{}, nil
	}
	goal := q.logDelta
	if !q.invert {
		// The composition is no more private than one of its steps; and δ is not asked for below e^−600.
		goal = -600
		for _, p := range parts {
			goal = max(goal, p.loss.right.pair.LogDelta(q.eps))
		}
	} else if err := reachable(parts, q); err != nil {
		return pair.Interval{}, err
	}
	best := pair.Interval{Upper: pair.SumOfLargest(steps).Upper} // pure differential privacy
	flat := !slices.ContainsFunc(parts, func(p *part) bool { return !p.loss.right.flat })
	if flat && q.invert { // reachable
		return pair.Interval{}, nil
	}
	if !q.invert {
		if inf := infinite(parts, false); flat || q.eps >= best.Upper {
			return pair.Interval{Lower: infinite(parts, true) * (1 - 1e-12), Upper: inf * (1 + 1e-12)}, nil
		}
		best.Upper = 1
	}
	rare := a.rare(parts, goal, unitOf(parts))
	if rare {
		best = a.laws(ctx, parts, q, best)
	} else if got, ok := a.kept(ctx, parts, q); ok {
		return within(best, got), nil
	}
	if !rare || !a.enough(q, best, directWidth) {
		got, _, err := a.refine(ctx, parts, q, goal)
		if err != nil {
			return pair.Interval{}, err
		}
		best = within(best, got)
		if !rare {
			best = a.laws(ctx, parts, q, best)
		}
	}
	if err := ctx.Err(); err != nil {
		return pair.Interval{}, err
	}
	if math.IsNaN(best.Upper) || math.IsInf(best.Upper, 0) || best.Lower > best.Upper {
		return pair.Interval{}, fmt.Errorf("pld: no answer on %d bins: %w", a.bins(), ErrRange)
	}
	return best, nil
}

// enough reports whether an interval is as narrow as asked for, or as width, or clear of the limit.
func (a Accountant) enough(q question, v pair.Interval, width float64) bool {
	// Comparisons with NaN are false.
	return v.Upper-v.Lower <= max(max(a.width(), width)*min(v.Upper, math.MaxFloat64), q.floor) ||
		v.Upper <= q.limit || v.Lower > q.limit || q.far > 0 && v.Lower > q.far || q.most > 0 && v.Upper <= q.most
}

// within is what two intervals have in common.
func within(a, b pair.Interval) pair.Interval {
	return pair.Interval{Lower: max(a.Lower, b.Lower), Upper: min(a.Upper, b.Upper)}
}

// refine looks at finer and finer grids until the answer is as narrow as wanted. It also returns the
// densities on the last one.
func (a Accountant) refine(ctx context.Context, parts []*part, q question, goal float64) (pair.Interval, sides, error) {
	best, last, err := a.refineBy(ctx, parts, q, goal, unitOf(parts))
	if errors.Is(err, errUnit) {
		return a.refineBy(ctx, parts, q, goal, 1)
	}
	return best, last, err
}

// refineBy is refine on grids of bins that are powers of two of unit.
func (a Accountant) refineBy(ctx context.Context, parts []*part, q question,
	goal, unit float64) (best pair.Interval, finest sides, err error) {
	for _, p := range parts {
		p.high, p.low, p.rough = measure{}, measure{}, [2]measure{}
		if err := p.prepare(goal, unit); err != nil {
			return best, finest, err
		}
	}
	v, err := refineTilt(ctx, parts, q)
	if err != nil {
		return best, finest, err
	}
	best = pair.Interval{Lower: largest(parts, q), Upper: math.Inf(1)}
	n := 400.0
	if q.limit >= 0 { // mostly clear
		n = 100
	}
	binned, work := 0, 0
	bins := firstBins
	for last := best; ; last = best {
		s, err := a.evaluate(ctx, parts, v, unit, n, min(bins, a.bins()))
		if errors.Is(err, ErrRange) && !math.IsInf(best.Upper, 1) { // what is known holds
			return best, finest, nil
		}
		if err != nil {
			return best, finest, err
		}
		finest = s
		binned += s.high.cost
		best = within(best, s.read(q))
		if a.enough(q, best, 0) {
			return best, finest, nil
		}
		before := work
		work = spent(parts, binned)
		finer := a.growth(best, q)
		limit := a.work()
		if best.Upper-best.Lower > wide*best.Upper && !(q.limit >= 0) {
			limit *= patience
		}
		left, next := float64(limit-work), finer*float64(work-before)
		gained := best.Upper-best.Lower < 0.8*(last.Upper-last.Lower) || math.IsInf(last.Upper, 1)
		if !gained && best.Upper-best.Lower < 10*wide*best.Upper && slices.ContainsFunc(parts, (*part).enclosed) ||
			s.high.bins >= a.bins() && !gained || largestOf(parts, (*part).cells) >= manyCells ||
			left < next && n > 400 || left < 0 {
			return best, finest, nil
		}
		bins *= 4
		n *= finer
		v.most = max(leastCells, min(maxNodes, int(left)/(2*largestOf(parts, (*part).knotCost)*len(parts))))
	}
}

// An interval wider than wide, relatively, is worth patience times the work.
const (
	wide     = 1e-4
	patience = 2
)

// firstBins limits the first look's.
const firstBins = 1 << 16

// growth is by how much more cells the interval may become as narrow as wanted: its width falls
// with the square of their number.
func (a Accountant) growth(got pair.Interval, q question) float64 {
	if q.limit >= 0 || math.IsInf(got.Upper, 1) {
		return 4
	}
	return max(1.5, min(4, 1.15*math.Sqrt((got.Upper-got.Lower)/(a.width()*got.Upper))))
}

// leastCells is what every half of a loss may be divided into.
const leastCells = 1 << 10

// spent is about the work done so far: a knot was evaluated for every cell that there ever was, once.
func spent(parts []*part, bins int) int {
	work := 8 * bins
	for _, p := range parts {
		work += len(p.loss.right.seen)*p.loss.right.cost + len(p.loss.left.seen)*p.loss.left.cost
	}
	return work
}

// largestOf returns the largest of a number that each part has, at least 0.
func largestOf[T int | float64](parts []*part, of func(p *part) T) (largest T) {
	for _, p := range parts {
		largest = max(largest, of(p))
	}
	return largest
}

// enclosed reports whether the pair is known to lie between two others, so that the interval is not
// narrower than they are.
func (p *part) enclosed() bool { return p.loss.right != p.loss.under.right }

func (p *part) rightEnd() float64 { return p.right }

// knotCost is the larger cost of a knot of the two halves.
func (p *part) knotCost() int { return max(p.loss.right.cost, p.loss.left.cost) }

// manyCells is a division that finer ones hardly improve on: the width falls with the square of their number.
const manyCells = 1 << 15

// cells counts the cells of the last division.
func (p *part) cells() int { return len(p.high.mass) }

// errUnit asks for bins that are powers of two.
var errUnit = errors.New("losses are too many bins apart")

// infinite returns the probability of an infinite loss of one side.
func infinite(parts []*part, low bool) float64 {
	survive := 0.0
	for _, p := range parts {
		f := p.loss.right
		if low {
			f = p.loss.under.right
		}
		survive += p.times * math.Log1p(-min(1, f.inf))
	}
	return -math.Expm1(survive) + 0 // no −0
}

// reachable refuses a δ below the probability of an infinite loss.
func reachable(parts []*part, q question) error {
	if inf := infinite(parts, false); logspace.Log(inf) >= q.logDelta {
		return fmt.Errorf("pld: delta = %.3g: the loss is infinite with probability %.3g: %w", math.Exp(q.logDelta),
			inf, pair.ErrUnbounded)
	}
	return nil
}

// sides are the pessimistic and the optimistic density of a composition, with where an ε is to be looked
// for, and the scale on which δ falls.
type sides struct {
	high, low    *density
	start, scale float64
}

// evaluate divides the losses into about n cells each and composes.
func (a Accountant) evaluate(ctx context.Context, parts []*part, v view, unit, n float64,
	most int) (s sides, err error) {
	goal := -34 - logspace.Log(v.s) - math.Log1p(v.s) - logspace.Log(v.scale()) - excess(v.s)
	first, last := window(parts, v, goal)
	if !(last > first) || math.IsInf(last-first, 0) {
		return s, fmt.Errorf("pld: composed loss in [%v, %v]: %w", first, last, ErrRange)
	}
	span := (last - first) * 1.02
	// Bins of the width of the finest cells, 1/n of eight standard deviations of a loss.
	fine := 8 / n * math.Sqrt(math.Max(v.variance, 1e-300)/largestOf(parts, func(p *part) float64 { return p.times }))
	bins := 1 << 10
	for bins < most && span/float64(bins) > fine {
		bins *= 2
	}
	l := lattice{width: math.Ldexp(unit, int(math.Ceil(logspace.Log(span/float64(bins)/unit)/math.Ln2))), bins: bins}
	for _, p := range parts {
		if unit != 1 && max(p.right, p.left) > 0x1p28*l.width { // multiples of 24-bit numbers beyond would be rounded
			return s, errUnit
		}
	}
	if err := divide(ctx, parts, v, n, l.width); err != nil {
		return s, err
	}
	// Divided anew, the measures are others, if not by much.
	s.start, s.scale = max(0, v.mean), v.scale()
	var group errgroup.Group
	group.Go(func() error { s.high = composeSide(ctx, parts, v, false, l, first); return nil })
	group.Go(func() error { s.low = composeSide(ctx, parts, v, true, l, first); return nil })
	_ = group.Wait() // both composed, or the context done
	return s, ctx.Err()
}

// read reads the answer to a question off.
func (s sides) read(q question) pair.Interval {
	round := 0.
	if !q.invert {
		round = 1e-14
	}
	return q.read(func(eps float64) float64 { _, hi := s.high.log(eps); return hi + round },
		func(eps float64) float64 { lo, _ := s.low.log(eps); return lo - round }, s.start, s.scale)
}

// read reads the answer off bounds of log δ. An ε is looked for from start on, by a scale; its upper end
// may be infinite.
func (q question) read(high, low func(eps float64) float64, start, scale float64) pair.Interval {
	if !q.invert {
		return pair.DeltaWithin(low(q.eps), max(high(q.eps), -1e3))
	}
	round := 2*ulp*(1+math.Abs(q.logDelta)) + q.slack
	_, upper, ok := crossing(q.logDelta-round, start, 0.1*scale, high)
	if !ok {
		return pair.Interval{Upper: math.Inf(1)}
	}
	lower, _, _ := crossing(q.logDelta+round, upper, 1e-6*scale, low)
	return pair.Interval{Lower: max(0, lower), Upper: upper}
}

// crossing finds a < b, close together, with f(a) > want ≥ f(b), of a decreasing f, by doubling
// steps from start and Illinois steps between. Without an a in sight a is 0; it returns false if no
// such b is. What it returns it has evaluated: f, being a bound, need not be decreasing far from
// the tilt.
func crossing(want, start, step float64, f func(eps float64) float64) (a, b float64, ok bool) {
	g := func(x float64) float64 {
		if v := f(x) - want; !math.IsNaN(v) {
			return v
		}
		return math.Inf(1)
	}
	b = start
	fb := g(b)
	a, fa := b, fb
	for tries := 0; !(fb <= 0); tries++ {
		if tries > 60 {
			return 0, 0, false
		}
		a, fa = b, fb
		b += step
		fb = g(b)
		step *= 2
	}
	for tries := 0; !(fa > 0); tries++ {
		b, fb = a, fa
		if b == 0 || tries > 60 {
			return 0, b, true
		}
		a = max(0, a-step)
		fa = g(a)
		step *= 2
	}
	for range 100 {
		if b-a <= 1e-13*b {
			break
		}
		mid := a + (b-a)/2
		if !math.IsInf(fa, 0) && !math.IsInf(fb, 0) {
			mid = a + (b-a)*min(max(fa/(fa-fb), 1e-3), 1-1e-3)
		}
		if mid <= a || mid >= b {
			break
		}
		if v := g(mid); v > 0 {
			a, fa = mid, v
			fb /= 2
		} else {
			b, fb = mid, v
			fa /= 2
		}
	}
	return a, b, true
}

func (a Accountant) parts(steps []pair.Step) ([]*part, error) {
	if !(a.Width >= 0) || a.Width >= 1 || a.Bins < 0 || a.Work < 0 {
		return nil, bad("Width = %v, Bins = %v, Work = %v: Width must be in [0, 1), Bins and Work at least 0", a.Width,
			a.Bins, a.Work)
	}
	var parts []*part
	for i, s := range steps {
		if s.Times > maxTimes {
			return nil, bad("steps[%d].Times = %d: must be at most 1e12", i, s.Times)
		}
		if !(s.Pair.RelErr() < 1) {
			return nil, fmt.Errorf("pld: %v is known by its moments only: %w", s.Pair, pair.ErrNotApplicable)
		}
		if known := find(parts, s.Pair); known != nil {
			known.times += float64(s.Times)
			continue
		}
		parts = append(parts, &part{loss: lossOf(s.Pair), times: float64(s.Times)})
	}
	return parts, nil
}

// find returns the part of the same pair, if there is one.
func find(parts []*part, p pair.Pair) *part {
	if !reflect.TypeOf(p).Comparable() {
		return nil
	}
	for _, o := range parts {
		if o.loss.right.pair == p {
			return o
		}
	}
	return nil
}

func (a Accountant) width() float64 { return cmp.Or(a.Width, 1e-4) }

func (a Accountant) work() int { return cmp.Or(a.Work, 20_000_000) }

func (a Accountant) bins() int {
	if a.Bins == 0 {
		return 1 << 20
	}
	n := 1 << 10
	for 2*n <= a.Bins && n < 1<<24 {
		n *= 2
	}
	return n
}
