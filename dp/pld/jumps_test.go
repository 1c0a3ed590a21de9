package pld

import (
	"math"
	"testing"

	"coupling/dp/pair"
)

// A ratio of three values, the largest of which is rare and unbounded as far as the law knows: the
// brackets of its sums and products enclose E(M − c)₊ and E(1 − cM)₊ by enumeration, of values up to
// and beyond a jump, and closely.
func TestPowerByEnumeration(t *testing.T) {
	const times = 100
	x, q := []float64{.5, 1.5, 40}, []float64{.5, .499999, 1e-6}
	lg := func(n int) float64 { v, _ := math.Lgamma(float64(n) + 1); return v }
	enumerated := func(value func(a, b, c int) float64, f func(m float64) float64) (sum float64) {
		for c := range 6 {
			for b := range times + 1 - c {
				a := times - b - c
				sum += math.Exp(lg(times)-lg(a)-lg(b)-lg(c)+float64(a)*math.Log(q[0])+float64(b)*math.Log(q[1])+
					float64(c)*math.Log(q[2])) * f(value(a, b, c))
			}
		}
		return sum
	}
	one := law{x: x, q: q, most: math.Inf(1)}
	for _, o := range []operation{sum, product} {
		value := func(a, b, c int) float64 { return x[0]*float64(a) + x[1]*float64(b) + x[2]*float64(c) }
		if o == product {
			value = func(a, b, c int) float64 {
				return math.Pow(x[0], float64(a)) * math.Pow(x[1], float64(b)) * math.Pow(x[2], float64(c))
			}
		}
		if _, _, rest, ok := o.split(bracket{one, one}, times); !ok || rest.mass > negligibleMass {
			t.Fatalf("operation %d: no large ratios, or too many: %+v", o, rest)
		}
		all, err := o.power(bracket{one, one}, times, 2000)
		if err != nil {
			t.Fatal(err)
		}
		mean := enumerated(value, func(m float64) float64 { return m })
		for _, by := range []float64{.6, .9, 1, 1.1, 1.3, 1.7} {
			c := mean * by
			for i, f := range []func(m float64) float64{
				func(m float64) float64 { return max(0, m-c) }, func(m float64) float64 { return max(0, c-m) }} {
				far := [...]float64{1, 0}[i] // slope at infinity
				want := enumerated(value, f)
				lo, hi := all.under.far*far, all.over.far*far
				for k, q := range all.under.q {
					lo += q * f(all.under.x[k])
				}
				for k, q := range all.over.q {
					hi += q * f(all.over.x[k])
				}
				if lo > want*(1+1e-9)+1e-18 || hi < want*(1-1e-9) || hi-lo > 2e-3*want+1e-15 {
					t.Errorf("operation %d, c = %v, side %d: [%.12g, %.12g], is %.12g", o, c, i, lo, hi, want)
				}
			}
		}
	}
}

// What split leaves out is at least what more than mostJumps large ratios have, of mass and of mean.
func TestSplitLeavesLittle(t *testing.T) {
	const times = 400
	one := law{x: []float64{.9, 3, 5, 9, 300}, q: []float64{.96999, .02, .01, 1e-5, 1e-7}, most: math.Inf(1)}
	for _, o := range []operation{sum, product} {
		bulk, jump, rest, ok := o.split(bracket{one, one}, times)
		if !ok || len(bulk.over.x)+len(jump.over.x) != len(one.x) {
			t.Fatalf("operation %d: %v, %v of %v", o, bulk.over, jump.over, one)
		}
		p, m := jump.over.total()
		more, tilted := 0.0, 0.0 // of more than mostJumps, under Q and with the jump's mean for its mass
		lg := func(n float64) float64 { v, _ := math.Lgamma(n + 1); return v }
		for k := float64(mostJumps + 1); k < 60; k++ {
			log := lg(times) - lg(k) - lg(times-k)
			more += math.Exp(log + k*math.Log(p) + (times-k)*math.Log1p(-p))
			tilted += math.Exp(log + k*math.Log(m) + (times-k)*math.Log1p(-m))
		}
		if more > rest.mass || o == product && tilted > rest.mean || rest.mass > negligibleMass {
			t.Errorf("operation %d: %g and %g left out, %+v allowed for", o, more, tilted, rest)
		}
	}
}

// Products of laws and the grid of equal bins answer the same question where both can.
func TestLawsAgreeWithBins(t *testing.T) {
	p, err := pair.Poisson(pair.Gaussian, 1, 1e-3, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	steps := []pair.Step{{Pair: p, Times: 500}}
	bins, err := Accountant{Width: 1e-4}.Bound(t.Context(), steps, pair.EpsilonAt(1e-6))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := Accountant{}.parts(steps)
	if err != nil {
		t.Fatal(err)
	}
	q := question{logDelta: math.Log(1e-6), invert: true, limit: math.NaN()}
	if (Accountant{}).rare(parts, q.logDelta, 1) {
		t.Error("a rate of a thousandth is said to be rare")
	}
	laws, err := direct(t.Context(), parts, q, 1000)
	if err != nil || laws.Lower > bins.Upper || laws.Upper < bins.Lower || laws.Upper-laws.Lower > 5e-3*laws.Upper {
		t.Errorf("ε in %v by laws, %v; in %v by bins", laws, err, bins)
	}
}
