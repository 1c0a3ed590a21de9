package exact

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"coupling/ot"
	"coupling/ot/internal/simplex"
)

// Circle transports between weighted samples on a circle at cost d^P, P ≥ 1, where d is the
// distance along the shorter arc. The zero value has P = 2 and a circumference of 1.
//
// Some plan is optimal that couples, in the order of the circle, the mass from level u on with that
// from level u + α, and its cost is convex and piecewise linear in α (Delon, Salomon and Sobolevski
// 2010). A bisection by slopes over α, an integer of 128 bits, ends at the breakpoint that is
// optimal: O((n+m) log(nm)) time beside the sorting, as a rule.
type Circle struct {
	P      float64 // exponent; 0 means 2
	Length float64 // the circumference, in units of the samples; 0 means 1
}

// Solve returns an optimal plan, with potentials and certificate, between Σ a_i δ(x_i) and Σ b_j
// δ(y_j), all taken modulo Length; nil weights are uniform.
func (o Circle) Solve(ctx context.Context, x, a, y, b []float64) (*Plan, error) {
	length := cmp.Or(o.Length, 1)
	if !(length > 0) || math.IsInf(length, 1) {
		return nil, fmt.Errorf("ot/exact: Length = %v: must be positive and finite (0 is 1): %w", o.Length,
			ot.ErrParameter)
	}
	q, err := Line{P: o.P}.prepare(wrap(x, length), a, wrap(y, length), b)
	if err != nil {
		return nil, err
	}
	r := &rotation{quantile: q, length: length}
	for _, w := range q.Supplies.A {
		r.total = r.total.Add(w)
	}
	at, err := r.optimum(ctx)
	if err != nil {
		return nil, err
	}
	out := q.plan()
	r.potentials(at, out)
	r.couple(at, false, func(s stair, _ int) { q.add(out, s) })
	c := circular{wrap(x, length), wrap(y, length), q.p, length}
	return q.certify(out, c, c.at, 3, length)
}

// wrap returns positions modulo the length, from −length/2 to length/2, where they are exact.
func wrap(v []float64, length float64) []float64 {
	out := make([]float64, len(v))
	for i, z := range v {
		out[i] = math.Remainder(z, length)
	}
	return out
}

// circular is the cost along the shorter arc.
type circular struct {
	x, y      []float64
	p, length float64
}

// Dims returns the numbers of samples.
func (g circular) Dims() (n, m int) { return len(g.x), len(g.y) }

func (g circular) at(i, j int) float64 {
	d := math.Abs(g.x[i] - g.y[j])
	return power(min(d, g.length-d), g.p)
}

// Row fills buf with the costs of source i.
func (g circular) Row(i int, buf []float64) []float64 {
	for j := range buf {
		buf[j] = g.at(i, j)
	}
	return buf
}

// rotation is a problem on the circle.
type rotation struct {
	*quantile
	length float64
	total  simplex.Mass
}

// optimum returns the least α + total, α from −total to total, from which on the cost does not fall.
func (r *rotation) optimum(ctx context.Context) (simplex.Mass, error) {
	lo, hi := simplex.Mass{}, r.total.Add(r.total)
	for k := 0; lo.Less(hi); k++ {
		if err := simplex.Cancelled(ctx, 0); err != nil {
			return lo, err
		}
		at := lo // which may be where the slope changes its sign
		if k%2 > 0 {
			at = lo.Add(hi.Sub(lo).Half())
		}
		if slope, room := r.couple(at, false, func(stair, int) {}); slope < 0 {
			lo = at.Add(room)
		} else {
			hi = at
		}
	}
	return lo, nil
}

// couple visits the stairs at α + total = at, with the laps by which targets are further than sources,
// and returns the slope of the cost to the right of α and the distance to where it changes: the ends
// of targets, which move down as α rises, meet an end of a source there. Where a target and a source
// end together, the target goes first, or, if left, the source: then the slope is that to the left.
func (r *rotation) couple(at simplex.Mass, left bool, visit func(s stair, lap int)) (slope float64, room simplex.Mass) {
	// passes reports whether of two ends that of mass w comes first.
	passes := func(w, other simplex.Mass) bool { return w.Less(other) || left && w == other }
	n, m := len(r.x), len(r.y)
	i, j, lap := 0, 0, -2
	for at = at.Add(r.total); !passes(at, r.total); lap++ {
		at = at.Sub(r.total)
	}
	source := func() simplex.Mass { return r.Supplies.A[r.orderX[i]] }
	target := func() simplex.Mass { return r.Supplies.B[r.orderY[j]] }
	for ; !passes(at, target()); j++ {
		at = at.Sub(target())
	}
	var sum simplex.Wide
	a, b, now := source(), target().Sub(at), r.at(0, j, lap)
	room = r.total
	for fresh := true; ; { // fresh: the stair begins with its source
		if passes(a, b) {
			visit(stair{i, j, a}, lap)
			b, fresh = b.Sub(a), true
			if i++; i == n {
				return sum.Hi, room
			}
			a, now = source(), r.at(i, j, lap)
			continue
		}
		visit(stair{i, j, b}, lap)
		if fresh && b.Less(room) {
			room = b
		}
		a, fresh = a.Sub(b), false
		if j++; j == m {
			j, lap = 0, lap+1
		}
		sum, b = sum.Add(-now), target()
		now = r.at(i, j, lap)
		sum = sum.Add(now)
	}
}

// at returns |x_i − y_j − lap·Length|^p.
func (r *rotation) at(i, j, lap int) float64 {
	return power(r.x[i]-r.y[j]-float64(lap)*r.length, r.p)
}

// potentials sets those of the optimal coupling. Along the stairs to the right of α, repeated from
// lap to lap, f + g = C, and f + g ≤ C elsewhere, but each lap adds the slope to g. The same holds
// for the stairs to the left, and a mean of the two has no slope.
func (r *rotation) potentials(at simplex.Mass, p *Plan) {
	right, _ := r.couple(at, false, func(stair, int) {})
	before, _ := r.couple(at, true, func(stair, int) {})
	share := 1.
	if right > 0 && before < 0 {
		share = before / (before - right)
	}
	for _, side := range []struct {
		left         bool
		share, slope float64
	}{{false, share, right}, {true, 1 - share, before}} {
		f, g := make([]float64, len(p.F)), make([]float64, len(p.G))
		var l ladder
		r.couple(at, side.left, func(s stair, lap int) {
			l.climb(s, r.at(s.i, s.j, lap))
			f[r.orderX[s.i]], g[r.orderY[s.j]] = l.f.Hi, l.g.Hi-float64(lap)*side.slope
		})
		floats.AddScaled(p.F, side.share, f)
		floats.AddScaled(p.G, side.share, g)
	}
}
