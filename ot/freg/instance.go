package freg

import (
	"math"

	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/rows"
)

// instance is a checked problem without its atoms of weight zero: n×m counts the remaining ones.
type instance struct {
	g          cost.Geometry
	rows, cols []int     // the sources and targets of g that remain
	packed     bool      // some target was left out
	a, b       []float64 // normalised, all positive
	full       struct{ a, b []float64 }
	cost       geometry.Stats
	u, v       []float64
}

// check validates p and drops atoms without weight; one pass over the costs.
func check(p ot.Problem, workers int) (*instance, error) {
	if err := cost.Check(p.Geometry); err != nil {
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
	sw := rows.NewSweep(n, m, workers, func() []float64 { return make([]float64, m) })
	scratch := func(w []float64) []float64 { return w }
	if in.cost, err = geometry.Scan(p.Geometry, in.full.a, in.full.b, sw, scratch, bad); err != nil {
		return nil, err
	}
	if !(in.cost.Max <= largest && in.cost.Min >= -largest) {
		return nil, bad(ot.ErrCost, "costs from %g to %g: must be at most %g in size", in.cost.Min,
			in.cost.Max, largest)
	}
	return in, nil
}

// largest is the size of costs and of λ up to which their sums and quotients are finite.
const largest = 1e300

// weights returns w divided by its sum, uniform for nil, and the sum; weights below leastWeight are 0.
func weights(name string, w []float64, n int, of string) ([]float64, float64, error) {
	out, total, err := rows.Weights(make([]float64, n), name, w, of, bad)
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
