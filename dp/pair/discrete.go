package pair

import (
	"fmt"
	"math"
	"slices"
)

// Discrete is a pair of distributions on finitely many points. It is Atomic.
type Discrete struct {
	points []point // by increasing loss
}

// point is an atom with the difference of its probabilities, which p and q alone may not tell accurately.
type point struct {
	p, q, diff float64 // diff = p − q
	loss       float64
}

// NewDiscrete returns the pair with probabilities p[i], q[i] on point i. They must be nonnegative and sum to one within
// 1e-9. Points of equal loss are merged.
func NewDiscrete(p, q []float64) (*Discrete, error) {
	if len(p) != len(q) || len(p) == 0 {
		return nil, bad("points: %d in P, %d in Q: must be equal and positive", len(p), len(q))
	}
	sumP, sumQ := 0.0, 0.0
	pts := make([]point, 0, len(p))
	for i := range p {
		if !(p[i] >= 0) || !(q[i] >= 0) {
			return nil, bad("point %d: P = %v, Q = %v: must be at least 0", i, p[i], q[i])
		}
		sumP += p[i]
		sumQ += q[i]
		pts = append(pts, point{p: p[i], q: q[i], diff: p[i] - q[i]})
	}
	if !(math.Abs(sumP-1) <= 1e-9) || !(math.Abs(sumQ-1) <= 1e-9) {
		return nil, bad("probabilities sum to %v (P) and %v (Q): must sum to 1", sumP, sumQ)
	}
	return discrete(pts), nil
}

// discrete fills in losses, sorts and merges.
func discrete(pts []point) *Discrete {
	d := &Discrete{}
	for _, a := range pts {
		if a.p == 0 && a.q == 0 {
			continue
		}
		a.loss = lossOf(a)
		d.points = append(d.points, a)
	}
	slices.SortFunc(d.points, func(a, b point) int {
		switch {
		case a.loss < b.loss:
			return -1
		case a.loss > b.loss:
			return 1
		}
		return 0
	})
	merged := d.points[:0]
	for _, a := range d.points {
		if n := len(merged); n > 0 && merged[n-1].loss == a.loss {
			merged[n-1].p += a.p
			merged[n-1].q += a.q
			merged[n-1].diff += a.diff
			continue
		}
		merged = append(merged, a)
	}
	d.points = merged
	return d
}

func lossOf(a point) float64 {
	switch {
	case a.q == 0:
		return math.Inf(1)
	case a.p == 0:
		return math.Inf(-1)
	case math.Abs(a.diff) < a.q/2:
		return math.Log1p(a.diff / a.q)
	}
	return math.Log(a.p) - math.Log(a.q)
}

// RandomizedResponse returns the pair of a bit that is told truthfully with probability truth in [1/2, 1] and flipped
// otherwise, where P's bit is the other one with probability flipP, and Q's with probability flipQ:
// P = Bernoulli(f(flipP)), Q = Bernoulli(f(flipQ)), f(w) = (1−w)·truth + w·(1−truth) (SSKG M.2).
func RandomizedResponse(truth, flipP, flipQ float64) (*Discrete, error) {
	if !(truth >= 0.5 && truth <= 1) {
		return nil, bad("truth = %v: must be in [0.5, 1]", truth)
	}
	if !(flipP >= 0 && flipP <= 1) || !(flipQ >= 0 && flipQ <= 1) {
		return nil, bad("flip probabilities %v, %v: must be in [0, 1]", flipP, flipQ)
	}
	gain := 2*truth - 1
	f := func(w float64) (one, zero float64) { return truth - w*gain, (1 - truth) + w*gain }
	p1, p0 := f(flipP)
	q1, q0 := f(flipQ)
	diff := (flipQ - flipP) * gain
	return discrete([]point{{p: p1, q: q1, diff: diff}, {p: p0, q: q0, diff: -diff}}), nil
}

// Points lists the atoms by increasing loss.
func (d *Discrete) Points() []Atom {
	out := make([]Atom, len(d.points))
	for i, a := range d.points {
		out[i] = Atom{Loss: a.loss, P: a.p, Q: a.q}
	}
	return out
}

// String shows the number of points and the range of the loss.
func (d *Discrete) String() string {
	return fmt.Sprintf("discrete: %d points, losses %.4g to %.4g", len(d.points), d.points[0].loss, d.points[len(d.points)-1].loss)
}

// LogDelta returns log Σ max(p − e^ε q, 0).
func (d *Discrete) LogDelta(eps float64) float64 {
	switch {
	case math.IsNaN(eps):
		return math.NaN()
	case eps < 0:
		return reflectDelta(eps, d.Swap().LogDelta(-eps))
	}
	sum, grow := 0.0, math.Expm1(eps)
	for i := len(d.points) - 1; i >= 0 && d.points[i].loss > eps; i-- {
		a := d.points[i]
		if a.q == 0 {
			sum += a.p
			continue
		}
		// p − e^ε q = (p − q) − (e^ε − 1)q, or by logs where e^ε is large.
		if grow < 1 {
			sum += max(0, a.diff-grow*a.q)
		} else {
			sum += a.p * -math.Expm1(eps-a.loss)
		}
	}
	return min(0, math.Log(sum))
}

// LogTails returns log P(L > ε) and log Q(L > ε).
func (d *Discrete) LogTails(eps float64) (logP, logQ float64) {
	p, q := 0.0, 0.0
	for i := len(d.points) - 1; i >= 0 && d.points[i].loss > eps; i-- {
		p += d.points[i].p
		q += d.points[i].q
	}
	return min(0, math.Log(p)), min(0, math.Log(q))
}

// LogMoment returns log Σ p^α q^(1−α) with a bound on its rounding.
func (d *Discrete) LogMoment(alpha float64) (k, errBound float64) {
	switch {
	case !(alpha >= 1):
		return math.NaN(), 0
	case alpha == 1:
		return 0, 0
	}
	s := newLogSum()
	for _, a := range d.points {
		switch {
		case a.q == 0:
			return math.Inf(1), 0
		case a.p == 0:
			s.add(math.Log(a.q) + math.Log(alpha-1)) // h(−∞) = α − 1
		default:
			s.add(math.Log(a.q) + logExcess(alpha-1, a.loss))
		}
	}
	return momentFromExcess(s.log(), 1e-13)
}

// Support returns the range of the loss; all mass is in atoms.
func (d *Discrete) Support() Support {
	return Support{Min: d.points[0].loss, Max: d.points[len(d.points)-1].loss, Atoms: d.Points(), Discrete: true}
}

// RelErr is that of a sum.
func (d *Discrete) RelErr() float64 { return 1e-14 * float64(len(d.points)) }

// Swap returns (Q, P).
func (d *Discrete) Swap() Pair {
	s := &Discrete{points: make([]point, len(d.points))}
	for i, a := range d.points {
		s.points[len(d.points)-1-i] = point{p: a.q, q: a.p, diff: -a.diff, loss: -a.loss}
	}
	return s
}

// Max returns the discrete pair whose profile is the larger of those of a and b at every ε: it dominates a mechanism that may
// behave as either at each step. As a function of e^ε a profile of finitely many points is convex and piecewise linear;
// so is the maximum.
func Max(a, b *Discrete) *Discrete {
	ha, hb := profile(a), profile(b)
	knots := append(slices.Clone(ha.x), hb.x...)
	slices.Sort(knots)
	knots = slices.Compact(knots)
	// Where the two cross inside a segment there is a knot of the maximum.
	var all []float64
	for i, x := range knots {
		all = append(all, x)
		if i+1 < len(knots) {
			if c, ok := crossing(ha, hb, x, knots[i+1]); ok {
				all = append(all, c)
			}
		}
	}
	h := func(x float64) float64 { return max(ha.at(x), hb.at(x)) }
	// Past the last knot the profile is the mass at infinite loss; before 0 it is 1 − x. The jump of slope at a knot
	// is its Q-mass.
	var pts []point
	slope := 0.0
	for i := len(all) - 1; i >= 0; i-- {
		x, left := all[i], 0.0
		if i > 0 {
			left = all[i-1]
		}
		if x == 0 {
			continue
		}
		next := (h(x) - h(left)) / (x - left)
		if q := slope - next; q > 0 {
			pts = append(pts, point{p: q * x, q: q, diff: q * (x - 1)})
		}
		slope = next
	}
	if rest := 1 + slope; rest > 0 {
		pts = append(pts, point{q: rest, diff: -rest}) // P = 0 there
	}
	if inf := max(ha.inf, hb.inf); inf > 0 {
		pts = append(pts, point{p: inf, diff: inf})
	}
	return discrete(pts)
}

// convex is a profile as a function of x = e^ε.
type convex struct {
	d   *Discrete
	x   []float64
	inf float64
}

func profile(d *Discrete) convex {
	c := convex{d: d, x: []float64{0}, inf: d.Support().Infinite()}
	for _, a := range d.points {
		if !math.IsInf(a.loss, 0) {
			c.x = append(c.x, math.Exp(a.loss))
		}
	}
	return c
}

func (c convex) at(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Exp(c.d.LogDelta(math.Log(x)))
}

// crossing returns where two functions that are linear on [l, r] cross strictly inside.
func crossing(f, g convex, l, r float64) (float64, bool) {
	dl, dr := f.at(l)-g.at(l), f.at(r)-g.at(r)
	if dl*dr >= 0 {
		return 0, false
	}
	x := l + (r-l)*dl/(dl-dr)
	return x, x > l && x < r
}
