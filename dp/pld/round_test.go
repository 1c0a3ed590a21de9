package pld

import (
	"math"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/must"
)

// Rare atoms, one of them at the largest loss, which is a round number or not, alone and with another pair: ε is
// enclosed, by enumeration of how often the rare ones come.
func TestRareAtoms(t *testing.T) {
	const times, delta = 1000, 1e-5
	for _, loss := range []float64{5, 7.3, 12} {
		for _, c := range []struct{ first, second, width float64 }{
			{1e-4, 0, 1e-2}, {1e-4, 5e-5, 1e-2}, {1e-3, 1e-4, 1e-2},
		} {
			p := []float64{c.first, c.second, 1 - c.first - c.second}
			q := []float64{c.first * math.Exp(-loss), c.second * .8, 0}
			q[2] = 1 - q[0] - q[1]
			d := must.Get(pair.NewDiscrete(p, q))
			steps := []pair.Step{{Pair: d, Times: times}}
			got, err := Accountant{Width: c.width}.Bound(t.Context(), steps, pair.EpsilonAt(delta))
			if err != nil {
				t.Errorf("loss %v, %v: %v", loss, c, err)
				continue
			}
			high, low := rareDelta(p, q, times, got.Upper), rareDelta(p, q, times, got.Lower-1e-12)
			if high > delta*(1+1e-9) || got.Lower > 0 && low < delta*(1-1e-9) {
				t.Errorf("loss %v, %v: δ = %g at the upper and %g at the lower end of %v, must enclose %g",
					loss, c, high, low, got, delta)
			}
		}
	}
}

// rareDelta is δ of T draws of three points, of which the first two come at most 25 times each.
func rareDelta(p, q []float64, times int, eps float64) (sum float64) {
	lg := func(n int) float64 { v, _ := math.Lgamma(float64(n) + 1); return v }
	for i := range 26 {
		for j := range 26 {
			rest := times - i - j
			log := func(m []float64) (s float64) {
				s = lg(times) - lg(i) - lg(j) - lg(rest) + float64(rest)*math.Log(m[2])
				for k, n := range []int{i, j} {
					if n > 0 {
						s += float64(n) * math.Log(m[k])
					}
				}
				return s
			}
			if a, b := log(p), log(q)+eps; a > b {
				sum -= math.Exp(a) * math.Expm1(b-a)
			}
		}
	}
	return sum
}

// A part whose removal loses far less than its insertion has cells that increase.
func TestInsertionOfRareLaplace(t *testing.T) {
	p := must.Get(pair.Poisson(pair.Laplace, .1, 1e-5, 0, 1))
	for _, times := range []int{1, 8, 17, 100} {
		got, err := Accountant{}.Bound(t.Context(), []pair.Step{{Pair: p.Swap(), Times: times}}, pair.EpsilonAt(1e-6))
		if err != nil || !(got.Lower <= got.Upper) {
			t.Errorf("%v steps: %v, %v", times, got, err)
		}
	}
	for k, nodes := 1, graded(3e-6, 10, 40); k < len(nodes); k++ {
		if !(nodes[k] > nodes[k-1]) {
			t.Fatalf("nodes %v", nodes[:k+1])
		}
	}
}
