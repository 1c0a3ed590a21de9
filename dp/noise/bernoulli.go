package noise

import (
	"math"
	"math/big"
	"math/bits"
)

// maxRejections bounds loops that end with probability at least 1 − 1/e a round: a probability of e^-65536
// never occurs.
const maxRejections = 1 << 16

// Uniform returns a uniform integer of [0, n), n > 0, without rounding (Lemire 2019).
func Uniform(src Source, n uint64) (uint64, error) {
	for range maxRejections {
		u, err := src.Uint64()
		if err != nil {
			return 0, err
		}
		hi, lo := bits.Mul64(u, n)
		if lo >= n || lo >= -n%n {
			return hi, nil
		}
	}
	return 0, tooManyRejections()
}

// tooManyRejections is the error of a loop that did not end.
func tooManyRejections() error { return failed("%d rejections in a row", maxRejections) }

// verdict is the result of comparing a uniform number with another one: below, not below, or its first 64 bits do not
// decide it.
type verdict int

const (
	unsure verdict = iota
	below
	above
)

// margin is the least distance, in units of 2^-64, of the first bits from p that decides: 2^-40. It must be
// above the error of p, some 2^-50 for the callers here, and that of the conversions, 2^-53.
const margin = 1 << 24

// compare draws 64 bits u of a uniform number and compares them with e^-x, for x ≥ 0 whose e^-x is
// off by at most 2^-41. Most are decided without an exponential, by 1 − x + x²/2 − x³/6 ≤ e^-x ≤
// the same + x⁴/24 for x ≤ 1.
func compare(src Source, x float64) (v verdict, u uint64, err error) {
	u, err = src.Uint64()
	if err != nil {
		return unsure, 0, err
	}
	if x <= 1 {
		low := 1 - x*(1-x*(1./2-x*(1./6)))
		if v := against(u, low, low+x*x*x*x*(1./24)); v != unsure {
			return v, u, nil
		}
	}
	p := math.Exp(-x)
	return against(u, p, p), u, nil
}

// against compares u with numbers between low and high, by more than the margin.
func against(u uint64, low, high float64) verdict {
	switch y := float64(u); {
	case y+margin < low*0x1p64:
		return below
	case y-margin > high*0x1p64:
		return above
	}
	return unsure
}

// decideExactly decides what compare could not: whether height/2^shift times the uniform number
// that begins with u is below e^-x. It is exact.
func decideExactly(src Source, u, height uint64, shift uint, x *big.Rat) (bool, error) {
	first, scale := new(big.Int).SetUint64(u), new(big.Int).SetUint64(height)
	for n := uint(64); n < maxRejections; n += 64 { // the number is in [first, first+1)·2^-n
		lo, hi := expNeg(x, n+shift)
		low := new(big.Int).Mul(first, scale)
		if low.Cmp(hi) >= 0 {
			return false, nil
		}
		if low.Add(low, scale).Cmp(lo) <= 0 {
			return true, nil
		}
		more, err := src.Uint64()
		if err != nil {
			return false, err
		}
		first.Lsh(first, 64).Or(first, new(big.Int).SetUint64(more))
	}
	return false, tooManyRejections()
}

// expCoin is true with probability e^-x, given x so well that e^-x is off by at most 2^-41. exact
// returns x as a fraction, and is called rarely.
func expCoin(src Source, x float64, exact func() *big.Rat) (bool, error) {
	v, first, err := compare(src, x)
	if err != nil || v != unsure {
		return v == below, err
	}
	return decideExactly(src, first, 1, 0, exact())
}

// bernoulliExp is true with probability e^-(u/t), for 0 ≤ u < t.
func bernoulliExp(src Source, u, t uint64) (bool, error) {
	return expCoin(src, float64(u)/float64(t), func() *big.Rat {
		return new(big.Rat).SetFrac(new(big.Int).SetUint64(u), new(big.Int).SetUint64(t))
	})
}

// geometric counts successes of probability 1/e before the first failure.
func geometric(src Source) (uint64, error) {
	for k := range uint64(maxRejections) {
		again, err := expCoin(src, 1, func() *big.Rat { return big.NewRat(1, 1) })
		if err != nil {
			return 0, err
		}
		if !again {
			return k, nil
		}
	}
	return 0, tooManyRejections()
}

// Keep is true with probability e^(−k/scale), exactly, for k ≥ 0: the coin of exponential mechanisms on integer scores.
func Keep(src Source, k int, scale float64) (bool, error) {
	if k < 0 {
		return false, bad("k = %d: must be at least 0", k)
	}
	if err := in.Positive("scale", scale); err != nil {
		return false, err
	}
	if src == nil {
		return false, failed("src = nil")
	}
	return expCoin(src, float64(k)/scale, func() *big.Rat {
		x := new(big.Rat).SetInt64(int64(k))
		return x.Quo(x, new(big.Rat).SetFloat64(scale))
	})
}

// Index is one of 0, …, n−1, all equally likely.
func Index(src Source, n int) (int, error) {
	if n < 1 {
		return 0, bad("n = %d: must be at least 1", n)
	}
	if src == nil {
		return 0, failed("src = nil")
	}
	i, err := Uniform(src, uint64(n))
	return int(i), err
}
