package closed

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/must"
)

// The product of a few finite pairs has the δ of the definition, Σ max(Πp − e^ε Πq, 0), in 300
// bits, between its two profiles; and that of repeated randomised response. Half of the pairs have
// probabilities whose products underflow.
func TestProduct(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	draw := func(n int) (p []float64) {
		sum, spread := 0.0, [...]float64{6, 250}[rng.IntN(2)]
		for range n {
			p = append(p, math.Exp(spread*rng.NormFloat64()))
			sum += p[len(p)-1]
		}
		for i := range p {
			p[i] /= sum
		}
		return p
	}
	for range 200 {
		type pmf struct{ p, q []float64 }
		var all []pmf
		var steps []pair.Step
		for range 1 + rng.IntN(3) {
			n := 2 + rng.IntN(3)
			m := pmf{draw(n), draw(n)}
			d := must.Get(pair.NewDiscrete(m.p, m.q))
			times := 1 + rng.IntN(2)
			steps = append(steps, pair.Step{Pair: d, Times: times})
			for range times {
				all = append(all, m)
			}
		}
		lo, hi, ok := asProduct(steps)
		if !ok {
			t.Fatalf("%v: not recognised", steps)
		}
		for _, eps := range []float64{0, 1e-9, .1, 1, 5, 20, 90} {
			want := exactProduct(len(all), func(i int) ([]float64, []float64) { return all[i].p, all[i].q }, eps)
			a, b := lo.LogDelta(eps)-lo.RelErr(), hi.LogDelta(eps)+hi.RelErr()
			if math.IsInf(want, -1) {
				continue
			}
			if a > want || b < want || b-a > 1e-6 && want > -14 {
				t.Errorf("%v: log δ(%v) in [%.16g, %.16g], is %.16g", steps, eps, a, b, want)
			}
		}
	}
}

// exactProduct sums over all points, with 300 bits.
func exactProduct(n int, at func(i int) (p, q []float64), eps float64) float64 {
	num := func(x float64) *big.Float { return big.NewFloat(x).SetPrec(300) }
	e, term := num(1), num(1)
	for k := 1; k < 400; k++ {
		term.Mul(term, num(eps))
		term.Quo(term, num(float64(k)))
		e.Add(e, term)
	}
	sum := num(0)
	var walk func(i int, p, q *big.Float)
	walk = func(i int, p, q *big.Float) {
		if i == n {
			if d := new(big.Float).Sub(p, new(big.Float).Mul(q, e)); d.Sign() > 0 {
				sum.Add(sum, d)
			}
			return
		}
		ps, qs := at(i)
		for k := range ps {
			walk(i+1, new(big.Float).Mul(p, num(ps[k])), new(big.Float).Mul(q, num(qs[k])))
		}
	}
	walk(0, num(1), num(1))
	if sum.Sign() == 0 {
		return math.Inf(-1)
	}
	m := new(big.Float)
	x := sum.MantExp(m)
	f, _ := m.Float64()
	return math.Log(f) + float64(x)*math.Ln2
}
