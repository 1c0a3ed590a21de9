package bounds_test

import (
	"errors"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/bounds"
	"coupling/dp/pair"
	_ "coupling/lab/draws"
	"coupling/lab/must"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// One record of three, dp.Poisson: Theorem 3.4 with an event for each number of special records and
// the obvious coupling is the exact divergence; Theorem 3.3 with the same coupling is larger.
func TestPartitionBound(t *testing.T) {
	const r, sigma, eps = 0.3, 1.0, 0.4
	delta := func(w []float64, means []float64) float64 {
		var p []pair.Component
		for i := range w {
			p = append(p, pair.Component{LogWeight: math.Log(w[i]), Mean: means[i]})
		}
		m := must.Get(pair.NewMixture(pair.Gaussian, sigma, p, []pair.Component{{}}))
		return pair.Delta(m, eps)
	}
	// Batches of the two ordinary records, all with value 0: 0 to 3. The special record adds 1.
	rest := []float64{(1 - r) * (1 - r), r * (1 - r), r * (1 - r), r * r}
	x := bounds.Partition{Prob: []float64{1 - r, r}, Given: [][]float64{rest, rest}}
	x2 := bounds.Partition{Prob: []float64{1}, Given: [][]float64{rest}}
	var tuples []bounds.Tuple
	for y, w := range rest {
		tuples = append(tuples, bounds.Tuple{Prob: w, X: []int{y, y}, X2: []int{y}})
	}
	got, err := bounds.PartitionBound(x, x2, tuples, func(_, _ []int) (float64, error) {
		return delta([]float64{1 - r, r}, []float64{0, 1}), nil
	})
	want := delta([]float64{1 - r, r}, []float64{0, 1})
	if err != nil || math.Abs(got/want-1) > 1e-12 {
		t.Errorf("Theorem 3.4: %v, %v; want %v", got, err, want)
	}
	// Theorem 3.3: batches 0..3 without the record, 4..7 with it.
	p := make([]float64, 8)
	gamma := mat.NewDense(8, 4, nil)
	for y, w := range rest {
		p[y], p[y+4] = (1-r)*w, r*w
		gamma.Set(y, y, (1-r)*w)
		gamma.Set(y+4, y, r*w)
	}
	loose, err := bounds.CouplingBound(gamma, p, rest, func(i, _ int) float64 {
		if i < 4 {
			return 0
		}
		return delta([]float64{1}, []float64{1})
	})
	if err != nil || loose <= got || math.Abs(loose-r*delta([]float64{1}, []float64{1})) > 1e-14 {
		t.Errorf("Theorem 3.3: %v, %v; Theorem 3.4 gives %v", loose, err, got)
	}
	// Neither takes what is not a coupling.
	gamma.Set(0, 0, 0.9)
	if _, err := bounds.CouplingBound(gamma, p, rest, func(int, int) float64 { return 0 }); !errors.Is(err,
		dp.ErrParameter) {
		t.Errorf("wrong marginals: %v", err)
	}
	tuples[0].X2[0] = 1
	if _, err := bounds.PartitionBound(x, x2, tuples,
		func(_, _ []int) (float64, error) { return 0, nil }); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("wrong marginals: %v", err)
	}
}

// Published mechanism-agnostic bounds lie above the mechanism-specific number they bound.
func TestAgnosticAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noise := math.Exp(rapid.Float64Range(-0.3, 2).Draw(t, "log noise"))
		rate := math.Exp(rapid.Float64Range(-7, -0.1).Draw(t, "log rate"))
		alpha := rapid.IntRange(2, 60).Draw(t, "order")
		group := rapid.IntRange(1, 5).Draw(t, "group")
		eps := rapid.Float64Range(0, 5).Draw(t, "eps")
		m := dp.Gaussian{NoiseMultiplier: noise}
		one := must.Get(bounds.GroupRenyi(dp.Poisson{Rate: rate, Event: m}, dp.Relation{}, float64(alpha)))
		moment := func(order float64) float64 { return (order - 1) * order / (2 * noise * noise) }
		for _, c := range []float64{3, 1} { // Zhu and Wang's two bounds
			if zw := pair.SampledMoment(moment, rate, alpha, c) / float64(alpha-1); zw < one*(1-1e-9) {
				t.Fatalf("Zhu-Wang %v, specific %v", zw, one)
			}
		}
		specific := must.Get(bounds.GroupRenyi(dp.Poisson{Rate: rate, Event: m},
			dp.Relation{Kind: dp.Removal, Group: group}, float64(alpha)))
		agnostic, err := bounds.AgnosticGroupRDP(m, rate, group, float64(alpha))
		if err != nil || agnostic < specific*(1-1e-9) {
			t.Fatalf("agnostic group bound %v (%v), specific %v", agnostic, err, specific)
		}
		base := must.Get(bounds.BaseProfile(m))
		d := must.Get(bounds.AgnosticDelta(base, pair.Binomial(group, rate), eps))
		g, err := bounds.GroupDelta(dp.Poisson{Rate: rate, Event: m}, dp.Relation{Kind: dp.Removal, Group: group}, eps)
		if err != nil || d < g.LogDelta-1e-10 {
			t.Fatalf("agnostic log δ %v, specific %v (%v)", d, g.LogDelta, err)
		}
	})
}

func TestPostHocRenyi(t *testing.T) {
	// For the unsampled dp.Gaussian ρ(α) = α/2σ²: the doubling rule gives more than the exact 4·α/2σ² for K = 2.
	rho := func(a float64) float64 { return a / 2 }
	got, err := bounds.PostHocRenyi(rho, 2, 8)
	want := (7.5/7)*8 + 7.5
	if err != nil || math.Abs(got-want) > 1e-12 || got < 4*8/2-1 {
		t.Errorf("ρ₂(8) = %v, %v; want %v", got, err, want)
	}
	if _, err := bounds.PostHocRenyi(rho, 3, 8); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("K = 3: %v", err)
	}
}
