package closed

import (
	"math"
	"math/big"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/must"
)

// bigDelta sums the definition with 300 bits.
func bigDelta(p, q *big.Float, times int, eps float64) float64 {
	one := big.NewFloat(1).SetPrec(300)
	op, oq := new(big.Float).Sub(one, p), new(big.Float).Sub(one, q)
	pow := func(x *big.Float, n int) *big.Float {
		r := new(big.Float).Set(one)
		for range n {
			r.Mul(r, x)
		}
		return r
	}
	// e^ε with 300 bits by its series, for ε ≤ 8.
	e, term := new(big.Float).Set(one), new(big.Float).Set(one)
	for k := 1; k < 300; k++ {
		term.Mul(term, big.NewFloat(eps).SetPrec(300))
		term.Quo(term, big.NewFloat(float64(k)).SetPrec(300))
		e.Add(e, term)
	}
	sum := new(big.Float).SetPrec(300)
	for k := 0; k <= times; k++ {
		c := new(big.Float).SetPrec(300).SetInt(new(big.Int).Binomial(int64(times), int64(k)))
		a := new(big.Float).Mul(pow(p, k), pow(op, times-k))
		b := new(big.Float).Mul(pow(q, k), pow(oq, times-k))
		b.Mul(b, e)
		if a.Sub(a, b).Sign() > 0 {
			sum.Add(sum, a.Mul(a, c))
		}
	}
	m := new(big.Float)
	x := sum.MantExp(m)
	f, _ := m.Float64()
	return math.Log(f) + float64(x)*math.Ln2
}

func TestRepeatedResponse(t *testing.T) {
	for _, c := range []struct {
		truth, flip, eps float64
		times            int
	}{{0.75, 1, 3, 20}, {0.625, 1, 0.5, 200}, {0.75, 0.0078125, 0.3, 300}, {0.5625, 1, 8, 150}, {0.75, 0.25, 0, 100}} {
		p := must.Get(pair.RandomizedResponse(c.truth, c.flip, 0))
		lo, hi, ok := asRepeated([]pair.Step{{Pair: p, Times: c.times}})
		if !ok {
			t.Fatal("not recognised")
		}
		// The parameters are dyadic: the point of larger loss has these probabilities exactly.
		high := 1 - c.truth + c.flip*(2*c.truth-1)
		want := bigDelta(big.NewFloat(high).SetPrec(300), big.NewFloat(1-c.truth).SetPrec(300), c.times, c.eps)
		a, b := lo.LogDelta(c.eps)-lo.RelErr(), hi.LogDelta(c.eps)+hi.RelErr()
		if !(a <= want && want <= b && b-a < 1e-10) {
			t.Errorf("%+v: log δ in [%.16g, %.16g], is %.16g", c, a, b, want)
		}
	}
}

// Many repetitions with little noise approach a Gaussian: δ at the centre is between those of
// slightly different shifts.
func TestRepeatedManyTimes(t *testing.T) {
	const times = 1_000_000
	p := must.Get(pair.RandomizedResponse(0.5005, 1, 0))
	_, r, _ := asRepeated([]pair.Step{{Pair: p, Times: times}})
	// Loss ±log(0.5005/0.4995): mean T·2e-3·1e-3, variance T·4e-6: a shift of 2.
	for _, eps := range []float64{0.5, 3} {
		got := math.Exp(r.LogDelta(eps))
		phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
		want := phi(1-eps/2) - math.Exp(eps)*phi(-1-eps/2)
		if math.Abs(got/want-1) > 2e-3 { // Berry-Esseen: a lattice of step 2e-3
			t.Errorf("δ(%v) = %v, Gaussian limit %v", eps, got, want)
		}
	}
}

// The least and the largest number of outcomes are as likely as they are where the other outcome's probability is
// rounded to 1, also in the number of batches that hold a record.
func TestAllOutcomesAlike(t *testing.T) {
	const tiny = 1e-17
	for _, n := range []float64{2, 14, 300} {
		want := n * math.Log(tiny)
		least, most := logBinomialPMF(0, n, 1, tiny), logBinomialPMF(n, n, tiny, 1)
		if least != want || most != want {
			t.Errorf("%v of %v: %v and %v, want %v", n, n, least, most, want)
		}
	}
	rare := must.Get(pair.NewDiscrete([]float64{1, tiny}, []float64{1e-250, 1}))
	got := must.Get(Accountant{}.Bound(t.Context(), []pair.Step{{Pair: rare, Times: 14}}, pair.DeltaAt(50)))
	if got.Lower < .999 || got.Upper < 1 {
		t.Errorf("δ = %v where none of 14 outcomes is rare", got)
	}
	sampled := []pair.Step{{Pair: must.Get(pair.Poisson(pair.Gaussian, .01, tiny, 0, 1)), Times: 2}}
	twice := math.Sqrt(2)*100 - 1 // in noise, above which the record's sum is with more than half
	got = must.Get(Accountant{}.Bound(t.Context(), sampled, pair.EpsilonAt(tiny*tiny/3)))
	if got.Upper < twice*twice/2 {
		t.Errorf("ε = %v where both batches hold the record, want %v at least", got, twice*twice/2)
	}
}
