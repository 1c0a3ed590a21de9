package admm

import (
	"slices"
)

// Bounds are the least and the largest total of a node. Max may be +Inf.
type Bounds struct{ Min, Max float64 }

func (b Bounds) check() error {
	if err := in.NotNegative("Min", b.Min); err != nil || b.Max >= b.Min {
		return err
	}
	return bad("Max = %v: must be at least Min = %v", b.Max, b.Min)
}

// Project writes to dst the point of {v ≥ 0, Min ≤ Σv ≤ Max} that is nearest to c, v = max(c − τ,
// 0), in O(d log d): after sorting, the τ at which the sum is right is one division away. Sums are
// right up to rounding of their own size, however large c is. dst may be c.
func Project(dst, c []float64, b Bounds) { (&projector{}).project(dst, c, b) }

// projector keeps the memory for sorting.
type projector struct{ sorted []float64 }

func (p *projector) project(dst, c []float64, b Bounds) {
	sum := 0.0
	for _, v := range c {
		sum += max(v, 0)
	}
	top, tau := 0.0, 0.0
	switch {
	case sum > b.Max:
		top, tau = p.threshold(c, b.Max)
	case sum < b.Min:
		top, tau = p.threshold(c, b.Min)
	}
	for i, v := range c {
		dst[i] = max(v-top-tau, 0)
	}
}

// threshold returns the largest of c, and τ with Σ max(c − top − τ, 0) = s (Held, Wolfe, Crowder
// 1974). Positive amounts are within s of the largest entry, so differences from it lose less
// precision than c itself.
func (p *projector) threshold(c []float64, s float64) (top, tau float64) {
	if len(c) == 0 {
		return 0, 0
	}
	p.sorted = append(p.sorted[:0], c...)
	slices.Sort(p.sorted)
	top = p.sorted[len(c)-1]
	sum := 0.0
	tau = -s
	for k := 1; k <= len(c); k++ {
		v := p.sorted[len(c)-k] - top
		sum += v
		t := (sum - s) / float64(k)
		if v <= t {
			break
		}
		tau = t
	}
	return top, tau
}

// local solves a node's subproblem: argmin of Σ −uᵢ(vᵢ) + η/2 (vᵢ − cᵢ)² over the node's set.
type local struct {
	utilities []Utility
	linear    []float64 // the slopes, if all utilities are linear
	bounds    Bounds
	projector projector
}

func newLocal(us []Utility, b Bounds) local {
	l := local{utilities: us, bounds: b}
	for _, u := range us {
		lin, ok := u.(Linear)
		if !ok {
			l.linear = nil
			return l
		}
		l.linear = append(l.linear, lin.A)
	}
	return l
}

// solve writes the minimiser to dst, which may be c. Linear utilities are a projection; for others
// the sum of amounts at a price ν, Σ prox(cᵢ − ν/η), falls with ν, and the solution is where it
// meets the bound.
func (l *local) solve(dst, c []float64, eta float64) {
	if l.linear != nil || len(c) == 0 {
		for i, a := range l.linear {
			dst[i] = c[i] + a/eta
		}
		l.projector.project(dst, dst, l.bounds)
		return
	}
	centre := append(l.projector.sorted[:0], c...)
	l.projector.sorted = centre
	sum := func(shift float64) float64 {
		s := 0.0
		for i, u := range l.utilities {
			s += prox(u, centre[i]-shift, eta)
		}
		return s
	}
	shift, total := 0.0, sum(0)
	if want := min(max(total, l.bounds.Min), l.bounds.Max); want != total {
		shift = l.price(sum, total, want)
	}
	for i, u := range l.utilities {
		dst[i] = prox(u, centre[i]-shift, eta)
	}
}

// price returns the shift ν/η at which the sum is want.
func (l *local) price(sum func(float64) float64, total, want float64) float64 {
	step := (total - want) / float64(len(l.utilities))
	a, b := 0.0, step
	for k := 0; (sum(b)-want)*step > 0 && k < 1100; k++ {
		a, b = b, 2*b
	}
	return decreasingRoot(func(t float64) float64 { return sum(t) - want }, min(a, b), max(a, b))
}
