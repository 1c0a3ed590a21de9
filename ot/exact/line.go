package exact

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/internal/simplex"
)

// Line transports between weighted samples on the real line at cost |x−y|^P, P ≥ 1, by sorting. The
// zero value has P = 2.
//
// The value is W_P^P = ∫₀¹ |F⁻¹(u) − G⁻¹(u)|^P du times the mass, F⁻¹ and G⁻¹ the quantile
// functions (Santambrogio, "Optimal Transport for Applied Mathematicians", section 2.1). O(n log n
// + m log m) time, O(n + m) memory.
type Line struct {
	P float64 // exponent; 0 means 2
}

// Solve returns an optimal plan, with potentials and certificate, between Σ a_i δ(x_i) and Σ b_j
// δ(y_j); nil weights are uniform. Certificate.Infeasibility is computed in O((n+m) log n) from the
// monotonicity of the nearest violations.
func (l Line) Solve(ctx context.Context, x, a, y, b []float64) (*Plan, error) {
	if err := simplex.Cancelled(ctx, 0); err != nil {
		return nil, err
	}
	q, err := l.prepare(x, a, y, b)
	if err != nil {
		return nil, err
	}
	out := q.plan()
	var at ladder
	for s := range q.staircase() {
		at.climb(s, q.cost(s.i, s.j))
		out.F[q.orderX[s.i]], out.G[q.orderY[s.j]] = at.f.Hi, at.g.Hi
		q.add(out, s)
	}
	g := cost.MatrixFree(mat.NewDense(len(x), 1, x), mat.NewDense(len(y), 1, y), cost.Power(q.p))
	return q.certify(out, g, func(i, j int) float64 { return power(x[i]-y[j], q.p) }, 1, 0)
}

// A ladder makes potentials along a staircase, on which f_i + g_j = C_ij and each step changes one index: they are
// alternating sums of costs.
type ladder struct {
	f, g simplex.Wide
	i    int
}

// climb goes to stair s of cost c.
func (l *ladder) climb(s stair, c float64) {
	if s.i != l.i {
		l.f, l.i = l.g.Neg().Add(c), s.i
	} else {
		l.g = l.f.Neg().Add(c)
	}
}

// plan returns one without arcs.
func (q *quantile) plan() *Plan {
	return &Plan{A: q.a, B: q.b, F: make([]float64, len(q.x)), G: make([]float64, len(q.y)), Status: Optimal}
}

// add adds the arc of a stair.
func (q *quantile) add(p *Plan, s stair) {
	if w := q.Weight(s.flow); w > 0 {
		p.Arcs = append(p.Arcs, Arc{q.orderX[s.i], q.orderY[s.j], w})
	}
}

// certify returns p with its certificate for a geometry, whose costs are those to the nearest of so many laps.
func (q *quantile) certify(p *Plan, g cost.Geometry, at func(i, j int) float64, laps int,
	length float64) (*Plan, error) {
	sortArcs(p.Arcs)
	simplex.Centre(p.A, p.B, p.F, p.G)
	p.Geometry, p.Certificate = g, check(p.A, p.B, p.Arcs, p.F, p.G, at)
	for lap := range laps {
		shift := float64(lap-laps/2) * length
		p.Certificate.Infeasibility = max(p.Certificate.Infeasibility, largest(len(q.x), len(q.y),
			func(i, j int) float64 {
				return p.F[q.orderX[i]] + p.G[q.orderY[j]] - power(q.x[i]-q.y[j]-shift, q.p)
			}))
	}
	return p.valued()
}

// Value returns W_P^P alone, without storing the plan. W_P is its P-th root.
func (l Line) Value(x, a, y, b []float64) (float64, error) {
	q, err := l.prepare(x, a, y, b)
	if err != nil {
		return 0, err
	}
	var sum simplex.Wide
	if q.IsEven() {
		w := q.Weight(q.Supplies.A[0])
		for k := range q.x {
			sum = sum.Add(w * q.cost(k, k))
		}
		return sum.Hi, inRange(Certificate{Primal: sum.Hi})
	}
	for s := range q.staircase() {
		sum = sum.Add(q.Weight(s.flow) * q.cost(s.i, s.j))
	}
	return sum.Hi, inRange(Certificate{Primal: sum.Hi})
}

// A quantile is a prepared problem on the line.
type quantile struct {
	simplex.Supplies
	a, b           []float64
	x, y           []float64 // in increasing order
	orderX, orderY []int     // the user's index of each
	p              float64
}

func (l Line) prepare(x, a, y, b []float64) (*quantile, error) {
	q := &quantile{p: cmp.Or(l.P, 2)}
	if !(q.p >= 1) || math.IsInf(q.p, 1) {
		return nil, fmt.Errorf("ot/exact: P = %v: must be finite and at least 1: %w", l.P, ot.ErrCost)
	}
	var err error
	if q.x, q.orderX, err = sorted("x", x); err != nil {
		return nil, err
	}
	if q.y, q.orderY, err = sorted("y", y); err != nil {
		return nil, err
	}
	if q.a, err = simplex.Weights("a", a, len(x)); err != nil {
		return nil, err
	}
	if q.b, err = simplex.Weights("b", b, len(y)); err != nil {
		return nil, err
	}
	lo, hi := min(q.x[0], q.y[0]), max(q.x[len(x)-1], q.y[len(y)-1])
	if c := math.Pow(hi-lo, q.p); !(c <= math.MaxFloat64/8/float64(len(x)+len(y))) {
		return nil, fmt.Errorf("ot/exact: largest cost |%v − %v|^%v = %v: %w", hi, lo, q.p, c, ot.ErrCost)
	}
	q.Supplies, err = simplex.Quantise(q.a, q.b)
	return q, err
}

// A key is a number of a list, as an integer of the same order, and its place.
type key struct {
	bits uint64
	i    int
}

// sorted returns the points in increasing order and the index of each, equal points in the given order. They must be
// finite and at least one.
func sorted(name string, x []float64) (values []float64, order []int, err error) {
	if len(x) == 0 {
		return nil, nil, fmt.Errorf("ot/exact: len(%s) = 0: %w", name, ot.ErrShape)
	}
	keys, spare := make([]key, len(x)), make([]key, len(x))
	for i, v := range x {
		if v-v != 0 {
			return nil, nil, fmt.Errorf("ot/exact: %s[%d] = %v: must be finite: %w", name, i, v, ot.ErrCost)
		}
		b := math.Float64bits(v + 0) // −0 is 0
		keys[i] = key{b ^ (uint64(int64(b)>>63) | 1<<63), i}
	}
	// Few numbers differ in the lower half of their bits only, as a rule.
	keys, spare = radix(keys, spare, 64-3*digit)
	if !insertion(keys) {
		keys, _ = radix(keys, spare, 0)
	}
	values, order = make([]float64, len(x)), make([]int, len(x))
	for k, o := range keys {
		values[k], order[k] = x[o.i], o.i
	}
	return values, order, nil
}

// digit is the number of bits that radix looks at a time.
const digit = 11

// radix sorts by the bits from shift on, the lowest digit first, so that equal ones stay in order. It returns the
// sorted keys and the other array.
func radix(keys, next []key, shift int) (ordered, spare []key) {
	for ; shift < 64; shift += digit {
		var start [1 << digit]int // of the keys of each digit
		at := func(k key) *int { return &start[k.bits>>shift%(1<<digit)] }
		for _, k := range keys {
			*at(k)++
		}
		sum := 0
		for d, count := range start {
			start[d], sum = sum, sum+count
		}
		for _, k := range keys {
			p := at(k)
			next[*p] = k
			*p++
		}
		keys, next = next, keys
	}
	return keys, next
}

// insertion sorts keys that are nearly in order. It gives up after so many moves that radix is faster.
func insertion(keys []key) bool {
	left := 8 * len(keys)
	for i, k := range keys {
		j := i
		for ; j > 0 && keys[j-1].bits > k.bits; j-- {
			keys[j] = keys[j-1]
		}
		keys[j] = k
		if left -= i - j; left < 0 {
			return false
		}
	}
	return true
}

// cost returns |x_i − y_j|^p.
func (q *quantile) cost(i, j int) float64 { return power(q.x[i]-q.y[j], q.p) }

// power returns |d|^p.
func power(d, p float64) float64 {
	switch p {
	case 1:
		return math.Abs(d)
	case 2:
		return d * d
	default:
		return math.Pow(math.Abs(d), p)
	}
}

// A stair is an arc between the i-th smallest x and the j-th smallest y.
type stair struct {
	i, j int
	flow simplex.Mass
}

// inOrder is w in the given order.
func inOrder(w []simplex.Mass, order []int) []simplex.Mass {
	out := make([]simplex.Mass, len(w))
	for k, i := range order {
		out[k] = w[i]
	}
	return out
}

// staircase visits the north-west corner coupling of the sorted points: n+m−1 stairs from (0,0) to
// (n−1,m−1), each one index further, some of them without flow.
func (q *quantile) staircase() iter.Seq[stair] {
	return func(yield func(stair) bool) {
		n, m := len(q.x), len(q.y)
		a, b := inOrder(q.Supplies.A, q.orderX), inOrder(q.Supplies.B, q.orderY)
		i, j := 0, 0
		left, right := a[0], b[0]
		for {
			s := stair{i, j, left}
			if right.Less(left) {
				s.flow = right
			}
			if !yield(s) || i == n-1 && j == m-1 {
				return
			}
			left, right = left.Sub(s.flow), right.Sub(s.flow)
			if j == m-1 || i < n-1 && left.IsZero() {
				i++
				left = a[i]
			} else {
				j++
				right = b[j]
			}
		}
	}
}

// largest returns the largest of n×m values. Sorted, C is a Monge array, and remains one when a
// function of i and one of j are subtracted. So the column of the largest value of −C increases
// with the row, and divide and conquer finds it.
func largest(n, m int, value func(i, j int) float64) float64 {
	worst := math.Inf(-1)
	var search func(top, bottom, left, right int)
	search = func(top, bottom, left, right int) {
		if top > bottom {
			return
		}
		mid := (top + bottom) / 2
		at, best := left, math.Inf(-1)
		for k := left; k <= right; k++ {
			if v := value(mid, k); v > best {
				at, best = k, v
			}
		}
		worst = max(worst, best)
		search(top, mid-1, left, at)
		search(mid+1, bottom, at, right)
	}
	search(0, n-1, 0, m-1)
	return worst
}
