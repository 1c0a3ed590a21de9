package pld

import (
	"math"
	"slices"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// A measure is a discrete privacy loss: masses under P, at finite losses by increasing loss, and at +∞.
type measure struct {
	loss, mass []float64
	inf        float64
	logs       []float64 // of the masses, once they are asked for
}

// A loss holds the profiles of a pair: right is its profile for ε ≥ 0, left that of the swapped
// pair. Where the pair is enclosed, under is the loss below it, and else the loss itself.
type loss struct {
	right, left *profile
	under       *loss
}

func lossOf(p pair.Pair) loss {
	l := loss{newProfile(p), newProfile(p.Swap()), nil}
	l.under = &l
	if q, enclosed := pair.Under(p); enclosed {
		l.under = &loss{newProfile(q), newProfile(q.Swap()), nil}
	}
	return l
}

// connectDots connects the dots (Doroshenko et al. 2022): the returned pessimistic measure has as
// its profile the chords, as a function of e^ε, of upper bounds of δ at the nodes, which dominates.
// Between the nodes, too, the optimistic one stays below the tangents at points within the cells,
// so that it is dominated. Both halves are built from the outside in, the left one as the right one
// of the swapped pair: δ(ε) = 1 − e^ε + e^ε δ′(−ε).
func (l loss) connectDots(right, left []float64) (pessimistic, optimistic measure) {
	up, vp := l.right.chords(right), l.left.chords(left)
	up[0] = max(up[0], vp[0])
	vp[0] = up[0]
	a, inf := fromAbove(right, up)
	b, _ := fromAbove(left, vp)
	k := float64(len(right)+len(left)+16) * 8 * ulp
	// At a node left of 0 the profile has an error of the difference of the halves' values of δ(0):
	// let the right one be larger.
	pessimistic = join(right, left, a, b, 1+4*k, 1+k, inf*(1+4*k))
	pessimistic.center(+8 * ulp)
	if slices.ContainsFunc(pessimistic.mass, math.IsNaN) { // nodes that are one number
		pessimistic = measure{loss: []float64{0}, mass: []float64{0}, inf: 1} // the trivial one
	}

	lo, llo := l.under.right.tangents(right), l.under.left.tangents(left)
	d := min(lo[0], llo[0])
	lower := func(at float64) (m measure, lack float64) {
		lo[0], llo[0] = at, at
		a, inf := fromBelow(right, lo)
		b, _ := fromBelow(left, llo)
		m = join(right, left, a, b, 1-4*k, 1-k, inf*(1-4*k))
		return m, m.center(-8 * ulp)
	}
	// The kink between the halves may come out concave: a lower value there makes it convex.
	optimistic, lack := lower(d)
	// NaN where cells are too narrow for differences
	if tol := 16 * ulp * float64(len(right)+len(left)); !(lack <= tol) {
		bad, good := d, 0.0
		optimistic = measure{loss: []float64{0}, mass: []float64{1}} // the trivial one, if no other is found
		for range 40 {
			mid := bad - (bad-good)/2
			if bad-good < 1e-3*(d-good) { // near d, search closer
				mid = bad - (bad-good)/16
			}
			m, l := lower(mid)
			if !(l <= tol) {
				bad = mid
				continue
			}
			good, optimistic = mid, m
		}
	}
	return pessimistic, optimistic
}

// chords returns upper bounds of δ at the nodes.
func (f *profile) chords(nodes []float64) []float64 {
	out := make([]float64, len(nodes))
	for i, e := range nodes {
		out[i] = f.above(e)
	}
	return out
}

// tangents returns values at the nodes whose chords lie below a tangent of δ within each cell.
func (f *profile) tangents(nodes []float64) []float64 {
	n := len(nodes)
	out := slices.Repeat([]float64{math.Inf(1)}, n)
	for i := range n - 1 {
		a, b := nodes[i], nodes[i+1]
		atA, atB := 0.0, -1.0
		// Where δ falls steeply the tangent at the middle crosses 0 within the cell: one further right does not.
		want := 0.3 * f.at(b).delta
		for part := 0.5; part > 1e-9 && (atB < 0 || atB < want); part /= 4 {
			c := b + math.Log1p(part*math.Expm1(a-b))
			if !(a < c && c < b) {
				break
			}
			atA, atB = f.tangent(a, c, b)
		}
		if atB < 0 {
			atA, atB = 0, 0
		}
		out[i], out[i+1] = min(out[i], atA), min(out[i+1], atB)
	}
	out[n-1] = min(out[n-1], f.inf*(1-f.rel-4*ulp))
	for i := 1; i < n; i++ {
		out[i] = min(out[i], out[i-1])
	}
	return out
}

// fromAbove returns the masses at the nodes after the first, and at ∞, of a measure whose profile passes through or
// above the values d at the nodes. Going left, z is e^ε times the Q-mass to the right, and at its profile at the node.
func fromAbove(nodes, d []float64) (mass []float64, inf float64) {
	n := len(nodes)
	mass = make([]float64, n)
	inf = d[n-1]
	at, z := inf, 0.0
	for i := n - 2; i >= 0; i-- {
		drop := -math.Expm1(nodes[i] - nodes[i+1])
		p := max(0, (d[i]-at)/drop-z)
		mass[i+1] = p
		at += (z + p) * drop
		z = (z + p) * math.Exp(nodes[i]-nodes[i+1])
	}
	return mass, inf
}

// fromBelow returns the masses of the measure whose profile is the greatest convex function below the values d.
func fromBelow(nodes, d []float64) (mass []float64, inf float64) {
	n := len(nodes)
	mass = make([]float64, n)
	// rise is the Q-mass between two corners of the hull, times e^ε at the right one.
	rise := func(i, j int) float64 { return (d[i] - d[j]) / -math.Expm1(nodes[i]-nodes[j]) }
	hull := []int{0}
	for k := 1; k < n; k++ {
		for len(hull) > 1 {
			i, j := hull[len(hull)-2], hull[len(hull)-1]
			if rise(i, j) >= rise(j, k)*math.Exp(nodes[j]-nodes[k]) {
				break
			}
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, k)
	}
	for h := 1; h < len(hull); h++ {
		j := hull[h]
		mass[j] = rise(hull[h-1], j)
		if h+1 < len(hull) {
			k := hull[h+1]
			mass[j] = max(0, mass[j]-rise(j, k)*math.Exp(nodes[j]-nodes[k]))
		}
	}
	return mass, d[n-1]
}

// join puts the halves together, with mass 0 at 0. The left half has masses under Q.
func join(right, left, a, b []float64, ka, kb, inf float64) measure {
	m := measure{inf: inf}
	for i := len(left) - 1; i > 0; i-- {
		m.loss = append(m.loss, -left[i])
		m.mass = append(m.mass, b[i]*kb*math.Exp(-left[i]))
	}
	m.loss, m.mass = append(m.loss, 0), append(m.mass, 0)
	for i := 1; i < len(right); i++ {
		m.loss = append(m.loss, right[i])
		m.mass = append(m.mass, a[i]*ka)
	}
	return m
}

// center gives loss 0 the mass missing from one, and extra. It returns the excess of the masses
// over one. If extra is negative, all masses are reduced by it: δ(ε) ≥ 1 − e^ε compensates for the
// excess at 0.
func (m *measure) center(extra float64) (lack float64) {
	sum, comp := m.inf, 0.0
	for _, p := range m.mass {
		t := sum + p
		if sum >= p {
			comp += (sum - t) + p
		} else {
			comp += (p - t) + sum
		}
		sum = t
	}
	i, _ := slices.BinarySearch(m.loss, 0)
	rest := (1 - sum) - comp + extra
	m.mass[i] = max(0, rest)
	if rest < 0 && extra < 0 {
		for j := range m.mass {
			m.mass[j] *= 1 + rest - 4*ulp
		}
		m.inf *= 1 + rest - 4*ulp
	}
	if slices.ContainsFunc(m.mass, func(p float64) bool { return !(p >= 0 && p <= 1+1e-9) }) {
		return math.Inf(1)
	}
	return max(0, -rest)
}

// logMoment returns log Σ mass·e^{s·loss} over the finite losses, and the mean and variance of the tilted loss.
func (m *measure) logMoment(s float64) (k, mean, variance float64) {
	top := m.peak(s)
	sum, l, w := 0.0, m.loss, 0.0
	for i, log := range m.logMass() {
		if e := s*l[i] + log - top; e > negligible {
			w = math.Exp(e)
			sum += w
			mean += w * l[i]
			variance += w * l[i] * l[i]
		}
	}
	mean /= sum
	variance = max(0, variance/sum-mean*mean)
	if variance < 1e-6*mean*mean { // cancelled
		variance = 0
		for i, log := range m.logMass() {
			if e := s*l[i] + log - top; e > negligible {
				d := l[i] - mean
				variance += math.Exp(e) / sum * d * d
			}
		}
	}
	return top + logspace.Log(sum), mean, variance
}

// moment returns an upper bound of log Σ mass·e^{s·loss}, but for momentError.
func (m *measure) moment(s float64) float64 {
	top := m.peak(s)
	sum, l := 0.0, m.loss
	for i, log := range m.logMass() {
		if e := s*l[i] + log - top; e > negligible {
			sum += math.Exp(e)
		}
	}
	return top + logspace.Log(sum+float64(len(l))*leastTerm)
}

// negligible is the log of leastTerm: terms of a sum that are smaller, relative to the largest, are left out.
const (
	negligible = -60.0
	leastTerm  = 1e-26
)

// momentError bounds the rounding of moment over n losses: of exponents, of which those that count
// are below 1,000 in size, of the sum, and of k.
func momentError(k float64, n int) float64 { return 1e-13*(2+math.Abs(k)) + float64(n)*ulp }

// peak returns the largest s·loss + log mass.
func (m *measure) peak(s float64) float64 {
	top, l := math.Inf(-1), m.loss
	for i, log := range m.logMass() {
		top = max(top, s*l[i]+log)
	}
	return top
}

// logMass returns the logs of the masses.
func (m *measure) logMass() []float64 {
	if m.logs == nil {
		m.logs = make([]float64, len(m.mass))
		for i, p := range m.mass {
			m.logs[i] = logspace.Log(p)
		}
	}
	return m.logs
}
