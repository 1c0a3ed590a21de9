package amplification

import (
	"math"
	"testing"

	"coupling/dp/pair"
	"coupling/figures/figtest"
	"coupling/lab/must"
)

// A batch of all records: randomised response itself.
func TestWithoutReplacement(t *testing.T) {
	orders := []int{2, 3, 5, 10, 50, 200, 1000}
	got := do(t, figtest.Store(t), worOf, WORParams{Truth: .75, Batch: 1000, Size: 1000, Order: orders})
	for i, order := range orders {
		a := float64(order)
		// log(.75^a .25^(1−a) + .25^a .75^(1−a))
		want := (a*math.Log(3) + math.Log(.25+.75*math.Pow(3, -2*a))) / (a - 1)
		if !(math.Abs(got.Specific[i]/want-1) <= 1e-12) {
			t.Errorf("all records, order %d: ρ = %v, want %v", order, got.Specific[i], want)
		}
	}
}

// The optimal coupling of equal batch distributions is diagonal, so that its bound has a closed
// form; here with binomial coefficients.
func TestTransportClosedForm(t *testing.T) {
	s := figtest.Store(t)
	p := TransportParams{Noise: 5, Batch: 10, Size: 100, Group: 4, Order: []int{2, 5, 20}}
	got := do(t, s, transportOf, p)
	choose := func(n, k int) float64 {
		out := 1.0
		for i := range k {
			out *= float64(n-i) / float64(i+1)
		}
		return out
	}
	for i, order := range p.Order {
		a, sum := float64(order), 0.0
		for k := range p.Group + 1 {
			w := choose(p.Group, k) * choose(p.Size-p.Group, p.Batch-k) / choose(p.Size, p.Batch)
			sum += w * math.Exp(a*(a-1)*float64(k*k)/(2*p.Noise*p.Noise))
		}
		// the simplex stops within 1e-9 or so
		if want := math.Log(sum) / (a - 1); !(math.Abs(got.Transport[i]/want-1) <= 1e-9) {
			t.Errorf("order %d: %v, want %v", order, got.Transport[i], want)
		}
	}
	rising(t, "post-hoc", got.PostHoc, 0)
	if !(got.OffDiagonal <= 1e-12 && got.Gap <= 1e-3) {
		t.Errorf("off the diagonal %v, gap %v", got.OffDiagonal, got.Gap)
	}
}

// One draw from N is one of N without replacement.
func TestWithReplacement(t *testing.T) {
	eps := []float64{0, .5, 1, 2}
	one := do(t, figtest.Store(t), replacementOf, ReplacementParams{Noise: 1, Batch: 1, Size: 100, Eps: eps})
	p := must.Get(pair.Shifted(pair.Gaussian, 1, pair.Hypergeometric(100, 1, 1), pair.Hypergeometric(100, 1, 1)))
	for i, e := range eps {
		if want := p.LogDelta(e); !(math.Abs(one.Specific[i]-want) <= 1e-11) {
			t.Errorf("one draw, ε = %v: log δ = %v, want %v", e, one.Specific[i], want)
		}
	}
}
