package freg

import (
	"math"
	"slices"

	"coupling/ot"
	"coupling/ot/internal/rows"
)

// instance is a checked problem without its atoms of weight zero: n×m counts the remaining ones.
type instance struct {
	g          ot.Geometry
	rows, cols []int     // the sources and targets of g that remain
	packed     bool      // some target was left out
	a, b       []float64 // normalised, all positive
	full       struct{ a, b []float64 }
	min, max   float64 // of the costs that are left
	mean       float64 // Σ a_i b_j c_ij over the finite ones of them
	share      float64 // Σ a_i b_j over these
	forbidden  bool    // some are +Inf
	u, v       []float64
}

// check validates p and drops atoms without weight; one pass over the costs.
func check(p ot.Problem) (*instance, error) {
	if err := ot.Check(p.Geometry); err != nil {
		return nil, err
	}
	n, m := p.Geometry.Dims()
	a, sa, err := weights("Problem.A", p.A, n, "sources")
	if err != nil {
		return nil, err
	}
	b, sb, err := weights("Problem.B", p.B, m, "targets")
	if err != nil {
		return nil, err
	}
	if p.A != nil && p.B != nil && math.Abs(sa-sb) > rows.MassTolerance*max(sa, sb) {
		return nil, bad(ot.ErrWeights, "Problem.B sums to %g and Problem.A to %g: must be equal", sb, sa)
	}
	in := &instance{g: p.Geometry}
	in.full.a, in.full.b = a, b
	in.rows, in.a = positive(a)
	in.cols, in.b = positive(b)
	in.packed = len(in.b) < m
	return in, in.scan(n, m)
}

// largest is the size of costs and of λ up to which their sums and quotients are finite.
const largest = 1e300

// weights returns w divided by its sum, uniform for nil, and the sum; weights below leastWeight are 0.
func weights(name string, w []float64, n int, of string) ([]float64, float64, error) {
	out, total, err := rows.Weights(name, w, n, of, bad)
	for i, v := range out {
		if v < leastWeight {
			out[i] = 0
		}
	}
	return out, total, err
}

// leastWeight is the share of the mass below which an atom counts as weightless: densities reach
// the inverse of a weight, and the square of one must be finite.
const leastWeight = 1e-150

// positive returns the indices and values of the positive weights.
func positive(w []float64) (idx []int, val []float64) {
	for i, v := range w {
		if v > 0 {
			idx, val = append(idx, i), append(val, v)
		}
	}
	return idx, val
}

// scan looks at every cost once: all must be finite, or +Inf for pairs that are forbidden.
func (in *instance) scan(n, m int) error {
	in.min, in.max = math.Inf(1), math.Inf(-1)
	buf, pack, partner := make([]float64, m), make([]float64, len(in.b)), make([]bool, len(in.b))
	var mean, share rows.Sum
	next := 0 // of in.rows
	for i := range n {
		for j, v := range in.g.Row(i, buf) {
			if math.IsNaN(v) || math.IsInf(v, -1) {
				return bad(ot.ErrCost, "cost[%d,%d] = %g: must be finite, or +Inf to forbid the pair", i, j, v)
			}
		}
		if next == len(in.rows) || in.rows[next] != i {
			continue
		}
		var sum, mass float64
		for j, v := range in.costs(next, buf, pack) {
			if math.IsInf(v, 1) {
				in.forbidden = true
				continue
			}
			in.min, in.max, partner[j] = min(in.min, v), max(in.max, v), true
			sum, mass = sum+in.b[j]*v, mass+in.b[j]
		}
		if mass == 0 {
			return bad(ot.ErrInfeasible, "every pair of source %d is forbidden", i)
		}
		mean.Add(in.a[next] * sum)
		share.Add(in.a[next] * mass)
		next++
	}
	if j := slices.Index(partner, false); j >= 0 {
		return bad(ot.ErrInfeasible, "every pair of target %d is forbidden", in.cols[j])
	}
	in.mean, in.share = mean.Value(), share.Value()
	if !(in.max <= largest && in.min >= -largest) {
		return bad(ot.ErrCost, "costs from %g to %g: must be at most %g in size", in.min, in.max, largest)
	}
	return nil
}

// costs returns row i of the costs between the remaining atoms, less the base potentials if there
// are any. full is scratch for a row of the geometry and pack for a row of the instance.
func (in *instance) costs(i int, full, pack []float64) []float64 {
	c := in.pack(in.g.Row(in.rows[i], full), pack)
	if in.u != nil {
		rows.Reduce(pack, c, in.u[i], in.v)
		c = pack
	}
	return c
}

// compact is the instance as a cost for one goroutine.
type compact struct {
	*instance
	full []float64
}

func (c compact) Dims() (n, m int)                   { return len(c.a), len(c.b) }
func (c compact) Row(i int, buf []float64) []float64 { return c.costs(i, c.full, buf) }

// pack drops the entries of targets without weight.
func (in *instance) pack(c, dst []float64) []float64 {
	if !in.packed {
		return c
	}
	for l, j := range in.cols {
		dst[l] = c[j]
	}
	return dst
}

// spread is the scale on which costs differ: above it λ leaves the plan close to a⊗b.
func (in *instance) spread() float64 { return in.mean/in.share - in.min }

// rebase adds potentials to the base that is subtracted from costs. Where costs are many orders of
// magnitude above λ, float64 potentials are too coarse for the marginals; pairs that carry mass
// have small reduced costs, and the potentials of those are small too.
func (in *instance) rebase(phi, psi []float64) {
	if in.u == nil {
		in.u, in.v = make([]float64, len(in.a)), make([]float64, len(in.b))
	}
	// New slices: plans and passes may hold the old ones.
	u, v := make([]float64, len(in.a)), make([]float64, len(in.b))
	for i := range u {
		u[i] = in.u[i] + phi[i]
	}
	for j := range v {
		v[j] = in.v[j] + psi[j]
	}
	in.u, in.v = u, v
}
