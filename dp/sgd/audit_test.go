package sgd

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/dp"
	"coupling/dp/audit"
	"coupling/dp/release"
	"coupling/lab/must"
	"coupling/lab/nn/arch"

	"gonum.org/v1/gonum/floats"
)

// stepWorlds is a step of a run, batch, sum and noise as they are released, in two worlds that
// differ in one record, seen along that record's gradient: the strongest direction.
func stepWorlds(t *testing.T, rate, multiplier float64) audit.TwoWorlds[float64] {
	tr := training("")
	m := bars(4)
	tr.Net, tr.Rate, tr.NoiseMultiplier, tr.Clip = arch.Logistic(36, 2), rate, multiplier, .1
	tr.Objective = classes(m)
	r := begin(t, tr, 1)
	direction := sumOf(r, []int{3})
	floats.Scale(1/floats.Norm(direction, 2), direction)
	sums := sumsOfAll(r, 4)
	return audit.TwoWorlds[float64]{
		Run: func(rng *rand.Rand, world bool) (float64, error) {
			var key release.Key
			binary.LittleEndian.PutUint64(key[:], rng.Uint64())
			r := *r // worlds are played at the same time
			r.out = release.Run{Key: key, Releases: 1}
			n := 3
			if world {
				n = 4
			}
			batch, err := release.Poisson(key.Source("batch", 0), n, tr.Rate)
			if err != nil {
				return 0, err
			}
			who := 0
			for _, i := range batch {
				who |= 1 << i
			}
			v, err := r.release(0, slices.Clone(sums[who]))
			if err != nil {
				return 0, err
			}
			return floats.Dot(v, direction), nil
		},
		Score: func(v float64) float64 { return v }, Trials: 30_000,
	}
}

// sumsOfAll lists the sums of all batches of n records, by the set of records as bits: a sum is always the same.
func sumsOfAll(r *run, n int) (out [][]float64) {
	for who := range 1 << n {
		var batch []int
		for i := range n {
			if who>>i&1 == 1 {
				batch = append(batch, i)
			}
		}
		out = append(out, sumOf(r, batch))
	}
	return out
}

// An audit of a step does not refute what Event claims, and refutes a claim of 1.5 times the noise,
// or of a sensitivity of 1.5 less.
func TestAudit(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of runs")
	}
	const delta = 1e-3
	for _, c := range []struct{ rate, wrong float64 }{{.5, 2}, {1, 1.5}} { // at rate 1/2 fewer steps have the record
		found := must.Get(stepWorlds(t, c.rate, 1).Epsilon(t.Context(), rand.New(rand.NewPCG(7, 8)), delta))
		for multiplier, refute := range map[float64]bool{1: false, c.wrong: true} {
			claimed := must.Get(dp.Epsilon(t.Context(), dp.SGD(multiplier, c.rate, 1), dp.Relation{}, delta))
			t.Logf("rate %g, multiplier %g: claimed %g, found at least %g", c.rate, multiplier, claimed.Epsilon,
				found.Epsilon)
			if found.Refutes(claimed.Epsilon) != refute {
				t.Errorf("rate %g, multiplier %g: claimed %g, found %g, refuted %v", c.rate, multiplier,
					claimed.Epsilon, found.Epsilon, !refute)
			}
		}
	}
}
