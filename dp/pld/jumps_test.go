package pld

import (
	"math"
	"math/big"
	"sort"
	"testing"

	"coupling/dp/closed"
	"coupling/dp/pair"
	"coupling/lab/must"
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
		all, _ := must.Get2(o.power(bracket{one, one}, times, fineness{2000, 2000, 2000}))
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

// The sums over all combinations, tile by tile, are those over them one by one.
func TestFillByEnumeration(t *testing.T) {
	values := func(n int, by float64) (l law) {
		for k := range n {
			l.x, l.q = append(l.x, by*float64(k*k+1)), append(l.q, 1/float64(k+2))
		}
		l.most = math.Inf(1)
		return l
	}
	a, b := values(40, .1), values(150, 1./16)
	for _, o := range []operation{sum, product} {
		for _, pair := range [][2]law{{a, a}, {a, b}, {b, a}, {b, b}} {
			nodes := o.nodes(pair[0], pair[1], 100)
			got := o.fill(nodes, pair[0], pair[1], true)
			above, gap := make([]float64, len(nodes)-1), make([]float64, len(nodes)-1)
			for i, x := range pair[0].x {
				for j, y := range pair[1].x {
					z, w := o.on(x, y), pair[0].q[i]*pair[1].q[j]
					c := sort.Search(len(nodes)-2, func(c int) bool { return z < nodes[c+1] })
					if above[c] += w * (z - nodes[c]); math.IsInf(nodes[c+1], 1) {
						gap[c] += w
					} else {
						gap[c] += w * (nodes[c+1] - z)
					}
				}
			}
			for c := range above {
				if math.Abs(got.above[c]-above[c]) > 1e-12*above[c] || math.Abs(got.gap[c]-gap[c]) > 1e-12*gap[c] {
					t.Fatalf("operation %d, %d by %d, cell %d: %v and %v, want %v and %v", o, len(pair[0].x),
						len(pair[1].x), c, got.above[c], got.gap[c], above[c], gap[c])
				}
			}
		}
	}
}

// Where blocks are moved the two laws enclose E(z − c)₊ and E(c − z)₊ of all combinations, and closely: not
// if a block were moved the wrong way. No mean of a block is rounded up.
func TestMovedBlocksEnclose(t *testing.T) {
	var l law
	for k := range 400 {
		x := math.Exp(float64(k-200) / 40)
		l.x, l.q = append(l.x, x), append(l.q, math.Exp(-math.Abs(float64(k-180))/9))
	}
	l.most = math.Inf(1)
	for k, mean := range l.blocks(21, true).moved.x {
		from, all, mass := 21*k, new(big.Float).SetPrec(200), new(big.Float).SetPrec(200)
		for i, q := range l.q[from:min(from+21, len(l.q))] {
			weight := new(big.Float).SetPrec(200).SetFloat64(q)
			mass.Add(mass, weight)
			all.Add(all, weight.Mul(weight, big.NewFloat(l.x[from+i])))
		}
		exact := all.Quo(all, mass)
		if exact.Cmp(big.NewFloat(mean)) < 0 || exact.Cmp(big.NewFloat(mean*(1+1e-13))) > 0 {
			t.Errorf("block %d: at %v, mean %v", k, mean, exact)
		}
	}
	for _, o := range []operation{sum, product} {
		for _, other := range []law{l, {x: l.x[:300], q: l.q[:300], most: math.Inf(1)}} {
			nodes, moved := o.nodes(l, other, 400), 0
			tiles := o.tiles(nodes, l.blocks(21, false), other.blocks(21, false))
			for i := range tiles.reach {
				for j := range tiles.reach[i] {
					if row, column := tiles.moves(i, j); row || column {
						moved++
					}
				}
			}
			if moved < 100 {
				t.Errorf("operation %d: blocks of only %d tiles moved", o, moved)
			}
			over, under := o.fill(nodes, l, other, false).ends(), o.fill(nodes, l, other, true).barycentres(0)
			mass, _ := l.total()
			massOther, _ := other.total()
			for k, bound := range []law{over, under} {
				if got, _ := bound.total(); math.Abs(got/(mass*massOther)-1) > roundingOf(len(l.x)) {
					t.Errorf("operation %d, law %d: mass %v, want %v", o, k, got, mass*massOther)
				}
			}
			for _, c := range []float64{.01, .1, .5, 1, 2, 5, 30, 200, 2000} {
				for side, f := range []func(z float64) float64{
					func(z float64) float64 { return max(0, z-c) }, func(z float64) float64 { return max(0, c-z) }} {
					want, high, low := 0.0, over.far*float64(1-side), under.far*float64(1-side)
					for i, x := range l.x {
						for j, y := range other.x {
							want += l.q[i] * other.q[j] * f(o.on(x, y))
						}
					}
					for k, x := range over.x {
						high += over.q[k] * f(x)
					}
					for k, x := range under.x {
						low += under.q[k] * f(x)
					}
					if room := 1e-12 * want; low > want+room || high < want-room || high-low > .02*want+1e-9 {
						t.Errorf("operation %d, c = %v, side %d: [%.12g, %.12g], is %.12g", o, c, side, low, high, want)
					}
				}
			}
		}
	}
}

// Tiles of the far tail, which decide large ε, are judged by their own masses and not by rounding: moved, they would
// make δ uncertain by two thirds here.
func TestTailsOfAllocations(t *testing.T) {
	over := must.Get(Allocated(must.Get(pair.Poisson(pair.Gaussian, .2, 1, 0, 1)), 10, 832))
	under, _ := pair.Under(over)
	if width := -math.Expm1(under.LogDelta(35) - over.LogDelta(35)); !(width >= 0 && width < .1) {
		t.Errorf("δ at ε = 35: relative width %v", width)
	}
}

// Sums that are off by as much as roundings may add up to leave the moved barycentre below the true one.
func TestBarycentresMoveDown(t *testing.T) {
	kappa := roundingOf(1000)
	last := filling{nodes: []float64{1, math.Inf(1)}, above: []float64{.4 * (1 + kappa/2)},
		gap: []float64{.2 * (1 - kappa/2)}}
	if l := last.barycentres(kappa); !(l.x[0] < 3) || !(l.x[0] > 3-6*kappa) {
		t.Errorf("in [1, ∞): %v, true one 3", l.x)
	}
	for _, low := range []float64{0, 1e-9, .5, 1} {
		for _, share := range []float64{1e-6, .3, .5, .9} {
			f := filling{nodes: []float64{low, 1.5}, above: []float64{share * (1 + kappa/2)},
				gap: []float64{(1 - share) * (1 - kappa/2)}}
			l := f.barycentres(kappa)
			if mean := low + share*(1.5-low); !(l.x[0] < mean) || !(l.x[0] > mean-3*kappa) {
				t.Errorf("in [%v, 1.5]: %v, true one %v", low, l.x, mean)
			}
		}
	}
}

// The product of a billion ratios, by whose rounding its law is not to be below the truth or above it
// on the wrong side: a rare response of two points, which is binomial.
func TestProductOfABillion(t *testing.T) {
	r := must.Get(pair.RandomizedResponse(.9, 0, 1e-9))
	steps := []pair.Step{{Pair: r, Times: 1_000_000_000}}
	for _, delta := range []float64{1e-6, 1e-8} {
		exact := must.Get(closed.Accountant{}.Bound(t.Context(), steps, pair.EpsilonAt(delta)))
		parts := must.Get(Accountant{}.parts(steps))
		q := question{logDelta: math.Log(delta), invert: true, limit: math.NaN()}
		must.Do(parts[0].prepare(q.logDelta, 1))
		for _, by := range []fineness{{FineLaw / 4, FineLaw / 4, FineLaw / 4}, {48, 192, 384}, {192, 96, 96}} {
			v, err := direct(t.Context(), parts, q, by)
			if err != nil || v.Lower > exact.Upper || v.Upper < exact.Lower || !(v.Lower > .7*exact.Lower) {
				t.Errorf("δ = %v, %v: ε in %v, %v; is %v", delta, by, v, err, exact.Interval)
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
	p := must.Get(pair.Poisson(pair.Gaussian, 1, 1e-3, 0, 1))
	steps := []pair.Step{{Pair: p, Times: 500}}
	bins := must.Get(Accountant{Width: 1e-4}.Bound(t.Context(), steps, pair.EpsilonAt(1e-6)))
	parts := must.Get(Accountant{}.parts(steps))
	q := question{logDelta: math.Log(1e-6), invert: true, limit: math.NaN()}
	if (Accountant{}).rare(parts, q.logDelta, 1) {
		t.Error("a rate of a thousandth is said to be rare")
	}
	laws, err := direct(t.Context(), parts, q, fineness{bulk: 1000, jumps: 1000})
	if err != nil || laws.Lower > bins.Upper || laws.Upper < bins.Lower || laws.Upper-laws.Lower > 5e-3*laws.Upper {
		t.Errorf("ε in %v by laws, %v; in %v by bins", laws, err, bins)
	}
}

// Products enclose what the contour integral has with ten times the usual work, on few cells of bulk as on
// many, and narrowly where rare large losses decide.
func TestLawsEncloseContours(t *testing.T) {
	for _, c := range []struct{ noise, exact, width float64 }{{.5, .0266179717, .2}, {.3, 5.367870606, .02}} {
		p := must.Get(pair.Poisson(pair.Gaussian, c.noise, 1e-6, 0, 1))
		parts := must.Get(Accountant{}.parts([]pair.Step{{Pair: p, Times: 1_000_000}}))
		q := question{logDelta: math.Log(1e-5), invert: true, limit: math.NaN()}
		must.Do(parts[0].prepare(q.logDelta, 1))
		for _, by := range []fineness{{bulk: 48, jumps: 192}, {bulk: 96, jumps: 192}, {bulk: 192, jumps: 96},
			{bulk: 192, jumps: 768}, {bulk: 400, jumps: 400}} {
			v, err := direct(t.Context(), parts, q, by)
			if err != nil || v.Lower > c.exact*(1+1e-8) || v.Upper < c.exact*(1-1e-8) ||
				v.Upper-v.Lower > c.width*v.Upper {
				t.Errorf("σ = %v by %v cells: ε in %v, %v; is %v", c.noise, by, v, err, c.exact)
			}
		}
		if v := (Accountant{}).laws(t.Context(), parts, q, pair.Interval{Upper: 100}); v.Lower > c.exact*(1+1e-8) ||
			v.Upper < c.exact*(1-1e-8) || v.Upper-v.Lower > directWidth*v.Upper {
			t.Errorf("σ = %v: ε in %v, is %v", c.noise, v, c.exact)
		}
	}
}
