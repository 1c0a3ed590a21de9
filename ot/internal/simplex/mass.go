package simplex

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Mass is an unsigned 128-bit integer: an amount of mass in units so small that rounding a float64
// weight to them is negligible. Sums and differences of masses are exact, so the flows of the
// simplex do not drift, it cannot cycle, and it never takes rounding for mass.
type Mass struct{ hi, lo uint64 }

// Add returns x + y.
func (x Mass) Add(y Mass) Mass {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	hi, _ := bits.Add64(x.hi, y.hi, carry)
	return Mass{hi, lo}
}

// Sub returns x − y.
func (x Mass) Sub(y Mass) Mass {
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	hi, _ := bits.Sub64(x.hi, y.hi, borrow)
	return Mass{hi, lo}
}

// Half returns x/2, rounded down.
func (x Mass) Half() Mass { return x.shr(1) }

// Less reports whether x < y.
func (x Mass) Less(y Mass) bool { return x.hi < y.hi || x.hi == y.hi && x.lo < y.lo }

// IsZero reports whether there is none.
func (x Mass) IsZero() bool { return x.hi|x.lo == 0 }

// shr returns x >> n, for 0 < n < 64.
func (x Mass) shr(n uint) Mass { return Mass{x.hi >> n, x.lo>>n | x.hi<<(64-n)} }

// shl returns x << n, for n < 64.
func (x Mass) shl(n uint) Mass { return Mass{x.hi<<n | x.lo>>(64-n), x.lo << n} }

func (x Mass) float() float64 { return 0x1p64*float64(x.hi) + float64(x.lo) }

// toMass returns the integer nearest to w·2^exp, for w ≥ 0 and a result below 2^127.
func toMass(w float64, exp int) Mass {
	w = math.Round(ldexp(w, exp))
	hi := math.Floor(w * 0x1p-64)
	return Mass{uint64(hi), uint64(w - hi*0x1p64)}
}

// ldexp is math.Ldexp, but by a product where float64 has 2^exp: math.Ldexp takes a quarter of
// the time of a problem on the line.
func ldexp(w float64, exp int) float64 {
	if exp < -1022 || exp > 1023 {
		return math.Ldexp(w, exp)
	}
	return w * math.Float64frombits(uint64(exp+1023)<<52)
}

// Supplies are two balanced measures in integer units.
type Supplies struct {
	A, B []Mass
	exp  int  // a weight w is w·2^exp units
	free uint // high bits of a mass left free for the perturbation, 2^free > 2 len(a)
}

// massTolerance is the relative difference of total masses, or share of the mass without a way,
// above which a problem is refused.
const massTolerance = 1e-9

// Quantise turns checked weights into balanced integers of at most 125 − free bits in total. The second measure is
// rescaled to the total of the first.
func Quantise(a, b []float64) (Supplies, error) {
	s := Supplies{free: uint(bits.Len(uint(len(a)))) + 1}
	_, e := math.Frexp(max(slices.Max(a), slices.Max(b)))
	s.exp = 125 - int(s.free) - e - bits.Len(uint(max(len(a), len(b))))
	var totalA, totalB Mass
	s.A, totalA = integers(a, s.exp)
	if slices.Equal(a, b) {
		s.B = s.A
		return s, nil
	}
	s.B, totalB = integers(b, s.exp)
	if diff := math.Abs(totalA.float() - totalB.float()); diff > massTolerance*totalA.float() {
		return s, fmt.Errorf("ot/exact: total mass of a = %v, of b = %v: %w",
			s.Weight(totalA), s.Weight(totalB), ErrUnbalanced)
	}
	rebalance(s.B, totalB, totalA)
	return s, nil
}

// total returns the mass of all sources.
func (s Supplies) total() float64 {
	var all Mass
	for _, w := range s.A {
		all = all.Add(w)
	}
	return s.Weight(all)
}

// IsEven reports whether there are as many sources as targets, all of the same mass, so that some assignment is
// optimal.
func (s Supplies) IsEven() bool {
	other := func(w Mass) bool { return w != s.A[0] }
	return len(s.A) == len(s.B) && !slices.ContainsFunc(s.A, other) && !slices.ContainsFunc(s.B, other)
}

// Weight converts a mass to float64.
func (s Supplies) Weight(x Mass) float64 {
	return ldexp(x.float(), -s.exp)
}

func integers(w []float64, exp int) (m []Mass, total Mass) {
	m = make([]Mass, len(w))
	for i, v := range w {
		if i > 0 && v == w[i-1] { // uniform weights, as a rule
			m[i] = m[i-1]
		} else {
			m[i] = toMass(v, exp)
		}
		total = total.Add(m[i])
	}
	return m, total
}

// rebalance multiplies m, of sum from, by to/from ≈ 1, so that its sum is exactly to. The
// correction of each entry is relatively exact to 1e-16; the heaviest entry takes the remainder.
func rebalance(m []Mass, from, to Mass) {
	if from == to {
		return
	}
	grow := from.Less(to)
	diff := from.Sub(to)
	if grow {
		diff = to.Sub(from)
	}
	ratio := diff.float() / from.float()
	heaviest, total := 0, Mass{}
	for j := range m {
		if m[heaviest].Less(m[j]) {
			heaviest = j
		}
		d := toMass(m[j].float()*ratio, 0)
		if grow {
			m[j] = m[j].Add(d)
		} else {
			m[j] = m[j].Sub(d)
		}
		total = total.Add(m[j])
	}
	m[heaviest] = m[heaviest].Add(to).Sub(total) // wraps around and back when total > to
}
