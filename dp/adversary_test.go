package dp_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/dp"
	"coupling/dp/pair"
	"coupling/lab/must"
)

// A game is two data sets of few records, and the integer functions of their batches that one
// record moves by at most one unit: records 0 to removed−1 are in x only, the next inserted ones in
// x′ only, and the others in both.
type game struct {
	removed, inserted, common int
	fixed                     bool // batches of one size: the unit is the exchange of a record of a batch
	apart                     int  // units between a removed and an inserted record of such batches
}

// batches lists the batches of the records in data, as sorted lists, with their probabilities, for
// a Poisson sample, or n records without or with replacement.
func batches(data []int, kind string, rate float64, n int) (list [][]int, chance []float64) {
	switch kind {
	case "poisson", "without":
		for set := range 1 << len(data) {
			k := bits.OnesCount(uint(set))
			if kind == "without" && k != n {
				continue
			}
			var b []int
			for i, r := range data {
				if set>>i&1 > 0 {
					b = append(b, r)
				}
			}
			list = append(list, b)
			chance = append(chance, math.Pow(rate, float64(k))*math.Pow(1-rate, float64(len(data)-k)))
		}
		if kind == "without" {
			for i := range chance {
				chance[i] = 1 / float64(len(chance))
			}
		}
	case "with":
		for code := range int(math.Pow(float64(len(data)), float64(n))) {
			b := make([]int, n)
			for i := range b {
				b[i], code = data[code%len(data)], code/len(data)
			}
			slices.Sort(b)
			list = append(list, b)
			chance = append(chance, math.Pow(float64(len(data)), -float64(n)))
		}
	}
	return list, chance
}

// distance is the number of units between two batches.
func (g game) distance(a, b []int) int {
	var left, right []int // what is in one and not in the other
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			left = append(left, a[i])
			i++
		case i == len(a) || b[j] < a[i]:
			right = append(right, b[j])
			j++
		default:
			i, j = i+1, j+1
		}
	}
	if !g.fixed {
		return len(left) + len(right)
	}
	kind := func(r int) int { // 0 removed, 1 inserted, 2 common
		switch {
		case r < g.removed:
			return 0
		case r < g.removed+g.inserted:
			return 1
		}
		return 2
	}
	var match func(left, right []int) int
	match = func(left, right []int) int {
		if len(left) == 0 {
			return 0
		}
		least := math.MaxInt
		for k, r := range right {
			cost := 1
			if kind(left[0])+kind(r) == 1 {
				cost = g.apart
			}
			rest := append(slices.Clone(right[:k]), right[k+1:]...)
			least = min(least, cost+match(left[1:], rest))
		}
		return least
	}
	return match(left, right)
}

// law is that of the noisy function.
func law(list [][]int, chance []float64, f func(b []int) int, noise []float64) []float64 {
	out := make([]float64, len(noise)+16)
	for i, b := range list {
		at := f(b) + 8
		for k, p := range noise {
			out[at+k] += chance[i] * p
		}
	}
	return out
}

// Integer noise on batches of every kind: no function of the batches, of thousands that one record
// moves by at most a unit, has a δ above the one that is claimed, and where a pair is tight, one
// comes near. A pair that were too small would be found out.
func TestNoFunctionOfBatchesBeatsTheClaim(t *testing.T) {
	const scale, sigma, rate, reach = 1.3, 1.1, .35, 60
	laplace, gaussian := make([]float64, 2*reach+1), make([]float64, 2*reach+1)
	for k := range laplace {
		d := float64(k - reach)
		laplace[k], gaussian[k] = math.Exp(-math.Abs(d)/scale), math.Exp(-d*d/(2*sigma*sigma))
	}
	for _, noise := range [][]float64{laplace, gaussian} {
		sum := 0.0
		for _, p := range noise {
			sum += p
		}
		for k := range noise {
			noise[k] /= sum
		}
	}
	rng := rand.New(rand.NewPCG(20, 7))
	for _, c := range []struct {
		kind  string
		n     int
		r     dp.Relation
		g     game
		tight float64 // of the claim that some function reaches, at ε = 0
	}{
		{"poisson", 0, dp.Relation{Kind: dp.Removal}, game{1, 0, 3, false, 0}, .999},
		{"poisson", 0, dp.Relation{Kind: dp.Insertion, Group: 2}, game{0, 2, 2, false, 0}, .999},
		{"poisson", 0, dp.Relation{Kind: dp.Substitution}, game{1, 1, 2, false, 0}, .999},
		{"poisson", 0, dp.Relation{Kind: dp.Substitution, Group: 2}, game{2, 2, 1, false, 0}, .999},
		{"without", 2, dp.Relation{Kind: dp.Removal}, game{1, 0, 3, true, 0}, .999},
		{"without", 2, dp.Relation{Kind: dp.Insertion}, game{0, 1, 3, true, 0}, .999},
		{"without", 2, dp.Relation{Kind: dp.Removal, Group: 2}, game{2, 0, 2, true, 0}, .999},
		{"without", 2, dp.Relation{Kind: dp.Substitution}, game{1, 1, 3, true, 2}, .999},
		{"without", 2, dp.Relation{Kind: dp.Exchange}, game{1, 1, 3, true, 1}, .999},
		{"without", 3, dp.Relation{Kind: dp.Exchange}, game{1, 1, 3, true, 1}, .999},
		{"without", 3, dp.Relation{Kind: dp.Substitution, Group: 2}, game{2, 2, 2, true, 2}, .999},
		{"with", 2, dp.Relation{Kind: dp.Removal}, game{1, 0, 3, true, 0}, .999},
		{"with", 3, dp.Relation{Kind: dp.Insertion, Group: 2}, game{0, 2, 2, true, 0}, .999},
		{"with", 2, dp.Relation{Kind: dp.Substitution}, game{1, 1, 2, true, 2}, .999},
	} {
		var x, y []int
		for r := range c.g.removed + c.g.inserted + c.g.common {
			if r < c.g.removed || r >= c.g.removed+c.g.inserted {
				x = append(x, r)
			}
			if r >= c.g.removed {
				y = append(y, r)
			}
		}
		xs, px := batches(x, c.kind, rate, c.n)
		ys, py := batches(y, c.kind, rate, c.n)
		all := append(slices.Clone(xs), ys...)
		sample := func(m dp.Event) dp.Event {
			switch size := max(len(x), len(y)); c.kind {
			case "without":
				return dp.WithoutReplacement{Batch: c.n, Size: size, Event: m}
			case "with":
				return dp.WithReplacement{Batch: c.n, Size: size, Event: m}
			}
			return dp.Poisson{Rate: rate, Event: m}
		}
		for i, noise := range [][]float64{laplace, gaussian} {
			e := sample([]dp.Event{dp.DiscreteLaplace{Scale: scale}, dp.DiscreteGaussian{Sigma: sigma}}[i])
			claims := map[float64]float64{}
			for _, eps := range []float64{-.4, 0, .2, .7, 1.5} {
				branches := must.Get(dp.Branches(e, c.r))
				claims[eps] = pair.Delta(branches[0].Steps[0].Pair, eps)
			}
			most := map[float64]float64{}
			for k := range 300 {
				// The largest function with given values at some batches, and how many of the records
				// x alone has, less those that x′ alone has.
				anchors, values := [][]int{}, []int{}
				for range 1 + rng.IntN(6) {
					anchors, values = append(anchors, all[rng.IntN(len(all))]), append(values, rng.IntN(5)-2)
				}
				f := func(b []int) int {
					if k == 0 {
						count := 0
						for _, r := range b {
							switch {
							case r < c.g.removed:
								count++
							case r < c.g.removed+c.g.inserted && c.g.apart != 1:
								count--
							}
						}
						return count
					}
					v := math.MaxInt
					for i, a := range anchors {
						v = min(v, values[i]+c.g.distance(a, b))
					}
					return min(max(v, -8), 8)
				}
				p, q := law(xs, px, f, noise), law(ys, py, f, noise)
				for eps := range claims {
					sum := 0.0
					for k := range p {
						sum += max(0, p[k]-math.Exp(eps)*q[k])
					}
					most[eps] = max(most[eps], sum)
				}
			}
			for eps, claim := range claims {
				if most[eps] > claim*(1+1e-9)+1e-13 {
					t.Errorf("%v under %v: δ(%v) = %v is claimed, and a function of %+v has %v", e, c.r, eps, claim,
						c.g, most[eps])
				}
			}
			t.Logf("%v under %v: %.5f of the claim at 0", e, c.r, most[0]/claims[0])
			if most[0] < c.tight*claims[0] {
				t.Errorf("%v under %v: %v is claimed, and the most found is %v", e, c.r, claims[0], most[0])
			}
		}
	}
}
