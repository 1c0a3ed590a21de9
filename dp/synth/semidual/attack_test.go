package semidual

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"

	"gonum.org/v1/gonum/stat"
)

// Membership inference with shadow models, on finished data sets: each of many models learns from a
// random half of 100 digits, and the attack, which sees 200 synthetic images of each, says who was
// in. Its score of a digit is minus the squared distance to the mean of the synthetic images of its
// class, standardised by the models that did not learn from the digit (Carlini et al. 2022). A
// digit is in with probability ½ whatever the others are, so that the advantage, true positives
// less false ones, is at most the total variation that differential privacy allows, δ at ε = 0.
// Without noise the attack finds more than ε = 1 allows, so a mechanism that forgets its noise
// fails.
func TestMembershipOfFinishedSets(t *testing.T) {
	if testing.Short() {
		t.Skip("144 trainings")
	}
	const models, digits = 48, 100
	all := must.Get(data.MNIST(t.Context(), sample.From(data.Sample), data.Train))
	all = all.Slice(0, digits)
	public := must.Get(synth.PublicOf(all))
	attack := func(c Config, seed uint64) (advantage, deviation float64) {
		rng := rand.New(rand.NewPCG(seed, 4))
		in, score := make([][]bool, models), make([][]float64, models)
		for k := range models {
			var members []int
			in[k] = make([]bool, digits)
			for i := range digits {
				if in[k][i] = rng.Uint64()>>63 == 1; in[k][i] {
					members = append(members, i)
				}
			}
			r := synth.Run{Key: release.SeededKey(rng.Uint64())}
			m := must.Get(c.Train(t.Context(), nntest.CPU(t), all.Take(members), r))
			synthetic := must.Get(m.Sample(rng, 200))
			score[k] = towardsMeans(synthetic, all)
		}
		return advantageOf(in, score)
	}
	bounds := map[float64]float64{}
	for _, eps := range []float64{1, 10, 0} {
		c := Suggested(max(eps, 1), public)
		if eps > 0 {
			c, _ = must.Get2(synth.Calibrate(t.Context(), c, public, dp.Budget{Epsilon: eps, Delta: 1e-5}))
			event := must.Get(c.Event(public))
			bound := must.Get(dp.Delta(t.Context(), event, dp.Relation{}, 0))
			bounds[eps] = bound.Delta
		}
		advantage, deviation := attack(c, uint64(eps)+3)
		t.Logf("ε = %g: advantage %.3f ± %.3f, at most %.3f", eps, advantage, deviation, bounds[eps])
		if eps > 0 && advantage-3*deviation > bounds[eps] {
			t.Errorf("ε = %g: advantage %.3f ± %.3f, at most %.3f", eps, advantage, deviation, bounds[eps])
		}
		if eps == 0 && advantage-3*deviation < bounds[1] {
			t.Errorf(
				"without noise: advantage %.3f ± %.3f, which ε = 1 allows (%.3f): the attack is too weak to find "+
					"anything", advantage, deviation, bounds[1])
		}
	}
}

// towardsMeans is minus the squared distance of each image to the mean of the synthetic images of its class.
func towardsMeans(synthetic, images *data.Images) []float64 {
	mean, count := make([][]float64, len(images.Classes)), make([]float64, len(images.Classes))
	for i, l := range synthetic.Labels {
		if mean[l] == nil {
			mean[l] = make([]float64, synthetic.Dim())
		}
		count[l]++
		for j, v := range synthetic.Row(i) {
			mean[l][j] += float64(v)
		}
	}
	out := make([]float64, images.Len())
	for i, l := range images.Labels {
		for j, v := range images.Row(i) {
			d := float64(v) - mean[l][j]/count[l]
			out[i] -= d * d
		}
	}
	return out
}

// advantageOf standardises the scores of each record by other models that it is not in. The
// threshold that is best on the first half of the models is measured on each of the second half;
// the deviation is that of the mean over these.
func advantageOf(in [][]bool, score [][]float64) (advantage, deviation float64) {
	models, records := len(in), len(in[0])
	z := make([][]float64, models)
	for k := range z {
		z[k] = make([]float64, records)
		for i := range z[k] {
			var out []float64
			for other := range models {
				if other != k && !in[other][i] {
					out = append(out, score[other][i])
				}
			}
			mean, sd := stat.MeanStdDev(out, nil)
			z[k][i] = (score[k][i] - mean) / sd
		}
	}
	at := func(k int, threshold float64) float64 {
		var hits, of [2]float64
		for i, s := range z[k] {
			world := 0
			if in[k][i] {
				world = 1
			}
			of[world]++
			if s > threshold {
				hits[world]++
			}
		}
		return hits[1]/of[1] - hits[0]/of[0]
	}
	best, threshold := math.Inf(-1), 0.
	for try := -2.; try <= 4; try += .125 {
		sum := 0.
		for k := range models / 2 {
			sum += at(k, try)
		}
		if sum > best {
			best, threshold = sum, try
		}
	}
	var found []float64
	for k := models / 2; k < models; k++ {
		found = append(found, at(k, threshold))
	}
	mean, sd := stat.MeanStdDev(found, nil)
	return mean, sd / math.Sqrt(float64(len(found)))
}
