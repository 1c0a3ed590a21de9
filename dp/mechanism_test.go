package dp_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/dp"
	"coupling/dp/best"
	"coupling/dp/dptest"
	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/dp/rdp"
	"coupling/lab/must"
)

// pairs returns the pairs of a single step for all splits of a relation.
func pairs(e dp.Event, r dp.Relation) []pair.Pair {
	branches := must.Get(dp.Branches(e, r))
	var out []pair.Pair
	for _, b := range branches {
		out = append(out, b.Steps[0].Pair)
	}
	return out
}

// sampled lists the ways to run a mechanism, with relations that all noise has a pair for.
func sampled(m dp.Event) []dp.Event {
	return []dp.Event{
		m, dp.Poisson{Rate: .3, Event: m}, dp.Poisson{Rate: .001, Event: m},
		dp.WithoutReplacement{Batch: 7, Size: 20, Event: m}, dp.WithReplacement{Batch: 7, Size: 20, Event: m},
	}
}

var relations = []dp.Relation{{}, {Group: 4}, {Kind: dp.Substitution}, {Kind: dp.Substitution, Group: 3},
	{Kind: dp.Insertion, Group: 2}, {Kind: dp.Removal, Group: 2}}

// dominates compares δ(ε) of two events at every split, for ε of both signs.
func dominates(t *testing.T, above, below dp.Event, r dp.Relation, tol float64) {
	t.Helper()
	a, b := pairs(above, r), pairs(below, r)
	for i := range a {
		for _, eps := range []float64{-2, -.5, -.01, 0, .003, .1, .4, 1, 2, 3.7} {
			if x, y := pair.Delta(a[i], eps), pair.Delta(b[i], eps); x < y*(1-tol)-1e-16 {
				t.Errorf("%v: δ(%v) = %v, that of %v is %v (%v, split %d)", above, eps, x, below, y, r, i)
			}
		}
	}
}

// What is known of a mechanism by (ε, δ) alone dominates those that have it.
func TestBlackBoxesDominate(t *testing.T) {
	const eps, sigma = .4, 6.
	delta := pair.Delta(pairs(dp.Gaussian{NoiseMultiplier: sigma}, dp.Relation{})[0], eps)
	truth := math.Exp(eps) / (1 + math.Exp(eps))
	for _, r := range relations {
		own, others := sampled(dp.Pure{Epsilon: eps}),
			[][]dp.Event{sampled(dp.DiscreteLaplace{Scale: 1 / eps}), sampled(dp.Laplace{Scale: 1 / eps}),
				sampled(dp.RandomizedResponse{Truth: truth})}
		approximate, gaussian := sampled(dp.Approximate{Epsilon: eps, Delta: delta}),
			sampled(dp.Gaussian{NoiseMultiplier: sigma})
		for i := range own {
			for _, o := range others {
				dominates(t, own[i], o[i], r, 1e-12)
			}
			dominates(t, approximate[i], gaussian[i], r, 1e-9)
		}
	}
	// One record, in all of the data: randomised response is the worst.
	dominates(t, dp.RandomizedResponse{Truth: truth}, dp.Pure{Epsilon: eps}, dp.Relation{}, 1e-12)
	g, err := dp.Epsilon(t.Context(), dp.Repeat{Times: 3, Event: dp.Pure{Epsilon: .3}}, dp.Relation{Group: 3}, 0)
	if err != nil || math.Abs(g.Epsilon-2.7) > 1e-11 || g.Epsilon < 2.7 {
		t.Errorf("three times ε = 0.3 for three records: %v, %v", g, err)
	}
	e := dp.WithoutReplacement{Batch: 5, Size: 50, Event: dp.Pure{Epsilon: 1}}
	if g, err := dp.Epsilon(t.Context(), e, dp.Relation{Kind: dp.Exchange}, 0); err != nil ||
		math.Abs(g.Epsilon-math.Log1p(.1*math.Expm1(1))) > 1e-11 {
		t.Errorf("one of 50 exchanged: %v, %v", g, err)
	}
	_, err = dp.Epsilon(t.Context(), dp.Approximate{Epsilon: 1, Delta: .2}, dp.Relation{Group: 9}, 1e-5)
	if !errors.Is(err, dp.ErrUnbounded) {
		t.Errorf("δ of a group above 1: %v", err)
	}
	g, err = dp.Epsilon(t.Context(), dp.Approximate{Epsilon: 1, Delta: 1e-6}, dp.Relation{}, 1e-6*(1+1e-9))
	if err != nil || math.Abs(g.Epsilon-1) > 1e-6 {
		t.Errorf("(1, 1e-6): %v, %v", g, err)
	}
}

// Concentrated mechanisms are accounted for as the Gaussian of the same divergences, and their
// samples as a bound of its.
func TestConcentrated(t *testing.T) {
	const sigma = 2.
	for _, c := range []struct {
		own, gaussian dp.Event
		r             dp.Relation
		room          float64
	}{
		{dp.ZCDP{Rho: 1 / (2 * sigma * sigma)}, dp.Gaussian{NoiseMultiplier: sigma}, dp.Relation{}, 1e-9},
		{dp.ZCDP{Rho: 1 / (2 * sigma * sigma)}, dp.Gaussian{NoiseMultiplier: sigma}, dp.Relation{Group: 3}, 1e-9},
		{dp.Poisson{Rate: .01, Event: dp.ZCDP{Rho: 1 / (2 * sigma * sigma)}},
			dp.Poisson{Rate: .01, Event: dp.Gaussian{NoiseMultiplier: sigma}}, dp.Relation{}, 2},
	} {
		a := must.Get(dp.Epsilon(t.Context(), dp.Repeat{Times: 40, Event: c.own}, c.r, 1e-6))
		b, err := dp.EpsilonBy(t.Context(), rdp.Accountant{}, dp.Repeat{Times: 40, Event: c.gaussian}, c.r, 1e-6)
		if err != nil || a.Epsilon < b.Epsilon*(1-1e-9) || a.Epsilon > b.Epsilon*(1+c.room) ||
			a.Kind != dp.UpperBound || a.Accountant != "rdp" {
			t.Errorf("%v: %v, the Gaussian's %v, %v", c.own, a, b, err)
		}
	}
	sampled := dp.Poisson{Rate: .1, Event: dp.ZCDP{Rho: 1}}
	if _, err := dp.Epsilon(t.Context(), sampled, dp.Relation{Group: 2}, 1e-5); !errors.Is(err, dp.ErrNoPair) {
		t.Errorf("a group of a sample: %v", err)
	}
}

// One record of a mechanism known by its pair is sampled as the mechanism is.
func TestFromPairSampled(t *testing.T) {
	r := dp.Relation{}
	for _, m := range []dp.Event{dp.Gaussian{NoiseMultiplier: 1.3}, dp.NormNoise{Zeta: 2, Dim: 5},
		dp.DiscreteLaplace{Scale: 2}, dp.DiscreteGaussian{Sigma: 1, Values: 2}} {
		own := dp.FromPair{Removal: pairs(m, dp.Relation{Kind: dp.Removal})[0]}
		for _, rate := range []float64{.3, 1e-4} {
			a, b := pairs(dp.Poisson{Rate: rate, Event: own}, r), pairs(dp.Poisson{Rate: rate, Event: m}, r)
			for i := range a {
				for _, eps := range []float64{-1, -.05, 0, .01, .2, 1.1, 4} {
					x, y := a[i].LogDelta(eps), b[i].LogDelta(eps)
					if !(x == y || math.Abs(x-y) < 1e-9 || max(x, y) < -700) { // e^−709 stands for what underflows
						t.Errorf("%v at rate %v: log δ(%v) = %v, want %v", m, rate, eps, x, y)
					}
					xp, xq := a[i].LogTails(eps)
					yp, yq := b[i].LogTails(eps)
					if math.Abs(math.Exp(xp)-math.Exp(yp)) > 1e-9 || math.Abs(math.Exp(xq)-math.Exp(yq)) > 1e-9 {
						t.Errorf("%v at rate %v: tails at %v are %v, %v, want %v, %v", m, rate, eps, xp, xq, yp, yq)
					}
				}
				for _, alpha := range []float64{1.5, 2, 7.3} {
					x, e := a[i].LogMoment(alpha)
					y, f := b[i].LogMoment(alpha)
					if x+e < y-f-1e-12*y {
						t.Errorf("%v at rate %v: K(%v) ≤ %v, is %v", m, rate, alpha, x+e, y)
					}
				}
			}
		}
	}
}

// laplace2 is two integers with discrete Laplace noise: log P(o | centre).
func laplace2(o, c [2]int, scale float64) float64 {
	return -(math.Abs(float64(o[0]-c[0])) + math.Abs(float64(o[1]-c[1]))) / scale
}

// ε does not fall as noise becomes smaller, down to the smallest float64, where it may be refused.
func TestTinyNoise(t *testing.T) {
	for _, at := range []func(noise float64) dp.Event{
		func(b float64) dp.Event { return dp.DiscreteLaplace{Scale: b, Sensitivity: 1} },
		func(b float64) dp.Event { return dp.DiscreteLaplace{Scale: b, Sensitivity: 7} },
		func(s float64) dp.Event { return dp.DiscreteGaussian{Sigma: s} },
		func(s float64) dp.Event { return dp.Poisson{Rate: .1, Event: dp.DiscreteLaplace{Scale: s}} },
		func(b float64) dp.Event { return dp.Laplace{Scale: b} },
		func(s float64) dp.Event { return dp.Gaussian{NoiseMultiplier: s} },
	} {
		last := 0.0
		for noise := 10.0; noise > 0; noise /= 64 {
			g, err := dp.Epsilon(t.Context(), dp.Repeat{Times: 3, Event: at(noise)}, dp.Relation{}, 1e-6)
			if err != nil {
				g.Epsilon = math.Inf(1)
			}
			if !(g.Epsilon >= last*(1-1e-9)) {
				t.Errorf("%v: ε = %v (%v), and %v with more noise", at(noise), g.Epsilon, err, last)
			}
			last = g.Epsilon
		}
	}
}

// Integer noise by enumeration in two dimensions: whatever records add to the sum of a Poisson
// sample, δ is at most the claim, and where all records move one coordinate the same way it is
// attained.
func TestDiscreteLaplaceByEnumeration(t *testing.T) {
	const scale, rate, reach = 1.4, .4, 40
	rng := rand.New(rand.NewPCG(2, 6))
	steps := [][2]int{{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {0, 0}}
	norm := math.Pow(-math.Expm1(-1/scale)/(1+math.Exp(-1/scale)), 2)
	mix := func(records [][2]int) map[[2]int]float64 { // law of the sum of the records in the sample
		law := map[[2]int]float64{{}: 1}
		for _, s := range records {
			next := map[[2]int]float64{}
			for c, w := range law {
				next[c] += w * (1 - rate)
				next[[2]int{c[0] + s[0], c[1] + s[1]}] += w * rate
			}
			law = next
		}
		return law
	}
	for trial := range 12 {
		var in, out [][2]int
		for range 2 {
			in, out = append(in, steps[rng.IntN(5)]), append(out, steps[rng.IntN(5)])
		}
		if trial == 0 {
			in, out = [][2]int{{-1, 0}, {-1, 0}}, [][2]int{{1, 0}, {1, 0}}
		}
		claim := pairs(dp.Poisson{Rate: rate, Event: dp.DiscreteLaplace{Scale: scale}},
			dp.Relation{Kind: dp.Substitution, Group: 2})[0]
		for _, eps := range []float64{0, .3, 1} {
			delta := 0.0
			p, q := mix(out), mix(in)
			for x := -reach; x <= reach; x++ {
				for y := -reach; y <= reach; y++ {
					a, b := 0.0, 0.0
					for c, w := range p {
						a += w * math.Exp(laplace2([2]int{x, y}, c, scale))
					}
					for c, w := range q {
						b += w * math.Exp(laplace2([2]int{x, y}, c, scale))
					}
					delta += max(0, a-math.Exp(eps)*b) * norm
				}
			}
			got := pair.Delta(claim, eps)
			if delta > got*(1+1e-9) || trial == 0 && delta < got*(1-1e-9) {
				t.Errorf("in %v, out %v: δ(%v) = %v, claimed %v", in, out, eps, delta, got)
			}
		}
	}
}

// The discrete Gaussian on several values, each moved, is the product of its coordinates; and what
// the review of this package measured as true for one value is what it reports.
func TestDiscreteGaussian(t *testing.T) {
	const sigma = 1.2
	one := pairs(dp.DiscreteGaussian{Sigma: sigma, Sensitivity: 2}, dp.Relation{Kind: dp.Removal})[0]
	three := pairs(dp.DiscreteGaussian{Sigma: sigma, Sensitivity: 2, Values: 3}, dp.Relation{Kind: dp.Removal})[0]
	atoms := one.Support().Atoms
	for _, eps := range []float64{0, 1, 4} {
		want := 0.0
		for _, a := range atoms {
			for _, b := range atoms {
				for _, c := range atoms {
					if l := a.Loss + b.Loss + c.Loss; l > eps && a.P*b.P*c.P > 0 {
						want += a.P * b.P * c.P * -math.Expm1(eps-l)
					}
				}
			}
		}
		if got := pair.Delta(three, eps); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("δ(%v) = %v, want %v", eps, got, want)
		}
	}
	for sigma, want := range map[float64]float64{1: 4.4996, 1.5: 3.130, 2: 2.276, 2.5: 1.778, 3: 1.455, 5: .835,
		10: .3968} {
		g, err := dp.Epsilon(t.Context(), dp.DiscreteGaussian{Sigma: sigma}, dp.Relation{}, 1e-6)
		if err != nil || math.Abs(g.Epsilon/want-1) > 4e-4 || g.Kind != dp.Exact {
			t.Errorf("σ = %v: %v, %v; want %v", sigma, g, err, want)
		}
	}
	for _, b := range []float64{.5, 1, 2, 5, 20, 1e4} {
		g, err := dp.Epsilon(t.Context(), dp.DiscreteLaplace{Scale: b, Sensitivity: 3}, dp.Relation{}, 0)
		if err != nil || math.Abs(g.Epsilon*b/3-1) > 2e-14 || g.Epsilon < 3/b {
			t.Errorf("scale %v, sensitivity 3: %v, %v", b, g, err)
		}
	}
	// Fine noise approaches the continuous one, sampled, in groups and substituted.
	for i, e := range sampled(dp.DiscreteGaussian{Sigma: 40, Sensitivity: 20}) {
		for _, r := range relations {
			a := must.Get(dp.Epsilon(t.Context(), e, r, 1e-6))
			b, err := dp.Epsilon(t.Context(), sampled(dp.Gaussian{NoiseMultiplier: 2})[i], r, 1e-6)
			if err != nil || math.Abs(a.Epsilon/b.Epsilon-1) > 2e-3 {
				t.Errorf("%v under %v: %v; continuous %v, %v", e, r, a, b, err)
			}
		}
	}
}

// A group of a thousand is worst where all are removed; what is said is what the removal alone has.
func TestLargeGroup(t *testing.T) {
	e := dp.SGD(5, .001, 1000)
	g := must.Get(dp.Epsilon(t.Context(), e, dp.Relation{Group: 1000}, 1e-6))
	removal, err := dp.Epsilon(t.Context(), e, dp.Relation{Kind: dp.Removal, Group: 1000}, 1e-6)
	if err != nil || g.Kind != dp.Exact || g.Removed != 1000 || g.Epsilon < removal.Epsilon ||
		g.Epsilon > removal.Epsilon*(1+1e-9) {
		t.Errorf("%v, removal alone %v, %v", g, removal, err)
	}
	// Where distributions are needed for each split, some splits are bounded together.
	e = dp.Repeat{Times: 10, Event: dp.Poisson{Rate: .001, Event: dp.Laplace{Scale: 500}}}
	if g, err = dp.Epsilon(t.Context(), e, dp.Relation{Group: 1000}, 1e-6); err != nil {
		t.Fatal(err)
	}
	removal, err = dp.Epsilon(t.Context(), e, dp.Relation{Kind: dp.Removal, Group: 1000}, 1e-6)
	if err != nil || g.Lower < removal.Lower*(1-1e-9) || g.Epsilon < removal.Epsilon ||
		g.Epsilon > removal.Epsilon*1.15 || g.Kind != dp.UpperBound {
		t.Errorf("%v, removal alone %v, %v", g, removal, err)
	}
	if testing.Short() {
		return
	}
	// Where too many splits are as bad, the number is an upper bound.
	e, k := dp.SGD(50, .001, 1000), 3000
	if g, err = dp.Epsilon(t.Context(), e, dp.Relation{Group: k}, 1e-6); err != nil {
		t.Fatal(err)
	}
	removal, err = dp.Epsilon(t.Context(), e, dp.Relation{Kind: dp.Removal, Group: k}, 1e-6)
	if err != nil || g.Lower < removal.Lower || g.Epsilon > removal.Epsilon*1.02 || g.Kind != dp.UpperBound {
		t.Errorf("K = %d: %v, removal alone %v: %v", k, g, removal, err)
	}
}

// rounded is a mechanism of another package: a value rounded up or down at random, which one record
// moves by Step: 1 or 0 with probability Step more or less. It is sampled with the helper for one
// record.
type rounded struct{ Step float64 }

func (m rounded) String() string { return fmt.Sprintf("rounded(%g)", m.Step) }

func (m rounded) Pair(b dp.Batch) (pair.Pair, error) {
	if !(m.Step > 0 && m.Step < .5) {
		return nil, fmt.Errorf("rounded: step = %v: must be in (0, 1/2): %w", m.Step, dp.ErrParameter)
	}
	p, err := pair.NewDiscrete([]float64{.5 + m.Step, .5 - m.Step}, []float64{.5, .5})
	if err != nil {
		return nil, err
	}
	return b.OneRecord(m, p)
}

// bit is a mechanism of another package that is not symmetric: 1 with probability .99 if a special
// record is in the batch, else with probability 1/2.
type bit struct{}

func (bit) String() string { return "bit" }

func (m bit) Pair(b dp.Batch) (pair.Pair, error) {
	return b.Of(m, func(logW, logV []float64) (pair.Pair, error) {
		// P(1) if all of the records are special
		one := func(log []float64) float64 { return .5 - .49*math.Expm1(log[0]) }
		p, q := one(logW), one(logV)
		if p == .5 || q == .5 {
			return pair.NewDiscrete([]float64{p, 1 - p}, []float64{q, 1 - q})
		}
		p = max(p, q) // special are the removed records or the inserted ones: the larger δ at each ε
		return pair.NewDiscrete([]float64{1 - p, p - .5, .5}, []float64{.5, p - .5, 1 - p})
	})
}

// bitEpsilon is the ε of n runs of the bit by the definition, in one direction; hit is the
// probability that the record is in a batch.
func bitEpsilon(inserted bool, hit float64, n int, delta float64) float64 {
	p, q := .5+.49*hit, .5
	if inserted {
		p, q = q, p
	}
	lo, hi := 0., 20.
	for range 200 {
		mid, sum := (lo+hi)/2, 0.
		for k := range n + 1 { // ones
			ones, zeros := float64(k), float64(n-k)
			ways := math.Gamma(float64(n+1)) / math.Gamma(ones+1) / math.Gamma(zeros+1)
			if d := math.Pow(p, ones)*math.Pow(1-p, zeros) -
				math.Exp(mid)*math.Pow(q, ones)*math.Pow(1-q, zeros); d > 1e-16 {
				sum += ways * d
			}
		}
		if sum > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// A mechanism of another package that is not symmetric is accounted for in both directions, whether
// the batch is a sample or all of the data.
func TestBothDirections(t *testing.T) {
	type event struct {
		dp.Event
		times  int
		hit    float64
		single bool // of the relations, only those of one record have this probability
	}
	events := []event{
		{bit{}, 1, 1, false}, {dp.Poisson{Rate: 1, Event: bit{}}, 1, 1, false},
		{dp.Repeat{Times: 2, Event: bit{}}, 2, 1, false},
		{dp.Compose{bit{}, dp.Poisson{Rate: 1, Event: bit{}}, bit{}}, 3, 1, false},
		{dp.Poisson{Rate: .75, Event: bit{}}, 1, .75, true},
		{dp.WithoutReplacement{Batch: 3, Size: 4, Event: bit{}}, 1, .75, true},
		{dp.Repeat{Times: 2, Event: dp.WithoutReplacement{Batch: 3, Size: 4, Event: bit{}}}, 2, .75, true},
	}
	for _, e := range events {
		for kind := dp.AddRemove; kind <= dp.Exchange; kind++ {
			for _, group := range []int{1, 2} {
				if e.single && group > 1 {
					continue
				}
				r := dp.Relation{Kind: kind, Group: group}
				for _, delta := range []float64{0, .003, .2} {
					want := 0.
					if kind != dp.Insertion {
						want = bitEpsilon(false, e.hit, e.times, delta)
					}
					if kind != dp.Removal {
						want = max(want, bitEpsilon(true, e.hit, e.times, delta))
					}
					g, err := dp.Epsilon(t.Context(), e.Event, r, delta)
					if text := e.String(); kind == dp.Exchange && text != "bit" && text != "2 × bit" { // a sample
						if !errors.Is(err, dp.ErrNoPair) {
							t.Errorf("%v under %v: %v, %v", e, r, g, err)
						}
						continue
					}
					// Where records are on both sides a pair covers, at each step, the worse of the two.
					loose := e.times > 1 && delta > 0 &&
						(kind == dp.Substitution || kind == dp.Exchange || kind == dp.AddRemove && group > 1)
					if err != nil || g.Epsilon < want*(1-1e-12) || !loose && g.Epsilon > want*(1+1e-9) {
						t.Errorf("%v under %v at δ = %v: %v, %v; truth %v", e, r, delta, g, err, want)
					}
				}
			}
		}
	}
}

// careful is an accountant of another package: the sum of the largest losses, whatever δ is.
type careful struct{}

func (careful) Name() string { return "careful" }

func (careful) Bound(ctx context.Context, steps []pair.Step, q pair.Question) (pair.Answer, error) {
	if err := q.Check("careful", steps); err != nil {
		return pair.Answer{}, err
	}
	sum := 0.0
	for _, s := range steps {
		sum += float64(s.Times) * max(0, s.Pair.Support().Max) * (1 + 1e-12)
	}
	out := pair.Answer{Interval: pair.Interval{Upper: sum}, By: "careful"}
	switch {
	case math.IsInf(sum, 1):
		return pair.Answer{}, fmt.Errorf("careful: %w", dp.ErrUnbounded)
	case q.Delta && sum > q.At:
		out.Upper = 1
	case q.Delta:
		out.Upper = 0
	}
	return out, ctx.Err()
}

// A mechanism and an accountant from elsewhere are composed, sampled, grouped, calibrated and
// compared as the package's own.
func TestFromElsewhere(t *testing.T) {
	t.Run("Accountant", func(t *testing.T) {
		dptest.Run(t, dptest.Subject{Accountant: careful{}, Answers: func([]pair.Step) bool { return false },
			RelTol: 1e-6})
	})
	e := dp.Compose{dp.Repeat{Times: 20, Event: dp.Poisson{Rate: .1, Event: rounded{.2}}}, dp.Laplace{Scale: 30}}
	all := must.Get(dp.Epsilon(t.Context(), e, dp.Relation{}, 1e-6))
	own, err := dp.EpsilonBy(t.Context(), best.FirstOf{careful{}}, e, dp.Relation{}, 1e-6)
	if err != nil || own.Accountant != "careful" || own.Epsilon < all.Lower || all.Epsilon > own.Epsilon {
		t.Errorf("best %v, own %v, %v", all, own, err)
	}
	// δ = 0 is asked of the accountant that is given
	for _, by := range []dp.Accountant{careful{}, rdp.Accountant{}, dp.Best{}} {
		want := by.Name()
		if by == (dp.Best{}) {
			want = "closed form"
		}
		if g, err := dp.EpsilonBy(t.Context(), by, rounded{.2}, dp.Relation{}, 0); err != nil || g.Accountant != want ||
			math.Abs(g.Epsilon-math.Log(.5/.3)) > 1e-9 {
			t.Errorf("%s at δ = 0: %v, %v", want, g, err)
		}
	}
	if g, err := dp.EpsilonBy(t.Context(), pld.Accountant{}, rounded{.2}, dp.Relation{}, 0); !errors.Is(err,
		dp.ErrNotApplicable) {
		t.Errorf("distributions at δ = 0: %v, %v", g, err)
	}
	n, err := dp.MaxSteps(t.Context(), dp.Budget{Epsilon: 1, Delta: 1e-6},
		func(n int) dp.Event { return dp.Repeat{Times: n, Event: rounded{.1}} })
	if err != nil || n < 1 {
		t.Errorf("%d steps, %v", n, err)
	}
	if _, err := dp.Epsilon(t.Context(), rounded{.2}, dp.Relation{Group: 2}, 1e-6); !errors.Is(err, dp.ErrNoPair) {
		t.Errorf("two records: %v", err)
	}
	if _, err := dp.Epsilon(t.Context(), dp.Poisson{Rate: .5, Event: rounded{.7}}, dp.Relation{}, 1e-6); !errors.Is(err,
		dp.ErrParameter) {
		t.Errorf("step 0.7: %v", err)
	}
}
