package cpu

import (
	"math"
	"math/big"
	"testing"

	"coupling/lab/must"
)

// expTwo returns e^x as the sum of two float64, good to about 1e-30 relative:
// n = round(x/ln 2), then e^r by its series in 160-bit arithmetic.
func expTwo(x float64) (head, tail float64) {
	const prec = 160
	n := math.RoundToEven(x / math.Ln2)
	r := new(big.Float).SetPrec(prec).SetFloat64(x)
	r.Sub(r, new(big.Float).SetPrec(prec).Mul(big.NewFloat(n), ln2Big))
	r.SetMantExp(r, -6) // e^r = (e^(r/64))^64
	sum, term := big.NewFloat(1).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	for i := 1; i < 18; i++ {
		term.Mul(term, r)
		term.Quo(term, big.NewFloat(float64(i)))
		sum.Add(sum, term)
	}
	for range 6 {
		sum.Mul(sum, sum)
	}
	sum.SetMantExp(sum, int(n))
	head, _ = sum.Float64()
	tail, _ = sum.Sub(sum, new(big.Float).SetFloat64(head)).Float64()
	return head, tail
}

// ln2Big is ln 2 to 50 digits (OEIS A002162).
var ln2Big = func() *big.Float {
	f, _ := must.Get2(big.ParseFloat("0.69314718055994530941723212145817656807550013436025525412068", 10, 160,
		big.ToNearestEven))
	return f
}()

func TestExpTwo(t *testing.T) {
	for _, x := range []float64{0, 1, -1, 0.5, 100, -700, 700, 1e-9} {
		head, _ := expTwo(x)
		if want := math.Exp(x); math.Abs(head-want) > 0x1p-51*want {
			t.Errorf("expTwo(%v) = %v, want %v", x, head, want)
		}
	}
}
