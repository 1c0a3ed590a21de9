package geometry

import (
	"math"

	"coupling/ot/internal/fault"
	"coupling/ot/internal/rows"
)

// Stats summarise the costs between atoms of positive weight.
type Stats struct {
	// Min and Max are those of the finite costs, and Mean is their mean under a⊗b.
	Min, Max, Mean float64
	// Mass is Σ aᵢbⱼ over the pairs that are not forbidden, 1 where all are allowed.
	Mass float64
	// Forbidden says that some cost is +Inf.
	Forbidden bool
}

// Spread is the scale on which costs differ.
func (s Stats) Spread() float64 { return s.Mean - s.Min }

// mayForbid reports whether a cost of +Inf means a forbidden pair.
func mayForbid(g Geometry) bool {
	f, ok := g.(interface{ Finite() bool })
	return !ok || !f.Finite()
}

// newError makes an error of one of the kinds of package ot.
type newError = func(kind error, format string, args ...any) error

// part is what one span of rows has.
type part struct {
	Stats
	fault int // 1 + the first row with a cost that is not finite, nor forbids its pair
}

// Scan reads every cost once. Weights sum to 1; bad makes the errors for costs that are NaN or
// −Inf, for ranges that overflow (ErrCost), and for atoms whose pairs are all forbidden
// (ErrInfeasible). It goes over the sources by sw, with two vectors of scratch, as long as b, for
// each goroutine.
func Scan[W any](g Geometry, a, b []float64, sw *rows.Sweep[W], scratch func(w W) (costs, spare []float64),
	bad newError) (Stats, error) {
	parts := make([]part, len(sw.Spans))
	mask := sw.Room(len(b)) // −Inf where the target has no weight, else 0
	for j, v := range b {
		if mask[j] = 0; v == 0 {
			mask[j] = math.Inf(-1)
		}
	}
	forbid := mayForbid(g)
	sw.Each(func(w W, k int, s rows.Span) {
		costs, spare := scratch(w)
		p := part{Stats: Stats{Min: math.Inf(1), Max: math.Inf(-1)}}
		for i := s.Lo; i < s.Hi; i++ {
			c := g.Row(i, costs)
			// NaN and infinities reach the mean, also through a weight of 0.
			mean, mass := dot(b, c), 1.0
			if mean-mean != 0 && forbid {
				c, mean, mass = allowed(spare, c, b)
				p.Forbidden = true
			}
			if mean-mean != 0 && p.fault == 0 {
				p.fault = i + 1
			}
			if a[i] == 0 || mass == 0 {
				continue
			}
			p.Min, p.Max = min(p.Min, -kern.RowMax(mask, c, 1)), max(p.Max, kern.RowMax(mask, c, -1))
			p.Mean += a[i] * mean
			p.Mass += a[i] * mass
		}
		parts[k] = p
	})
	return join(g, a, b, parts, bad)
}

// join adds up what spans have and checks the sum.
func join(g Geometry, a, b []float64, parts []part, bad newError) (Stats, error) {
	s := Stats{Min: math.Inf(1), Max: math.Inf(-1)}
	for _, p := range parts {
		if p.fault > 0 {
			return s, faultOf(g, p.fault-1, len(b), bad)
		}
		s.Min, s.Max, s.Mean, s.Mass, s.Forbidden = min(s.Min, p.Min), max(s.Max, p.Max), s.Mean+p.Mean, s.Mass+p.Mass,
			s.Forbidden || p.Forbidden
	}
	if !s.Forbidden {
		s.Mass = 1
	} else if err := partners(g, a, b, bad); err != nil {
		return s, err
	}
	s.Mean /= s.Mass
	if math.IsInf(s.Max-s.Min, 0) || math.IsInf(s.Mean, 0) {
		return s, fault.OT(fault.ErrCost, "costs from %g to %g: their range must be finite", s.Min, s.Max)
	}
	return s, nil
}

// faultOf returns the error for row i.
func faultOf(g Geometry, i, m int, bad newError) error {
	for j, v := range g.Row(i, make([]float64, m)) {
		if v-v != 0 && !(math.IsInf(v, 1) && mayForbid(g)) {
			return fault.OT(fault.ErrCost, "cost[%d,%d] = %g: must be finite", i, j, v)
		}
	}
	return fault.OT(fault.ErrCost, "costs of source %d: their mean must be finite", i)
}

// allowed copies costs to dst with the least finite one for those that are +Inf, and returns them
// with the sums of b·c and of b over the finite ones (0 if there is none). NaN and −Inf make the
// sum NaN.
func allowed(dst, c, b []float64) (row []float64, mean, mass float64) {
	least := math.Inf(1)
	for j, v := range c {
		if math.IsNaN(v) || math.IsInf(v, -1) {
			return c, math.NaN(), 0
		}
		if b[j] > 0 {
			least = min(least, v)
		}
	}
	for j, v := range c {
		if dst[j] = v; math.IsInf(v, 1) {
			dst[j] = least
			continue
		}
		mean += b[j] * v
		mass += b[j]
	}
	return dst, mean, mass
}

// partners returns an error for an atom of positive weight whose pairs are all forbidden.
func partners(g Geometry, a, b []float64, bad newError) error {
	partner, buf := make([]bool, len(b)), make([]float64, len(b))
	for i, w := range a {
		paired := w == 0
		for j, v := range g.Row(i, buf) {
			if w > 0 && b[j] > 0 && !math.IsInf(v, 1) {
				paired, partner[j] = true, true
			}
		}
		if !paired {
			return fault.OT(fault.ErrInfeasible, "every pair of source %d is forbidden", i)
		}
	}
	for j, w := range b {
		if w > 0 && !partner[j] {
			return fault.OT(fault.ErrInfeasible, "every pair of target %d is forbidden", j)
		}
	}
	return nil
}

// ScanListed is Scan over the pairs that a geometry lists.
func ScanListed(g Listed, a, b []float64, bad newError) (Stats, error) {
	s, partner := Stats{Min: math.Inf(1), Max: math.Inf(-1)}, make([]bool, len(b))
	allowed := 0
	for i, w := range a {
		paired := w == 0
		to, costs := g.Arcs(i)
		for k, j := range to {
			switch c := costs[k]; {
			case math.IsInf(c, 1):
			case c-c != 0:
				return s, bad(fault.ErrCost, "cost[%d,%d] = %g: must be finite", i, j, c)
			default:
				if allowed++; w > 0 && b[j] > 0 {
					paired, partner[j] = true, true
					s.Min, s.Max, s.Mean, s.Mass = min(s.Min, c), max(s.Max, c), s.Mean+w*b[j]*c, s.Mass+w*b[j]
				}
			}
		}
		if !paired {
			return s, bad(fault.ErrInfeasible, "every pair of source %d is forbidden", i)
		}
	}
	for j, w := range b {
		if w > 0 && !partner[j] {
			return s, bad(fault.ErrInfeasible, "every pair of target %d is forbidden", j)
		}
	}
	s.Forbidden, s.Mean = allowed < len(a)*len(b), s.Mean/s.Mass
	if math.IsInf(s.Max-s.Min, 0) || math.IsInf(s.Mean, 0) {
		return s, bad(fault.ErrCost, "costs from %g to %g: their range must be finite", s.Min, s.Max)
	}
	return s, nil
}
