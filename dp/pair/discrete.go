package pair

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"coupling/lab/logspace"
)

// Discrete is a pair of distributions on finitely many points.
type Discrete struct {
	points []point // by increasing loss
}

// point is an atom with the difference of its probabilities, which p − q in float64 may not give
// accurately.
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

// Product returns the composition of two finite pairs, with a point for every pair of their points,
// or false if a probability leaves the range of float64.
func Product(a, b *Discrete) (*Discrete, bool) {
	const least = 1e-290
	pts := make([]point, 0, len(a.points)*len(b.points))
	for _, x := range a.points {
		for _, y := range b.points {
			z := point{p: x.p * y.p, q: x.q * y.q, diff: x.p*y.diff + x.diff*y.q}
			if z.p < least && x.p > 0 && y.p > 0 || z.q < least && x.q > 0 && y.q > 0 {
				return nil, false
			}
			pts = append(pts, z)
		}
	}
	return discrete(pts), true
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
	slices.SortFunc(d.points, func(a, b point) int { return cmp.Compare(a.loss, b.loss) })
	merged := d.points[:0]
	for _, a := range d.points {
		if n := len(merged); n > 0 && merged[n-1].loss == a.loss {
			if merged[n-1].p += a.p; math.IsInf(a.loss, 1) { // is compared with δ: never below the sum
				merged[n-1].p = math.Nextafter(merged[n-1].p, 2)
			}
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
	return logspace.Log(a.p) - logspace.Log(a.q)
}

// Points lists the atoms by increasing loss.
func (d *Discrete) Points() []Atom {
	out := make([]Atom, len(d.points))
	for i, a := range d.points {
		out[i] = Atom{Loss: a.loss, P: a.p, Q: a.q}
	}
	return out
}

// Finite returns the pair given that the loss is not +Inf, and the probability that it is.
func (d *Discrete) Finite() (*Discrete, float64) {
	lost := min(d.Support().Infinite(), 1) // which is rounded up
	if lost == 0 || lost == 1 {
		return d, lost
	}
	pts := make([]point, len(d.points)-1)
	for i, a := range d.points[:len(pts)] {
		pts[i] = point{p: a.p / (1 - lost), q: a.q, diff: (a.diff + lost*a.q) / (1 - lost)}
	}
	return discrete(pts), lost
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
	return min(0, logspace.Log(sum))
}

// LogTails returns log P(L > ε) and log Q(L > ε).
func (d *Discrete) LogTails(eps float64) (logP, logQ float64) {
	p, q := 0.0, 0.0
	for i := len(d.points) - 1; i >= 0 && d.points[i].loss > eps; i-- {
		p += d.points[i].p
		q += d.points[i].q
	}
	return min(0, logspace.Log(p)), min(0, logspace.Log(q))
}

// LogMoment returns log Σ p^α q^(1−α) with a bound on its rounding.
func (d *Discrete) LogMoment(alpha float64) (k, errBound float64) {
	if k, known := trivialMoment(alpha); known {
		return k, 0
	}
	s := logspace.Zero()
	for _, a := range d.points {
		switch {
		case a.q == 0:
			return math.Inf(1), 0
		case a.p == 0:
			s.Add(logspace.Log(a.q) + logspace.Log(alpha-1)) // h(−∞) = α − 1
		default:
			s.Add(logspace.Log(a.q) + logExcess(alpha-1, a.loss))
		}
	}
	return momentFromExcess(s.Log(), 1e-13)
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
