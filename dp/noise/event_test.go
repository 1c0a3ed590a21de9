package noise

import (
	"errors"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/pair"
	"coupling/lab/must"

	"gonum.org/v1/gonum/floats"
)

// profile is δ(ε) by enumeration of a law on the integers, independent in each coordinate, moved by shift.
func profile(law func(k int) float64, reach int, shift []int, eps float64) float64 {
	far := reach
	for _, v := range shift {
		far = max(far, reach+v, reach-v)
	}
	mass, total := make([]float64, 2*far+1), 0.0
	for k := -far; k <= far; k++ {
		mass[k+far] = law(k)
		if -reach <= k && k <= reach {
			total += law(k)
		}
	}
	floats.Scale(1/total, mass)
	var walk func(i int, p, q float64) float64
	walk = func(i int, p, q float64) float64 {
		if i == len(shift) {
			return max(0, p-math.Exp(eps)*q)
		}
		sum := 0.0
		for k := -reach; k <= reach; k++ {
			sum += walk(i+1, p*mass[k+far], q*mass[k-shift[i]+far])
		}
		return sum
	}
	return walk(0, 1, 1)
}

func gauss(s float64) func(k int) float64 {
	return func(k int) float64 { return math.Exp(-float64(k*k) / (2 * s * s)) }
}

func laplace(b float64) func(k int) float64 {
	return func(k int) float64 { return math.Exp(-math.Abs(float64(k)) / b) }
}

var grid = []float64{-1, -0.1, 0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3}

// epsilons is the grid, or every fourth of it in short tests.
func epsilons() (out []float64) {
	for i, eps := range grid {
		if !testing.Short() || i%4 == 0 {
			out = append(out, eps)
		}
	}
	return out
}

// δ is dp.Delta's for ε ≥ 0, and follows by symmetry below.
func claimed(t *testing.T, e dp.Event, eps float64) float64 {
	g := must.Get(dp.Delta(t.Context(), e, dp.Relation{}, math.Abs(eps)))
	if eps < 0 {
		return -math.Expm1(eps) + math.Exp(eps)*g.Delta
	}
	return g.Delta
}

// No enumerated profile is above the one claimed; the continuous Gaussian of the same σ would be too small somewhere.
func TestGaussianEventDominates(t *testing.T) {
	tooSmall := 0
	for _, c := range []struct {
		s     float64
		reach int
		shift []int
	}{
		{3, 40, []int{1, 1}},
		{4, 45, []int{1, 0}}, {4, 45, []int{1, 1}}, {4, 45, []int{3, -2}}, {4, 45, []int{5, 4}},
		{6, 60, []int{7, 1}}, {9, 90, []int{1, 2}},
		{3.5, 24, []int{1, 1, 1}},
		{64, 700, []int{3}}, {64, 700, []int{64}}, {100, 1000, []int{1}}, {500, 4500, []int{150}},
	} {
		norm := 0.0
		for _, v := range c.shift {
			norm += float64(v * v)
		}
		norm = math.Sqrt(norm)
		q := Query{Sensitivity: norm, Dim: len(c.shift), OnGrid: true}
		e := must.Get(Gaussian{Sigma: c.s, Granularity: 1}.Event(q))
		_, continuous := e.(dp.Gaussian)
		if exact := c.s < fine && (len(c.shift) == 1 || norm < 1.4); exact == continuous {
			t.Errorf("s = %v, shift %v: event %v", c.s, c.shift, e)
		}
		for _, eps := range epsilons() {
			exact := profile(gauss(c.s), c.reach, c.shift, eps)
			if exact < 1e-12 { // rounding of the enumeration
				continue
			}
			if got := claimed(t, e, eps); exact > got*(1+1e-9) { // the enumeration's relative rounding there
				t.Errorf("s = %v, shift %v: δ(%v) = %v, claimed %v", c.s, c.shift, eps, exact, got)
			}
			if exact > claimed(t, dp.Gaussian{NoiseMultiplier: c.s / norm}, eps)*(1+1e-9) {
				tooSmall++
			}
		}
	}
	if tooSmall == 0 {
		t.Error("the continuous Gaussian of the same σ dominates everywhere: the test shows nothing")
	}
}

// At the default granularity the correction and the rounding of values cost nothing that matters.
func TestGaussianEventIsTight(t *testing.T) {
	for _, d := range []int{1, 1000, 1_000_000} {
		e := must.Get(Gaussian{Sigma: 2.2}.Event(Query{Sensitivity: 2, Dim: d}))
		noise := e.(dp.Gaussian).NoiseMultiplier
		// Granularity ≤ σ·2^-30: √d steps are √d·2^-30·σ/Δ of the sensitivity.
		if least := 1.1 * (1 - 1.2*math.Sqrt(float64(d))*0x1p-30); noise > 1.1 || noise < least {
			t.Errorf("d = %d: noise %v, want between %v and 1.1", d, noise, least)
		}
	}
}

func TestCoarseEventsAreExact(t *testing.T) {
	for _, shift := range []int{1, 2, 5} {
		for _, s := range []float64{0.5, 1, 3.3} {
			if testing.Short() && (s == 1) != (shift == 2) {
				continue
			}
			q := Query{Sensitivity: float64(shift), OnGrid: true}
			g := must.Get(Gaussian{Sigma: s, Granularity: 1}.Event(q))
			l := must.Get(Laplace{Scale: s, Granularity: 1}.Event(q))
			for _, eps := range epsilons() {
				for name, c := range map[string]struct {
					e    dp.Event
					want float64
				}{
					"gaussian": {g, profile(gauss(s), int(30*s)+10, []int{shift}, eps)},
					"laplace":  {l, profile(laplace(s), int(40*s)+10, []int{shift}, eps)},
				} {
					// Sums of some 300 terms of size at most 1 carry 1e-13; dp rounds up by less than 1e-8.
					if got := claimed(t, c.e, eps); got < c.want*(1-1e-12)-1e-13 || got > c.want*(1+1e-8)+1e-13 {
						t.Errorf("%s %v, shift %d: δ(%v) = %v, claimed %v", name, s, shift, eps, c.want, got)
					}
				}
			}
		}
	}
	// Pure ε of integer Laplace noise is shift/scale.
	e := must.Get(Laplace{Scale: 2, Granularity: 1}.Event(Query{Sensitivity: 3, OnGrid: true}))
	got, err := dp.Epsilon(t.Context(), e, dp.Relation{}, 0)
	if err != nil || math.Abs(got.Epsilon-1.5) > 1e-12 { // rounding of exp and log
		t.Errorf("ε = %v (%v), want 1.5", got.Epsilon, err)
	}
}

func TestLaplaceEventDominates(t *testing.T) {
	for _, c := range []struct {
		b     float64
		shift []int
	}{
		{2, []int{1, 1}}, {3, []int{2, 1}}, {3, []int{4, -1}}, {5, []int{0, 3}},
		{64, []int{1}}, {64, []int{50}}, {100, []int{130}},
	} {
		if testing.Short() && c.b == 5 {
			continue
		}
		sum := 0
		for _, v := range c.shift {
			sum += max(v, -v)
		}
		e := must.Get(Laplace{Scale: c.b, Granularity: 1}.Event(
			Query{Sensitivity: float64(sum), Dim: len(c.shift), OnGrid: true}))
		if _, continuous := e.(dp.Laplace); continuous == (c.b < fine) {
			t.Errorf("b = %v: event %v", c.b, e)
		}
		for _, eps := range epsilons() {
			exact := profile(laplace(c.b), int(33*c.b), c.shift, eps)
			if got := claimed(t, e, eps); exact > got*(1+1e-10)+1e-13 { // rounding of the enumeration
				t.Errorf("b = %v, shift %v: δ(%v) = %v, claimed %v", c.b, c.shift, eps, exact, got)
			}
		}
		// The cosh term is needed: without it δ is too small between the breaks of the discrete profile.
		bare := dp.Laplace{Scale: c.b / float64(sum)}
		eps := (float64(sum) - 1) / c.b
		if exact := profile(laplace(c.b), int(33*c.b), c.shift, eps); len(c.shift) == 1 &&
			exact <= claimed(t, bare, eps) {
			t.Errorf("b = %v, shift %v: continuous Laplace noise has δ = %v already", c.b, c.shift,
				claimed(t, bare, eps))
		}
	}
}

// With sampling too: the mixture with a discrete law against the sampled event.
func TestSampledEventDominates(t *testing.T) {
	const s, v, rate = 64, 40, 0.1
	e := must.Get(Gaussian{Sigma: s, Granularity: 1}.Event(Query{Sensitivity: v, OnGrid: true}))
	total := 0.0
	for k := -700; k <= 700; k++ {
		total += gauss(s)(k)
	}
	for _, eps := range []float64{0, 0.02, 0.05, 0.1, 0.2} {
		remove, insert := 0.0, 0.0
		for k := -700; k <= 740; k++ {
			q := gauss(s)(k) / total
			p := (1-rate)*q + rate*gauss(s)(k-v)/total
			remove += max(0, p-math.Exp(eps)*q)
			insert += max(0, q-math.Exp(eps)*p)
		}
		if got := claimed(t, dp.Poisson{Rate: rate, Event: e}, eps); max(remove, insert) > got*(1+1e-9)+1e-15 {
			t.Errorf("δ(%v) = %v and %v, claimed %v", eps, remove, insert, got)
		}
	}
}

// Where there is neither an exact pair nor a continuous law that dominates, Rényi divergences do.
func TestEventsOfLittleNoise(t *testing.T) {
	for _, q := range []Query{{Sensitivity: 1, Dim: 2}, {Sensitivity: 2, Dim: 2, OnGrid: true}} {
		e := must.Get(Gaussian{Sigma: 1, Granularity: 1}.Event(q))
		if _, ok := e.(dp.ZCDP); !ok {
			t.Errorf("%+v: event %v", q, e)
		}
		for _, eps := range epsilons() {
			if exact := profile(gauss(1), 30, []int{1, 1}, eps); eps >= 0 && exact > claimed(t, e, eps) {
				t.Errorf("%+v: δ(%v) = %v, claimed %v", q, eps, exact, claimed(t, e, eps))
			}
		}
	}
	if e, err := (Gaussian{Sigma: 1}).Event(Query{Sensitivity: 1e300}); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("%v, %v", e, err)
	}
}

// Rounding is counted: one value moves by a step more than its sensitivity unless it is on the grid.
func TestQueryCountsRounding(t *testing.T) {
	g := Grid{Step: 0.5}
	for _, c := range []struct {
		q      Query
		l1, l2 float64
	}{
		{Query{Sensitivity: 1, Dim: 1}, 2, 2},
		{Query{Sensitivity: 1.1, Dim: 1}, 3, 3},
		{Query{Sensitivity: 1.1, Dim: 1, OnGrid: true}, 2, 2},
		{Query{Sensitivity: 1, Dim: 4}, 5, 4},
		{Query{Sensitivity: 1, Dim: 4, OnGrid: true}, 2, 2},
	} {
		if l1, l2 := c.q.l1(g), c.q.l2(g); l1 != c.l1 || math.Abs(l2-c.l2) > 1e-14 {
			t.Errorf("%+v: %v and %v steps, want %v and %v", c.q, l1, l2, c.l1, c.l2)
		}
	}
}

func TestOtherEvents(t *testing.T) {
	e, err := Response{Truth: 0.75}.Event()
	if err != nil || e != (dp.RandomizedResponse{Truth: 0.75}) {
		t.Errorf("response: %v, %v", e, err)
	}
	if math.Abs(pair.Delta(mustResponse(), 0)-0.5) > 1e-15 { // 0.75 − 0.25
		t.Error("the pair of the response")
	}
}

func mustResponse() pair.Pair {
	return must.Get(pair.RandomizedResponse(0.75, 1, 0))
}
