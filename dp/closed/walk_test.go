package closed

import (
	"math"
	"math/big"
	"testing"

	"coupling/dp/pair"
)

// bigWalk multiplies the polynomial out with 400 bits.
func bigWalk(p, q, r float64, times int, loss, eps float64) float64 {
	num := func(x float64) *big.Float { return big.NewFloat(x).SetPrec(400) }
	c := []*big.Float{num(1)}
	for range times {
		next := make([]*big.Float, len(c)+2)
		for i := range next {
			next[i] = num(0)
			for j, w := range [...]float64{r, q, p} {
				if k := i - j; k >= 0 && k < len(c) {
					next[i].Add(next[i], new(big.Float).Mul(c[k], num(w)))
				}
			}
		}
		c = next
	}
	sum := num(0)
	for i, x := range c {
		if excess := loss*float64(i-times) - eps; excess > 0 {
			sum.Add(sum, new(big.Float).Mul(x, num(-math.Expm1(-excess))))
		}
	}
	m := new(big.Float)
	e := sum.MantExp(m)
	f, _ := m.Float64()
	return math.Log(f) + float64(e)*math.Ln2
}

func TestWalk(t *testing.T) {
	for _, c := range []struct {
		p, q    float64
		times   int
		loss    float64
		epsilon []float64
	}{
		{0.25, 0.5, 40, 0.3, []float64{0, 0.1, 3, 11.9}},
		{0.0009765625, 0.998046875, 300, 1.5, []float64{0, 1, 20, 400}},
		{0.75, 0.125, 120, 2, []float64{0, 100, 239}},
	} {
		w := newWalk(c.times, c.loss, c.p, c.q, 1-c.p-c.q)
		for _, eps := range c.epsilon {
			got, want := w.LogDelta(eps), bigWalk(c.p, c.q, 1-c.p-c.q, c.times, c.loss, eps)
			if !(math.Abs(got-want) <= w.RelErr()+1e-13*math.Abs(want)) {
				t.Errorf("%+v at %v: log δ = %.16g, want %.16g", c, eps, got, want)
			}
		}
	}
}

func FuzzWalk(f *testing.F) {
	f.Add(0.75, 0.01, 1000, 1.0)
	f.Add(0.5000001, 1e-9, 3, 1e-12)
	f.Add(0.999999, 0.999, 100_000, 1e6)
	f.Fuzz(func(t *testing.T, truth, flip float64, times int, eps float64) {
		if times < 1 || times > 1_000_000 || !(eps >= 0) || math.IsInf(eps, 0) {
			return
		}
		p, err := pair.ResponseEither(truth, flip, flip)
		if err != nil {
			return
		}
		lo, hi, ok := asWalk([]pair.Step{{Pair: p, Times: times}})
		if !ok {
			return
		}
		a, b, one := lo.LogDelta(eps)-lo.RelErr(), hi.LogDelta(eps)+hi.RelErr(), p.LogDelta(eps)
		if math.IsNaN(a) || math.IsNaN(b) || a > b || one > b+1e-12*(1+math.Abs(one)) {
			t.Errorf("truth %v, flip %v, %d times: log δ(%v) in [%v, %v], of one step %v", truth, flip, times, eps, a, b, one)
		}
	})
}
