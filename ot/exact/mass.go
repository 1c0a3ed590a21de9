package exact

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// mass is an unsigned 128-bit integer: an amount of mass in units so small that rounding a float64
// weight to them is negligible. Sums and differences of masses are exact, so the flows of the
// simplex do not drift, it cannot cycle, and it never takes rounding for mass.
type mass struct{ hi, lo uint64 }

func (x mass) add(y mass) mass {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	hi, _ := bits.Add64(x.hi, y.hi, carry)
	return mass{hi, lo}
}

func (x mass) sub(y mass) mass {
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	hi, _ := bits.Sub64(x.hi, y.hi, borrow)
	return mass{hi, lo}
}

func (x mass) less(y mass) bool { return x.hi < y.hi || x.hi == y.hi && x.lo < y.lo }

func (x mass) isZero() bool { return x.hi|x.lo == 0 }

// shr returns x >> n, for 0 < n < 64.
func (x mass) shr(n uint) mass { return mass{x.hi >> n, x.lo>>n | x.hi<<(64-n)} }

// shl returns x << n, for n < 64.
func (x mass) shl(n uint) mass { return mass{x.hi<<n | x.lo>>(64-n), x.lo << n} }

func (x mass) float() float64 { return math.Ldexp(float64(x.hi), 64) + float64(x.lo) }

// toMass returns the integer nearest to w·2^exp, for w ≥ 0 and a result below 2^127.
func toMass(w float64, exp int) mass {
	if w == 0 {
		return mass{}
	}
	frac, e := math.Frexp(w)
	m := uint64(math.Ldexp(frac, 53))
	switch shift := e - 53 + exp; {
	case shift >= 64:
		return mass{hi: m << uint(shift-64)}
	case shift >= 0:
		return mass{lo: m}.shl(uint(shift))
	case shift >= -53:
		half := uint64(1) << uint(-shift-1)
		return mass{lo: (m + half) >> uint(-shift)}
	default:
		return mass{}
	}
}

// supplies are two balanced measures in integer units.
type supplies struct {
	a, b []mass
	exp  int  // a weight w is w·2^exp units
	free uint // high bits of a mass left free for the perturbation, 2^free > 2 len(a)
}

// massTolerance is the relative difference of total masses, or share of the mass without a way, above which a problem is refused.
const massTolerance = 1e-9

// quantise turns checked weights into balanced integers of at most 125 − free bits in total. The second measure is
// rescaled to the total of the first.
func quantise(a, b []float64) (supplies, error) {
	s := supplies{free: uint(bits.Len(uint(len(a)))) + 1}
	_, e := math.Frexp(max(slices.Max(a), slices.Max(b)))
	s.exp = 125 - int(s.free) - e - bits.Len(uint(max(len(a), len(b))))
	var totalA, totalB mass
	s.a, totalA = integers(a, s.exp)
	s.b, totalB = integers(b, s.exp)
	if diff := math.Abs(totalA.float() - totalB.float()); diff > massTolerance*totalA.float() {
		return s, fmt.Errorf("ot/exact: total mass of a = %v, of b = %v: %w",
			s.weight(totalA), s.weight(totalB), ErrUnbalanced)
	}
	rebalance(s.b, totalB, totalA)
	return s, nil
}

// weight converts a mass to float64.
func (s supplies) weight(x mass) float64 { return math.Ldexp(x.float(), -s.exp) }

func integers(w []float64, exp int) (m []mass, total mass) {
	m = make([]mass, len(w))
	for i, v := range w {
		m[i] = toMass(v, exp)
		total = total.add(m[i])
	}
	return m, total
}

// rebalance multiplies m, of sum from, by to/from ≈ 1, so that its sum is exactly to. The
// correction of each entry is relatively exact to 1e-16; the heaviest entry takes the remainder.
func rebalance(m []mass, from, to mass) {
	grow := from.less(to)
	diff := from.sub(to)
	if grow {
		diff = to.sub(from)
	}
	ratio := diff.float() / from.float()
	heaviest, total := 0, mass{}
	for j := range m {
		if m[heaviest].less(m[j]) {
			heaviest = j
		}
		d := toMass(m[j].float()*ratio, 0)
		if grow {
			m[j] = m[j].add(d)
		} else {
			m[j] = m[j].sub(d)
		}
		total = total.add(m[j])
	}
	m[heaviest] = m[heaviest].add(to).sub(total) // wraps around and back when total > to
}
