package pld

import (
	"context"
	"fmt"
	"math"

	"coupling/lab/logspace"
)

// A part is one loss of a composition and how often it is composed, with the cells it is divided into.
type part struct {
	loss
	times       float64
	right, left float64    // ends of the halves
	high, low   measure    // pessimistic and optimistic
	rough       [2]measure // the same on few cells, for choosing tilt and window
}

// side returns the pessimistic or the optimistic measure, or the sketch of it.
func (p *part) side(low, sketch bool) *measure {
	switch {
	case low && sketch:
		return &p.rough[1]
	case low:
		return &p.low
	case sketch:
		return &p.rough[0]
	}
	return &p.high
}

// mostSketched is the largest number of losses of a sketch.
const mostSketched = 1 << 12

// A question is ε for a δ, or δ at an ε.
type question struct {
	eps      float64
	logDelta float64
	invert   bool    // logDelta is known, eps is asked for
	limit    float64 // when δ is asked for: the value to compare it with, or NaN
	slack    float64 // relative error of δ that was made before
	floor    float64 // an absolute width that is narrow enough too
	far      float64 // if not 0, an ε above which no more need be known
	most     float64 // if not 0, an ε at or below which no more need be known
}

// A view is a tilt of the composition, with ΣT·K and the moments of the composed tilted loss there.
type view struct {
	s, k, mean, variance float64
	most                 int // cells of a half of a loss; 0 means maxNodes
}

// scale is the width of the tilted δ about ε, in orders of s.
func (v view) scale() float64 {
	return math.Sqrt(v.variance + 1/(v.s*v.s) + 1/((v.s+1)*(v.s+1)))
}

// at views the pessimistic composition at order s.
func at(parts []*part, s float64) view {
	v := view{s: s}
	for _, p := range parts {
		k, m, w := p.high.logMoment(s)
		v.k += p.times * k
		v.mean += p.times * m
		v.variance += p.times * w
	}
	return v
}

// tiltFor finds the order whose tilt centres the composition on the answer: the saddle point of
// e^{ΣT·K(s) − sε}/(s(s+1)), for the ε of the question or, if δ is given, for the ε of the
// saddle-point approximation.
func tiltFor(parts []*part, q question) view {
	f := func(s float64) float64 {
		v := at(parts, s)
		eps := v.mean - 1/s - 1/(s+1)
		if !q.invert {
			return (eps - q.eps) / v.scale()
		}
		if eps < 0 { // ε = 0 answers
			return -1
		}
		return q.logDelta - (v.k - s*eps - logspace.Log(s) - math.Log1p(s) - 0.5*logspace.Log(2*math.Pi) -
			logspace.Log(v.scale()))
	}
	// Of log s. Beyond the upper end the tilt would separate losses more finely than the grid can.
	end := largestOf(parts, (*part).rightEnd)
	lo, hi := -34-logspace.Log(end), 14-logspace.Log(end)
	for hi-lo > 1e-3 {
		mid := (lo + hi) / 2
		if v := f(math.Exp(mid)); v > 0 || math.IsNaN(v) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return at(parts, math.Exp(lo))
}

// divide divides every loss, cells being worth dividing while their share of the variance at v is above 1/n³ of the
// composed one, down to the floor.
func divide(ctx context.Context, parts []*part, v view, n, floor float64) error {
	for _, p := range parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		var k float64
		if len(p.high.mass) > 0 {
			k, _, _ = p.high.logMoment(v.s)
		}
		r := resolution{
			floor: floor,
			tilt:  v.s,
			shift: k,
			worth: 64 * v.variance / (n * n * n) / p.times,
			sign:  1,
			most:  maxNodes,
		}
		if v.most > 0 {
			r.most = v.most
		}
		right := p.loss.right.cells(max(p.right, floor), r)
		r.sign = -1
		left := p.loss.left.cells(max(p.left, floor), r)
		p.high, p.low = p.connectDots(right, left)
		if len(p.high.mass) <= mostSketched || len(p.rough[0].mass) == 0 {
			p.rough = [2]measure{p.high, p.low}
		}
	}
	return nil
}

// refineTilt finds a rough tilt and division together, since each depends on the other.
func refineTilt(ctx context.Context, parts []*part, q question) (view, error) {
	v := view{s: 0}
	for _, p := range parts {
		w := max(p.right, p.left)
		v.variance += p.times * w * w
	}
	for range 60 {
		if err := divide(ctx, parts, v, 60, 0); err != nil {
			return v, err
		}
		next := tiltFor(parts, q)
		// The spread that counts is that under the kernel of δ, of width 1/s.
		next.variance = max(next.variance, 1e-3/(next.s*next.s))
		done := math.Abs(logspace.Log(next.s/v.s)) < 0.3 && next.variance > v.variance/3
		v = next
		if done {
			break
		}
	}
	return v, nil
}

// window returns the first bin's loss and the width of a window outside which the tilted mass of
// either measure is about below e^logGoal, as the sketches have it.
func window(parts []*part, v view, logGoal float64) (first, last float64) {
	first, last = math.Inf(1), math.Inf(-1)
	for _, low := range [...]bool{false, true} {
		b, _ := chernoff(parts, v, low, -1, func(k, d float64) float64 { return (k - logGoal) / d })
		a, _ := chernoff(parts, v, low, 1, func(k, d float64) float64 { return (k - logGoal) / d })
		first, last = min(first, -b), max(last, a)
	}
	return first, last
}

// total returns ΣT·K(s) of one side, of the measures or of their sketches, and a bound of its
// rounding. The total is an upper bound and exceeds the true value by at most that.
func (v view) total(parts []*part, low, sketch bool, s float64) (k, wrong float64) {
	for _, p := range parts {
		m := p.side(low, sketch)
		a := m.moment(s)
		k += p.times * a
		wrong += p.times * (momentError(a, len(m.mass)) + float64(len(m.mass))*leastTerm)
	}
	return k, wrong
}

// chernoff minimises g(ΣT·(K(s+d) − K(s)), d), which falls and then rises, over d in growing steps,
// of one side of the sketches: side 1 for the upper tail, −1 for the lower. It returns the d too.
func chernoff(parts []*part, v view, low bool, side float64, g func(k, d float64) float64) (best, at float64) {
	base, _ := v.total(parts, low, true, v.s)
	best = math.Inf(1)
	worse := 0
	for d := 0.7 / math.Sqrt(v.variance); d < 1e18 && worse < 4; d *= 1.6 {
		k, _ := v.total(parts, low, true, v.s+side*d)
		b := g(k-base, d)
		if math.IsNaN(b) || math.IsInf(k, 0) {
			break
		}
		if b < best {
			best, at, worse = b, d, 0
		} else {
			worse++
		}
	}
	return best, at
}

// beyond bounds the log of the tilted mass of one side above x, for side 1, or below x, for side
// −1: by Chernoff's bound at the order that serves the sketch best.
func (v view) beyond(parts []*part, low bool, side, x float64) float64 {
	_, d := chernoff(parts, v, low, side, func(k, d float64) float64 { return k - d*side*x })
	if d == 0 {
		return 0
	}
	a, wrongA := v.total(parts, low, false, v.s+side*d)
	b, wrongB := v.total(parts, low, false, v.s)
	return min(0, a-b+wrongA+wrongB-d*side*x+4*ulp*d*math.Abs(x))
}

// compose convolves one side, and bounds what lies beyond the window.
func composeSide(ctx context.Context, parts []*part, v view, low bool, l lattice, first float64) *density {
	var ms []*measure
	var times []float64
	for _, p := range parts {
		ms, times = append(ms, p.side(low, false)), append(times, p.times)
	}
	d := compose(ctx, ms, times, v.s, l, first)
	d.above = math.Exp(v.beyond(parts, low, 1, d.first+float64(l.bins)*l.width)) * (1 + 1e-9)
	d.logBelow = v.beyond(parts, low, -1, d.first) + 1e-9
	d.below = math.Exp(d.logBelow)
	return d
}

// prepare finds the ends of both halves of each loss. Beyond the right end lies, with all the
// repetitions, at most e^-12 of δ.
func (p *part) prepare(logDelta, unit float64) error {
	lt := logspace.Log(p.times)
	var ok bool
	if p.right, ok = p.loss.right.end(max(logDelta-lt-12, -680), unit); !ok {
		return fmt.Errorf("pld: %v: losses above 2^60 matter: %w", p.loss.right.pair, ErrRange)
	}
	if p.left, ok = p.loss.left.end(-36-lt, unit); !ok {
		return fmt.Errorf("pld: %v: losses below −2^60 matter: %w", p.loss.right.pair, ErrRange)
	}
	return nil
}

// unitOf returns the unit: bins are powers of two times it. If losses are bounded and the largest
// has an atom, that loss, or a little less, should be a multiple of a bin: the optimistic measure
// never moves mass up, so it moves the largest atom down to the next node.
func unitOf(parts []*part) float64 {
	unit := 0.0
	for _, p := range parts {
		for _, f := range [...]*profile{p.loss.right, p.loss.left} {
			if math.IsInf(f.max, 1) && f.inf == 0 {
				return 1
			}
			if unit == 0 && f.top > 0 {
				unit = f.top
			}
		}
	}
	if unit == 0 {
		return 1
	}
	frac, exp := math.Frexp(unit)
	return math.Ldexp(math.Floor(frac*(1<<24))/(1<<24), exp)
}
