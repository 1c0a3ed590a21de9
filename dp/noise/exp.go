package noise

import "math/big"

// guard is the number of extra bits in expNeg's arithmetic. Squaring loses one bit each time, at
// most 8 + 17 of them for x < 2^16, the series some 16.
const guard = 64

// expNeg returns integers with lo ≤ e^-x·2^n ≤ hi for x ≥ 0, some units apart at most. With y = x/2^m < 2^-8 it sums
// the series of e^-y in fixed point and squares m times, rounding lo down and hi up.
func expNeg(x *big.Rat, n uint) (lo, hi *big.Int) {
	if x.Sign() == 0 {
		one := new(big.Int).Lsh(big.NewInt(1), n)
		return one, one
	}
	whole := new(big.Int).Quo(x.Num(), x.Denom())
	if whole.Cmp(big.NewInt(int64(n))) >= 0 { // e^-x < 2^-n
		return new(big.Int), big.NewInt(1)
	}
	w := n + guard
	m := uint(whole.BitLen()) + 8
	lo, hi = expSeries(x, w, m)
	for range m {
		lo.Rsh(lo.Mul(lo, lo), w)
		hi.Rsh(hi.Mul(hi, hi), w)
		hi.Add(hi, big.NewInt(1))
	}
	lo.Rsh(lo, guard)
	hi.Rsh(hi, guard)
	return lo, hi.Add(hi, big.NewInt(1))
}

// expSeries returns an enclosure of e^-(x/2^m)·2^w, for x/2^m < 2^-8.
func expSeries(x *big.Rat, w, m uint) (lo, hi *big.Int) {
	y := new(big.Int).Lsh(x.Num(), w)
	y.Rsh(y.Quo(y, x.Denom()), m) // off by less than 2 units of 2^-w
	term := new(big.Int).Lsh(big.NewInt(1), w)
	sum := new(big.Int).Set(term)
	rounding := int64(4) // of y and of the series' rest, which is below the first term that is 0
	for i := int64(1); term.Sign() != 0; i++ {
		term.Rsh(term.Mul(term, y), w)
		term.Quo(term, big.NewInt(i))
		if i%2 == 1 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
		rounding += 4 // of this term: the error of the one before shrinks, two divisions add less than 2
	}
	e := big.NewInt(rounding)
	return new(big.Int).Sub(sum, e), new(big.Int).Add(sum, e)
}
