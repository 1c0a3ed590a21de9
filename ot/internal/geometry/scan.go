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

// noCosts are the statistics of no pair.
var noCosts = Stats{Min: math.Inf(1), Max: math.Inf(-1)}

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
	pairs int // that are not forbidden
	fault int // 1 + the first row with a cost that is not finite, nor forbids its pair
}

// arcs returns the costs of source i and their targets, those that g lists; nil for all.
func arcs(g Geometry, i int, buf []float64) (targets []int32, costs []float64) {
	if l, ok := g.(Listed); ok {
		return l.Arcs(i)
	}
	return nil, g.Row(i, buf)
}

// target returns the k-th target of a row.
func target(targets []int32, k int) int {
	if targets == nil {
		return k
	}
	return int(targets[k])
}

// Scan reads every cost once, of the pairs that g lists where it does. Weights sum to 1; bad makes the errors for
// costs that are NaN or −Inf, for ranges that overflow (ErrCost), and for atoms whose pairs are all forbidden
// (ErrInfeasible). It goes over the sources by sw, with a vector of scratch, as long as b, for each goroutine.
func Scan[W any](g Geometry, a, b []float64, sw *rows.Sweep[W], scratch func(w W) []float64,
	bad newError) (Stats, error) {
	parts := make([]part, len(sw.Spans))
	mask := sw.Room(len(b)) // −Inf where the target has no weight, else 0
	for j, v := range b {
		if mask[j] = 0; v == 0 {
			mask[j] = math.Inf(-1)
		}
	}
	_, listed := g.(Listed)
	forbid := mayForbid(g)
	sw.Each(func(w W, k int, s rows.Span) {
		costs := scratch(w)
		p := part{Stats: noCosts}
		for i := s.Lo; i < s.Hi; i++ {
			to, c := arcs(g, i, costs)
			q := part{pairs: len(b)}
			if !listed {
				// NaN and infinities reach the mean, also through a weight of 0.
				q.Stats = Stats{Min: -kern.RowMax(mask, c, 1), Max: kern.RowMax(mask, c, -1), Mean: dot(b, c), Mass: 1}
			}
			if listed || q.Mean-q.Mean != 0 && forbid {
				q = allowed(to, c, b)
			}
			p.pairs += q.pairs
			if q.Mean-q.Mean != 0 && p.fault == 0 {
				p.fault = i + 1
			}
			if a[i] == 0 || q.Mass == 0 {
				continue
			}
			p.Min, p.Max = min(p.Min, q.Min), max(p.Max, q.Max)
			p.Mean, p.Mass = p.Mean+a[i]*q.Mean, p.Mass+a[i]*q.Mass
		}
		parts[k] = p
	})
	return join(g, a, b, parts, bad)
}

// join adds up what spans have and checks the sum.
func join(g Geometry, a, b []float64, parts []part, bad newError) (Stats, error) {
	s := part{Stats: noCosts}
	for _, p := range parts {
		if p.fault > 0 {
			return s.Stats, faultOf(g, p.fault-1, len(b), bad)
		}
		s.Min, s.Max, s.Mean, s.Mass = min(s.Min, p.Min), max(s.Max, p.Max), s.Mean+p.Mean, s.Mass+p.Mass
		s.pairs += p.pairs
	}
	if s.Forbidden = s.pairs < len(a)*len(b); !s.Forbidden {
		s.Mass = 1
	} else if err := partners(g, a, b, bad); err != nil {
		return s.Stats, err
	}
	s.Mean /= s.Mass
	if math.IsInf(s.Max-s.Min, 0) || math.IsInf(s.Mean, 0) {
		return s.Stats, bad(fault.ErrCost, "costs from %g to %g: their range must be finite", s.Min, s.Max)
	}
	return s.Stats, nil
}

// faultOf returns the error for row i.
func faultOf(g Geometry, i, m int, bad newError) error {
	to, c := arcs(g, i, make([]float64, m))
	for k, v := range c {
		if v-v != 0 && !(math.IsInf(v, 1) && mayForbid(g)) {
			return bad(fault.ErrCost, "cost[%d,%d] = %g: must be finite", i, target(to, k), v)
		}
	}
	return bad(fault.ErrCost, "costs of source %d: their mean must be finite", i)
}

// allowed is the part of a row's pairs that are not forbidden, with the sums of b·c and of b. NaN and −Inf make the
// first NaN.
func allowed(to []int32, c, b []float64) part {
	p := part{Stats: noCosts}
	for k, v := range c {
		if math.IsInf(v, 1) {
			continue
		}
		w := b[target(to, k)]
		if v-v != 0 {
			v = math.NaN()
		} else if w > 0 {
			p.Min, p.Max = min(p.Min, v), max(p.Max, v)
		}
		p.Mean, p.Mass, p.pairs = p.Mean+w*v, p.Mass+w, p.pairs+1
	}
	return p
}

// partners returns an error for an atom of positive weight whose pairs are all forbidden.
func partners(g Geometry, a, b []float64, bad newError) error {
	partner, buf := make([]bool, len(b)), make([]float64, len(b))
	for i, w := range a {
		paired := w == 0
		to, c := arcs(g, i, buf)
		for k, v := range c {
			if j := target(to, k); w > 0 && b[j] > 0 && !math.IsInf(v, 1) {
				paired, partner[j] = true, true
			}
		}
		if !paired {
			return bad(fault.ErrInfeasible, "every pair of source %d is forbidden", i)
		}
	}
	for j, w := range b {
		if w > 0 && !partner[j] {
			return bad(fault.ErrInfeasible, "every pair of target %d is forbidden", j)
		}
	}
	return nil
}
