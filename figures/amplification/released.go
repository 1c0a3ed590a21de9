package amplification

import (
	"math"

	"coupling/dp/release"
	"coupling/dp/sgd"
	"coupling/figures/internal/kit"
)

// listen adds to seen the noise of the step that a training of a classifier has just made, as the gradients of its last
// layer, a dense one, have it. Without noise these are sums of (p − y)·hᵀ over records, each clipped as a whole, where
// the probabilities p and the label y both add up to 1 over the classes. So what is released adds up over n classes to
// noise alone, of √n times its standard deviation, whatever is learnt.
func listen(seen *kit.Noise, t sgd.Training) error {
	params := t.Net.Params()
	sigma := t.NoiseMultiplier * t.Clip * (1 + sgd.Slack) / (1 - release.GridMargin) / t.Batch
	for _, p := range params[len(params)-2:] {
		g, err := p.Grad.Float64s()
		if err != nil {
			return err
		}
		classes := p.Grad.Dim(0)
		sums := make([]float64, len(g)/classes)
		for i, v := range g {
			sums[i%len(sums)] += v
		}
		seen.Add(sums, sigma*math.Sqrt(float64(classes)))
	}
	return nil
}

const (
	releasedSource = "Abadi et al. 2016, algorithm 1, with the noise that is accounted for"
	releasedWhy    = "sums over the classes of the last layer's gradients, which are noise alone: those of a softmax " +
		"add up to 0"
)
