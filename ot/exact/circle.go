package exact

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

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
	r, err := o.prepare(x, a, y, b)
	if err != nil {
		return nil, err
	}
	slope, err := r.rotate(ctx)
	if err != nil {
		return nil, err
	}
	out := &Plan{
		Geometry: circular{r.from.inOrder(len(x)), r.to.inOrder(len(y)), r.p, r.length},
		A:        r.weights[0],
		B:        r.weights[1],
		F:        make([]float64, len(x)),
		G:        make([]float64, len(y)),
		Status:   Optimal,
	}
	r.potentials(slope, out.F, out.G)
	for _, s := range r.stairs {
		if w := r.Weight(s.flow); w > 0 {
			out.Arcs = append(out.Arcs, Arc{r.from.index[s.i], r.to.index[s.j], w})
		}
	}
	sortArcs(out.Arcs)
	simplex.Centre(out.A, out.B, out.F, out.G)
	at := out.Geometry.(circular).at
	out.Certificate = check(out.A, out.B, out.Arcs, out.F, out.G, at)
	for _, rows := range r.from.parts() {
		for _, columns := range r.to.parts() {
			r.maxima(rows, columns, func(i, j int) float64 { return out.F[i] + out.G[j] }, func(_ int, most float64) {
				out.Certificate.Infeasibility = max(out.Certificate.Infeasibility, most)
			})
		}
	}
	out.Value = out.Certificate.Primal
	return out, inRange(out.Certificate)
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

// rotation is a problem on the circle, and its coupling at one α.
type rotation struct {
	simplex.Supplies
	from, to  arcs
	weights   [2][]float64
	p, length float64
	total     simplex.Mass
	stairs    []turn
}

// arcs are samples in the order of the circle, those with mass before those without.
type arcs struct {
	at    []float64
	index []int // the user's
	mass  []simplex.Mass
}

// inOrder returns the positions in the user's order.
func (s arcs) inOrder(n int) []float64 {
	out := make([]float64, n)
	for k, i := range s.index {
		out[i] = s.at[k]
	}
	return out
}

// parts returns the samples with mass and those without.
func (s arcs) parts() [2]arcs {
	n := len(s.mass)
	return [2]arcs{{at: s.at[:n], index: s.index[:n]}, {at: s.at[n:], index: s.index[n:]}}
}

// A turn is a stair whose target is so many laps further than its source.
type turn struct {
	stair
	lap int
}

func (o Circle) prepare(x, a, y, b []float64) (*rotation, error) {
	r := &rotation{length: cmp.Or(o.Length, 1)}
	if !(r.length > 0) || math.IsInf(r.length, 1) {
		return nil, fmt.Errorf("ot/exact: Length = %v: must be positive and finite (0 is 1): %w", o.Length,
			ot.ErrParameter)
	}
	q, err := Line{P: o.P}.prepare(r.wrap(x), a, r.wrap(y), b)
	if err != nil {
		return nil, err
	}
	r.Supplies, r.p, r.weights = q.Supplies, q.p, [2][]float64{q.a, q.b}
	r.from, r.to = collect(q.x, q.orderX, q.A), collect(q.y, q.orderY, q.B)
	for _, w := range r.from.mass {
		r.total = r.total.Add(w)
	}
	return r, nil
}

// wrap returns positions modulo the length.
func (r *rotation) wrap(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, z := range v {
		if out[i] = math.Mod(z, r.length); out[i] < 0 {
			out[i] += r.length
		}
	}
	return out
}

// collect returns the samples, those with mass first.
func collect(at []float64, index []int, mass []simplex.Mass) arcs {
	var s arcs
	for _, wanted := range []bool{false, true} {
		for k, i := range index {
			if mass[i].IsZero() != wanted {
				continue
			}
			s.at, s.index = append(s.at, at[k]), append(s.index, i)
			if !wanted {
				s.mass = append(s.mass, mass[i])
			}
		}
	}
	return s
}

// cost returns |x_i − y_j − lap·Length|^p.
func (r *rotation) cost(i, j, lap int) float64 {
	return power(r.from.at[i]-r.to.at[j]-float64(lap)*r.length, r.p)
}

// A line is a tangent of the cost as a function of α.
type line struct {
	at           simplex.Mass // α + total
	value, slope float64      // at it; the slope is that to the right
}

// rotate leaves the coupling at the least α from −total on at which the cost does not fall, and
// returns its slope.
func (r *rotation) rotate(ctx context.Context) (slope float64, err error) {
	low, _ := r.couple(simplex.Mass{})
	high, _ := r.couple(r.total.Add(r.total))
	lo, hi := simplex.Mass{}, high.at
	for k := 0; ; k++ {
		if err := simplex.Cancelled(ctx, 0); err != nil {
			return 0, err
		}
		at := lo // which may be where the slope changes its sign
		switch k % 3 {
		case 1: // where the tangents meet
			width := r.Weight(high.at.Sub(low.at))
			share := (high.value - low.value - high.slope*width) / (low.slope - high.slope) / width
			at = low.at.Add(high.at.Sub(low.at).Times(share))
			if at.Less(lo) || hi.Less(at) {
				continue
			}
		case 2:
			at = lo.Add(hi.Sub(lo).Half())
		}
		l, room := r.couple(at)
		switch {
		case l.slope < 0:
			low = l
			if lo = at.Add(room); hi.Less(lo) { // a slope of 0, rounded
				hi = lo
			}
		case at == lo:
			return l.slope, nil
		default:
			high, hi = l, at
		}
	}
}

// couple sets the stairs at α + total = at, and returns the tangent there and the distance to where
// the slope changes: the ends of targets, which move down as α rises, meet an end of a source
// there.
func (r *rotation) couple(at simplex.Mass) (l line, room simplex.Mass) {
	i, j, lap := 0, 0, -1
	for l.at = at; !at.Less(r.total); lap++ {
		at = at.Sub(r.total)
	}
	for ; !at.Less(r.to.mass[j]); j++ {
		at = at.Sub(r.to.mass[j])
	}
	left, right, now := r.from.mass[0], r.to.mass[j].Sub(at), r.cost(0, j, lap)
	var slope simplex.Wide
	room, r.stairs = r.total, r.stairs[:0]
	for fresh := true; ; { // fresh: the stair begins with its source
		if left.Less(right) {
			r.stairs = append(r.stairs, turn{stair{i, j, left}, lap})
			l.value += now * r.Weight(left)
			right, fresh = right.Sub(left), true
			if i++; i == len(r.from.mass) {
				l.slope = slope.Hi
				return l, room
			}
			left, now = r.from.mass[i], r.cost(i, j, lap)
			continue
		}
		r.stairs = append(r.stairs, turn{stair{i, j, right}, lap})
		l.value += now * r.Weight(right)
		if fresh && right.Less(room) {
			room = right
		}
		left, fresh = left.Sub(right), false
		if j++; j == len(r.to.mass) {
			j, lap = 0, lap+1
		}
		slope, right = slope.Add(-now), r.to.mass[j]
		now = r.cost(i, j, lap)
		slope = slope.Add(now)
	}
}

// potentials sets those of an optimal coupling, in which a source and a target end together: a
// corner of the stairs without flow. The stairs are a cycle. Where they pass below a corner and not
// above it, the slope is less, and it is at most 0 where they pass below all; so at some corner it
// passes 0, and there the cycle is cut.
func (r *rotation) potentials(slope float64, f, g []float64) {
	cut := -1
	chain := slices.Clone(r.stairs)
	for k, s := range r.stairs {
		if !s.flow.IsZero() {
			continue
		}
		before, below := r.stairs[k-1], turn{stair{i: s.i + 1}, s.lap}
		if below.i == len(r.from.mass) {
			below.i, below.lap = 0, s.lap-1
		}
		slope += r.cost(below.i, s.j, below.lap) - r.cost(s.i, s.j, s.lap)
		below.j, below.lap = before.j, below.lap+before.lap-s.lap
		slope += r.cost(s.i, before.j, before.lap) - r.cost(below.i, below.j, below.lap)
		if cut = k; slope <= 0 {
			break
		}
		chain[k] = below
	}
	var u, v simplex.Wide
	last := turn{stair{i: simplex.None, j: simplex.None}, 0}
	for k := range chain[1:] {
		s := chain[(cut+1+k)%len(chain)]
		c := r.cost(s.i, s.j, s.lap)
		switch {
		case last.i == simplex.None:
			v = simplex.Wide{}.Add(c)
		case s.i != last.i:
			u = v.Neg().Add(c)
		default:
			v = u.Neg().Add(c)
		}
		f[r.from.index[s.i]], g[r.to.index[s.j]], last = u.Hi, v.Hi, s
	}
	r.complete(f, g)
}

// complete sets the potentials of samples without mass as large as they can be.
func (r *rotation) complete(f, g []float64) {
	from, to := r.from.parts(), r.to.parts()
	r.maxima(from[1], to[0], func(_, j int) float64 { return g[j] }, func(i int, most float64) { f[i] = -most })
	for _, j := range to[1].index {
		g[j] = math.Inf(1)
	}
	for _, sources := range from {
		at := func(_, i int) float64 { return f[i] }
		r.maxima(to[1], sources, at, func(j int, most float64) { g[j] = min(g[j], -most) })
	}
}

// maxima visits the largest value less the cost of each row, by the user's indices.
func (r *rotation) maxima(rows, columns arcs, value func(i, j int) float64, visit func(i int, most float64)) {
	m := len(columns.at)
	if m == 0 {
		return
	}
	maxima(len(rows.at), 3*m, func(i, k int) float64 {
		lifted := columns.at[k%m] + float64(k/m-1)*r.length
		return value(rows.index[i], columns.index[k%m]) - power(rows.at[i]-lifted, r.p)
	}, func(i int, most float64) { visit(rows.index[i], most) })
}
