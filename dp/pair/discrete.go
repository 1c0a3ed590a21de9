package pair

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"coupling/lab/logspace"
)

// Discrete is a pair of distributions on finitely many points. Its probabilities have no least size: those below the
// range of float64 have their loss too.
type Discrete struct {
	points  []point // by increasing loss
	lossErr float64 // bounds the absolute error of the losses
	power   func(times int) (*Discrete, error)
	atoms   func() []Atom // once
}

// point is an atom with the difference of its probabilities, which p − q may not give accurately, and what lies at
// its loss l and above:
//
//	δ(l) = Σ_{L>l} (p − e^l q),   z = Σ_{L≥l} e^l q,   P(L ≥ l),   Q(L ≥ l).
type point struct {
	p, q, diff wide // diff = p − q
	loss       float64

	delta, z, tailP, tailQ wide
}

// pointOf is the atom with probabilities p and q.
func pointOf(p, q, diff float64) point { return point{p: wideOf(p), q: wideOf(q), diff: wideOf(diff)} }

// NewDiscrete returns the pair with probabilities p[i], q[i] on point i. They must be nonnegative and sum to one within
// 1e-9. Points of equal loss are merged.
func NewDiscrete(p, q []float64) (*Discrete, error) { return newDiscrete(p, q, 1e-9) }

// newDiscrete is NewDiscrete for sums of one within off.
func newDiscrete(p, q []float64, off float64) (*Discrete, error) {
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
		pts = append(pts, pointOf(p[i], q[i], p[i]-q[i]))
	}
	if !(math.Abs(sumP-1) <= off) || !(math.Abs(sumQ-1) <= off) {
		return nil, bad("probabilities sum to %v (P) and %v (Q): must sum to 1", sumP, sumQ)
	}
	return discrete(pts, 0), nil
}

// Product returns the composition of two finite pairs, with a point for every pair of their points.
func Product(a, b *Discrete) *Discrete {
	pts := make([]point, 0, len(a.points)*len(b.points))
	for _, x := range a.points {
		for _, y := range b.points {
			pts = append(pts, point{
				p:    x.p.times(y.p),
				q:    x.q.times(y.q),
				diff: x.p.times(y.diff).plus(x.diff.times(y.q)),
			})
		}
	}
	return discrete(pts, a.lossErr+b.lossErr)
}

// Power returns the composition of the pair with itself, times over, where it is a pair of the same family; others are
// composed by accountants. It returns ErrNotApplicable for them.
func (d *Discrete) Power(times int) (*Discrete, error) {
	if d.power == nil {
		return nil, ErrNotApplicable
	}
	return d.power(times)
}

// discrete fills in losses, sorts, merges and sums. The relative errors of p and of q, together, are at most relErr.
func discrete(pts []point, relErr float64) *Discrete {
	d := &Discrete{points: make([]point, 0, len(pts))}
	for _, a := range pts {
		if a.p.frac == 0 && a.q.frac == 0 {
			continue
		}
		a.loss = lossOf(a)
		d.points = append(d.points, a)
	}
	slices.SortFunc(d.points, func(a, b point) int { return cmp.Compare(a.loss, b.loss) })
	merged := d.points[:0]
	for _, a := range d.points {
		if n := len(merged); n > 0 && merged[n-1].loss == a.loss {
			b := &merged[n-1]
			if b.p = b.p.plus(a.p); math.IsInf(a.loss, 1) { // is compared with δ: never below the sum
				b.p = b.p.scaled(math.Nextafter(1, 2))
			}
			b.q, b.diff = b.q.plus(a.q), b.diff.plus(a.diff)
			continue
		}
		merged = append(merged, a)
	}
	d.points = merged
	d.sum()
	for _, a := range merged {
		if l := math.Abs(a.loss); !math.IsInf(l, 1) {
			d.lossErr = max(d.lossErr, relErr+1e-15*(1+l))
		}
	}
	return d
}

// sum fills in what lies above each point, where all terms are positive, and the list of atoms when that is
// first asked for.
func (d *Discrete) sum() {
	var next point // above the last lies nothing
	for i, a := range slices.Backward(d.points) {
		a.tailP, a.tailQ = next.tailP.plus(a.p), next.tailQ.plus(a.q)
		gap := next.loss - a.loss // +Inf below the point of infinite loss, and above that of −Inf
		if a.delta, a.z = next.delta, a.p; next.z.frac != 0 {
			a.delta = a.delta.plus(next.z.scaled(-math.Expm1(-gap)))
			a.z = a.z.plus(next.z.times(wideExp(-gap, 0)))
		}
		d.points[i], next = a, a
	}
	d.atoms = sync.OnceValue(func() []Atom {
		out := make([]Atom, len(d.points))
		for i, a := range d.points {
			out[i] = Atom{Loss: a.loss, P: a.p.above(), Q: a.q.float(), LogP: a.p.log(), LogQ: a.q.log()}
		}
		return out
	})
}

func lossOf(a point) float64 {
	switch ratio := a.p.over(a.q); {
	case a.q.frac == 0:
		return math.Inf(1)
	case a.p.frac == 0:
		return math.Inf(-1)
	case math.Abs(a.diff.over(a.q)) < 0.5:
		return math.Log1p(a.diff.over(a.q))
	case ratio > 1e-300 && ratio < 1e300:
		return logspace.Log(ratio)
	}
	return a.p.log() - a.q.log()
}

// Points lists the atoms by increasing loss. They must not be changed.
func (d *Discrete) Points() []Atom { return d.atoms() }

// Len returns the number of atoms.
func (d *Discrete) Len() int { return len(d.points) }

// Finite returns the pair given that the loss is not +Inf, and the probability that it is.
func (d *Discrete) Finite() (*Discrete, float64) {
	lost := min(d.Support().Infinite(), 1) // which is rounded up
	if lost == 0 || lost == 1 {
		return d, lost
	}
	pts := make([]point, len(d.points)-1)
	for i, a := range d.points[:len(pts)] {
		pts[i] = point{p: a.p.scaled(1 / (1 - lost)), q: a.q,
			diff: a.diff.plus(a.q.scaled(lost)).scaled(1 / (1 - lost))}
	}
	return discrete(pts, d.lossErr), lost
}

// String shows the number of points and the range of the loss.
func (d *Discrete) String() string {
	return fmt.Sprintf("discrete: %d points, losses %.4g to %.4g", len(d.points), d.points[0].loss,
		d.points[len(d.points)-1].loss)
}

// from returns the index of the first point with a loss above ε.
func (d *Discrete) from(eps float64) int {
	return sort.Search(len(d.points), func(i int) bool { return d.points[i].loss > eps })
}

// LogDelta returns log Σ max(p − e^ε q, 0).
func (d *Discrete) LogDelta(eps float64) float64 {
	if math.IsNaN(eps) {
		return math.NaN()
	}
	eps = min(eps, math.MaxFloat64) // below an infinite loss
	i := d.from(eps)
	if i == len(d.points) {
		return math.Inf(-1)
	}
	a := d.points[i]
	return min(0, a.delta.plus(a.z.scaled(-math.Expm1(eps-a.loss))).log())
}

// LogTails returns log P(L > ε) and log Q(L > ε).
func (d *Discrete) LogTails(eps float64) (logP, logQ float64) {
	i := d.from(eps)
	if i == len(d.points) {
		return math.Inf(-1), math.Inf(-1)
	}
	return min(0, d.points[i].tailP.log()), min(0, d.points[i].tailQ.log())
}

// LogMoment returns log Σ p^α q^(1−α) with a bound on its rounding.
func (d *Discrete) LogMoment(alpha float64) (k, errBound float64) {
	if k, known := trivialMoment(alpha); known {
		return k, 0
	}
	s, relErr := logspace.Zero(), 1e-13
	for _, a := range d.points {
		logQ := a.q.log()
		switch {
		case a.q.frac == 0:
			return math.Inf(1), 0
		case a.p.frac == 0:
			s.Add(logQ + logspace.Log(alpha-1)) // h(−∞) = α − 1
		default:
			s.Add(logQ + logExcess(alpha-1, a.loss))
		}
		relErr = max(relErr, -1e-15*logQ)
	}
	return momentFromExcess(s.Log(), relErr)
}

// Support returns the range of the loss; all mass is in atoms.
func (d *Discrete) Support() Support {
	return Support{Min: d.points[0].loss, Max: d.points[len(d.points)-1].loss, Atoms: d.Points(), Discrete: true}
}

// RelErr is that of a sum.
func (d *Discrete) RelErr() float64 { return 1e-14 * float64(len(d.points)) }

// LossErr bounds the absolute error of the losses.
func (d *Discrete) LossErr() float64 { return d.lossErr }

// Swap returns (Q, P).
func (d *Discrete) Swap() Pair {
	s := &Discrete{points: make([]point, len(d.points)), lossErr: d.lossErr}
	for i, a := range d.points {
		s.points[len(d.points)-1-i] = point{p: a.q, q: a.p, diff: a.diff.scaled(-1), loss: -a.loss}
	}
	s.sum()
	return s
}
