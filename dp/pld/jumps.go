package pld

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

const (
	// mostJumps is how many rare large ratios are told apart among those combined, worthJumps the
	// number of ratios from which that is done, and jumpsExpected about how many of all may be large for
	// more than mostJumps to be negligible: see split.
	mostJumps     = 8
	worthJumps    = 64
	jumpsExpected = .03
)

// A fineness is the numbers of cells of grids: of powers of a law without its rare large ratios, of
// these ratios, and of the last two combinations of both, which move all mass twice. Rare large ratios may decide, and
// then few cells of bulk serve.
type fineness struct{ bulk, jumps, last int }

// power combines a ratio with itself, times ≥ 1 in all, and returns a bound of the sum of all κ by which
// combine rounds masses: three for each ratio of the bulk, since it passes to a coarser grid, to
// another if it is added late, and is combined; and for the large ones four for each of K levels, and two.
// The error is ErrRange where ratios are too large.
//
// Doubling moves mass on a grid each time, and with it all of a heavy tail. Large ratios are
// therefore told apart where they are rare. Let the law be B + J, J of the large values, K =
// mostJumps and T = times. T ratios combined have the law
//
//	Σ_j C(T, j) J^j B^(T−j) = B^(T−K) · Σ_{j≤K} C(T, j) J^j B^(K−j) + that of more than K large ones.
//
// Only B is doubled. The sum is Horner's, M_i = B^i + (T−K+i)/(K−i+1)·J·M_(i−1), and but for its
// last step few cells serve. All of it is sums and products of positive numbers, so that combine's
// order holds. What more than K large ratios add is negligible: see split. The lower law lacks it,
// and the upper one has it at its ends.
func (o operation) power(one bracket, times int, by fineness) (all bracket, rounding float64, err error) {
	bulk, jump, rest, ok := o.split(one, times)
	if !ok {
		bulk = one
	}
	rounding = 3 * float64(times) * roundingOf(max(bulk.points(), by.bulk+4))
	if !ok {
		all, err = o.doubled(o.coarse(one, by.bulk), times, by.bulk)
		return all, rounding, err
	}
	rounding += (4*mostJumps + 2) * roundingOf(max(one.points(), by.bulk+4, 2*by.last))
	most, err := o.doubled(o.coarse(bulk, by.bulk), times-mostJumps, by.bulk)
	if err != nil {
		return most, rounding, err
	}
	few := by.jumps / 4
	bulk, some := o.coarse(bulk, few), o.coarse(jump, few)
	last, mixed := bulk, bulk.plus(some, float64(times-mostJumps+1)/mostJumps)
	for i := 2; i <= mostJumps; i++ {
		last = o.combine(bulk, last, few)
		if i == mostJumps {
			some, few = jump, by.last
		}
		mixed = last.plus(o.combine(mixed, some, few), float64(times-mostJumps+i)/float64(mostJumps-i+1))
	}
	all = o.combine(most, mixed, by.last)
	all.over = all.over.plus(law{x: []float64{all.over.least}, q: []float64{rest.mass}, far: rest.mean,
		least: all.over.least, most: all.over.most}, 1)
	return all, rounding, nil
}

// points is the larger number of points of the two laws.
func (b bracket) points() int { return max(len(b.over.x), len(b.under.x)) }

// doubled is power by squares. A ratio that is added when bits are left is there so many times in the end, and
// needs as many cells as add a quarter of the variance that one doubling of all adds.
func (o operation) doubled(one bracket, times, n int) (bracket, error) {
	all := one
	for bit := 1 << bits.Len(uint(times)) >> 2; bit > 0; bit >>= 1 {
		all = o.combine(all, all, n)
		if times&bit != 0 && all.inRange() {
			few := int(2 * float64(n) * math.Sqrt(float64(bit)/float64(times)))
			all = o.combine(o.coarse(one, max(leastSlots, min(n, few))), all, n)
		}
		if !all.inRange() {
			return all, fmt.Errorf("pld: losses beyond %d: %w", largestLog, ErrRange)
		}
	}
	return all, nil
}

// A remainder is what is left out of a law: mass and mean.
type remainder struct{ mass, mean float64 }

// split tells large ratios apart, as many as leave no more than negligibleMass, of Q and of P, to more
// than mostJumps of times. With q and m the mass and the mean of the large ones and N their number, of T,
//
//	P(N > K) ≤ (Tq)^(K+1)/(K+1)!,   E[M; N > K] ≤ (Tm)^(K+1)/(K+1)! for products, and
//	E[M; N > K] ≤ T·(m·(Tq)^K/K! + (Tq)^(K+1)/(K+1)!) for sums,
//
// of ratios with mass and mean one. It is false for few ratios, and for bounded ones, whose largest sum
// is known.
func (o operation) split(one bracket, times int) (bulk, jump bracket, rest remainder, ok bool) {
	x, mass, t := one.over.x, one.over.q, float64(times)
	if times < worthJumps || !math.IsInf(one.over.most, 1) {
		return bulk, jump, rest, false
	}
	lost := func(q, m float64) remainder {
		few, more := 1.0, 1.0 // (Tq)^K/K! and (Tm)^(K+1)/(K+1)!
		for k := 1.0; k <= mostJumps; k++ {
			few *= t * q / k
			more *= t * m / k
		}
		r := remainder{few * t * q / (mostJumps + 1), more * t * m / (mostJumps + 1)}
		if o == sum {
			r.mean = t * (m*few + r.mass)
		}
		return r
	}
	q, m, scale := 0.0, one.over.far, 1.0
	if o == sum {
		scale = t
	}
	i := len(x)
	for ; i > 0; i-- {
		r := lost(q+mass[i-1], m+mass[i-1]*x[i-1])
		if !(r.mass <= negligibleMass/2 && r.mean <= scale*negligibleMass/2) {
			break
		}
		q, m, rest = q+mass[i-1], m+mass[i-1]*x[i-1], r
	}
	if i == 0 || i == len(x) {
		return bulk, jump, rest, false
	}
	rest.mass, rest.mean = 2*rest.mass, 2*rest.mean // mass and mean are one but for rounding
	bulk.over, jump.over = one.over.cut(x[i-1])
	bulk.under, jump.under = one.under.cut(x[i-1])
	return bulk, jump, rest, len(bulk.under.x) > 0 && len(jump.under.x) > 0
}

// cut is the law up to a value, and that beyond.
func (l law) cut(at float64) (low, high law) {
	i, found := slices.BinarySearch(l.x, at)
	if found {
		i++
	}
	return law{x: l.x[:i], q: l.q[:i], least: l.least, most: l.most},
		law{x: l.x[i:], q: l.q[i:], far: l.far, least: at, most: l.most}
}

// plus adds a multiple of another law.
func (l law) plus(o law, factor float64) law {
	out := law{far: l.far + factor*o.far, least: min(l.least, o.least), most: max(l.most, o.most)}
	for i, j := 0, 0; i < len(l.x) || j < len(o.x); {
		if j == len(o.x) || i < len(l.x) && l.x[i] <= o.x[j] {
			out.add(l.x[i], l.q[i])
			i++
		} else {
			out.add(o.x[j], factor*o.q[j])
			j++
		}
	}
	return out
}

func (b bracket) plus(o bracket, factor float64) bracket {
	return bracket{b.over.plus(o.over, factor), b.under.plus(o.under, factor)}
}

// coarse brings laws of many points to a grid of n cells.
func (o operation) coarse(b bracket, n int) bracket {
	if b.points() <= n {
		return b
	}
	neutral := float64(o) // 0 for sums, 1 for products
	one := law{x: []float64{neutral}, q: []float64{1}, least: neutral, most: neutral}
	return o.combine(b, bracket{one, one}, n)
}
