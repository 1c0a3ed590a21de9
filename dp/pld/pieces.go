package pld

import (
	"context"
	"errors"
	"math"
	"slices"

	"coupling/dp/internal/logspace"
	"coupling/dp/pair"
)

const (
	// mostJumps bounds how many jumps a composition is taken apart into.
	mostJumps = 24
	// jumpBins bounds the bins of each.
	jumpBins = 1 << 18
	// jumpWork is how much more work is worth while where nothing else is tight.
	jumpWork = 2
	// faint is the part of the answer below which a jump is only bounded.
	faint = 1e-8
	// grainy is the part of the answer that round-off may make uncertain in a jump, with cells that leave 1/n² uncertain.
	grainy = 0.1
)

// pieces are the jumps of a composition with what is known of each, on one side.
type pieces struct {
	jumps []jump
	cells []*density // nil where Chernoff's bound does
	nu    []float64  // log-moments of the jumps at their tilts
	inf   float64    // probability of an infinite loss
}

// log returns bounds of log δ(ε) of the measures that were composed.
func (p pieces) log(eps float64) (lo, hi float64) {
	lo, hi = math.Inf(-1), math.Inf(-1)
	if p.inf > 0 {
		lo, hi = math.Log(p.inf)-4*ulp, math.Log(p.inf)+4*ulp
	}
	for i := range p.jumps {
		a, b := p.one(i, eps)
		lo, hi = logspace.Add(lo, a), logspace.Add(hi, b)
	}
	return lo, hi + 8*ulp*float64(len(p.jumps))
}

// one is log for one jump.
func (p pieces) one(i int, eps float64) (lo, hi float64) {
	j := p.jumps[i]
	if math.IsInf(p.nu[i], -1) {
		return p.nu[i], p.nu[i]
	}
	lo, hi = math.Inf(-1), p.nu[i]-j.s*eps+excess(j.s)+8*ulp*(1+j.s*eps+math.Abs(p.nu[i]))
	if d := p.cells[i]; d != nil {
		a, b := d.log(eps)
		lo, hi = a, min(hi, b)
	}
	return lo, hi
}

// byJumps answers for compositions in which one large loss decides. It starts from an upper bound of the answer, and refines.
func (a Accountant) byJumps(ctx context.Context, parts []*part, q question, unit float64, start pair.Interval) (pair.Interval, error) {
	best := start
	end := 0.0
	for _, p := range parts {
		end = max(end, p.right)
	}
	eps := q.eps
	if q.invert {
		eps = best.Upper
	}
	jumps := initialTails(eps)
	n, before := 60.0, 0
	for {
		for i := range jumps {
			jumps[i].tiltFor(parts, eps)
		}
		assignWork(jumps)
		h, err := a.divideJumps(ctx, parts, jumps, n, unit)
		if errors.Is(err, errUnit) { // what is known stands
			return best, nil
		}
		if err != nil {
			return best, err
		}
		var high pieces
		high, jumps, err = a.splitTails(ctx, parts, jumps, q, eps, h, n)
		if err != nil {
			return best, err
		}
		low, err := a.compose(ctx, parts, jumps, q, eps, h, true, pieces{})
		if err != nil {
			return best, err
		}
		got := read(high, low, q, eps, 0.1*(1+eps))
		last := best
		best = pair.Interval{Lower: max(best.Lower, got.Lower), Upper: min(best.Upper, got.Upper)}
		if q.invert {
			if math.Abs(best.Upper-eps) > 0.02*eps {
				jumps = initialTails(best.Upper)
			}
			eps = best.Upper
		}
		work := spent(parts, 0) + 8*high.bins() + 8*low.bins()
		if best.Upper-best.Lower <= a.width()*best.Upper || best.Upper <= q.limit || best.Lower > q.limit ||
			work+4*(work-before) > jumpWork*a.work() || n > 500 && best.Upper-best.Lower > 0.8*(last.Upper-last.Lower) {
			return best, nil
		}
		before = work
		n *= 3
	}
}

// initialTails returns the jumps to begin with.
func initialTails(eps float64) []jump {
	return []jump{{low: math.Inf(-1), high: eps / 2}, {low: eps / 2, high: eps}, {low: eps, high: math.Inf(1)}}
}

func (p pieces) bins() (n int) {
	for _, d := range p.cells {
		if d != nil {
			n += d.bins
		}
	}
	return n
}

// assignWork shares the answer out among jumps by their bounds, where nothing better is known.
func assignWork(jumps []jump) {
	all := math.Inf(-1)
	for _, j := range jumps {
		all = logspace.Add(all, j.bound)
	}
	for i, j := range jumps {
		if j.part == 0 {
			jumps[i].part = math.Exp(j.bound - all)
		}
	}
}

// divideJumps divides losses as the jumps need it, and returns the width of a bin; errUnit if losses are too many bins apart.
func (a Accountant) divideJumps(ctx context.Context, parts []*part, jumps []jump, n, unit float64) (float64, error) {
	steepest := 0.0
	for _, j := range jumps {
		if j.part > 1e-4 {
			steepest = max(steepest, j.s)
		}
	}
	h := math.Ldexp(unit, int(math.Floor(math.Log2(8/(n*steepest*math.Sqrt(mostTimes(parts)))/unit))))
	if !(steepest > 0 && h > 0) { // no bound of a jump is a number
		return h, errUnit
	}
	for _, p := range parts {
		if unit != 1 && max(p.right, p.left) > 0x1p28*h { // multiples of 24-bit numbers beyond would be rounded
			return h, errUnit
		}
	}
	most := max(leastCells, min(maxNodes, a.work()/(16*dearest(parts)*len(parts))))
	for _, p := range parts {
		if err := ctx.Err(); err != nil {
			return h, err
		}
		r := resolution{floor: h, sign: 1, most: most, worth: math.Inf(1)}
		for _, j := range jumps {
			if j.part < faint {
				continue
			}
			i, k := j.prefix(&p.high)
			under, over := p.high.part(0, i).moment(j.s), p.high.part(i, k).moment(j.s)
			all := logspace.Add(under, over)
			hit := math.Log(p.times) + over - all
			r.jumps = append(r.jumps, sight{
				tilt: j.s, low: j.low, high: j.high, below: all, above: all + min(0, hit),
				worth: 64 / (n * n * n) / (j.s * j.s) / p.times / j.part,
			})
		}
		right := p.loss.right.cells(max(p.right, h), r)
		r.sign = -1
		left := p.loss.left.cells(max(p.left, h), r)
		p.high, p.low = p.connectDots(right, left)
		if len(p.high.mass) <= mostSketched {
			p.rough = [2]measure{p.high, p.low}
		}
	}
	return h, nil
}

// splitTails composes the jumps of the pessimistic measures, and if wanted divides those of which round-off leaves too little.
func (a Accountant) splitTails(ctx context.Context, parts []*part, jumps []jump, q question, eps, h, n float64) (pieces, []jump, error) {
	var p pieces
	for {
		var err error
		p, err = a.compose(ctx, parts, jumps, q, eps, h, false, p)
		if err != nil {
			return p, jumps, err
		}
		_, all := p.log(eps)
		var next []jump
		for i, j := range jumps {
			lo, hi := p.one(i, eps)
			j.part = math.Exp(hi - all)
			mid := j.middle(eps)
			if room := len(jumps)-i+len(next) < mostJumps; !room || mid <= j.low || mid >= j.high || math.Exp(hi-all)-math.Exp(lo-all) < grainy/(n*n) {
				next = append(next, j)
				continue
			}
			two := [...]jump{{low: j.low, high: mid}, {low: mid, high: j.high}}
			for k := range two {
				two[k].tiltFor(parts, eps)
				two[k].part = j.part
			}
			next = append(next, two[:]...)
		}
		if len(next) == len(jumps) {
			p.jumps = next
			return p, next, nil
		}
		jumps = next
	}
}

// middle is where to divide a jump.
func (j jump) middle(eps float64) float64 {
	switch {
	case math.IsInf(j.low, -1):
		return j.high / 2
	case math.IsInf(j.high, 1):
		return j.low + max(1, eps)
	}
	return (j.low + j.high) / 2
}

// compose composes the jumps of one side that matter, unless it is known of them already.
func (a Accountant) compose(ctx context.Context, parts []*part, jumps []jump, q question, eps, h float64, low bool, known pieces) (pieces, error) {
	_, inf := infinite(parts, func(p *part) float64 { return p.side(low, false).inf })
	p := pieces{jumps: jumps, cells: make([]*density, len(jumps)), nu: make([]float64, len(jumps)), inf: inf}
	all := math.Inf(-1)
	for i, j := range jumps {
		p.nu[i], _ = j.moment(parts, low, false, j.s)
		all = logspace.Add(all, p.nu[i]-j.s*eps+excess(j.s))
	}
	want := all // of δ
	if q.invert {
		want = q.logDelta
	}
	for i, j := range jumps {
		if err := ctx.Err(); err != nil {
			return p, err
		}
		if !(p.nu[i]-j.s*eps+excess(j.s) > want+math.Log(faint)) {
			continue
		}
		if k := slices.IndexFunc(known.jumps, func(o jump) bool { return o.low == j.low && o.high == j.high && o.s == j.s }); k >= 0 && known.cells[k] != nil {
			p.cells[i] = known.cells[k]
			continue
		}
		_, scale := j.moment(parts, low, false, j.s)
		first, last := j.window(parts, want+j.s*eps-scale-excess(j.s)-25)
		if !(last > first) || math.IsInf(last-first, 0) {
			continue
		}
		l := lattice{width: h, bins: 1 << 8}
		for l.bins < min(jumpBins, a.bins()) && float64(l.bins)*h < (last-first)*1.02 {
			l.bins *= 2
		}
		p.cells[i] = j.compose(ctx, parts, low, l, first)
	}
	return p, ctx.Err()
}
