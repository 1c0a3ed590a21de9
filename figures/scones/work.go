package scones

import (
	"slices"

	"coupling/figures/internal/kit"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/score/dsm"
)

// A tally adds up what a plan by networks computes. Not counted are plans between atoms, scores of mixtures and judges.
type tally struct {
	kit.Tally
	critic nn.Layer
	dim    int
}

// learnt is a tally with Algorithm 1's two potentials, of points of so many coordinates, and the projection, which asks both for all
// its batches.
func learnt(dev *device.Device, dim int, hidden []int, steps, batch int, projection nn.Layer, projFor, projBatch int) *tally {
	t := &tally{kit.Tally{Device: dev}, arch.Critic(dim, hidden...), dim}
	t.Train(t.critic, 2*steps, batch, dim)
	if projection != nil {
		t.Train(projection, projFor, projBatch, dim)
		t.Evaluate(t.critic, 2*projFor, projBatch, dim)
	}
	return t
}

// sample adds steps of so many chains.
func (t *tally) sample(steps, chains int, score nn.Layer, shape ...int) {
	t.Differentiate(t.critic, steps, chains, t.dim)
	if score != nil {
		t.Evaluate(score, steps, chains, shape...)
	}
}

func (p DigitsParams) work(dev *device.Device) lab.Work {
	t := learnt(dev, pixels, []int{p.Critic, p.Critic}, p.Steps, p.Batch, arch.BarycentricPixels(pixels, pixels, p.Critic, p.Critic), p.ProjFor, p.Batch)
	if p.ScoreFor > 0 {
		net := nn.Layer(dsm.DenoisingUNet(make([]float64, pixels), 1, make([]float64, digitsLevels), 1, p.Width))
		if p.NCSN {
			net = arch.NCSN{Channels: 1, Features: p.Width, Levels: digitsLevels}.Net()
		}
		t.Train(net, p.ScoreFor, p.scoreBatch(), 1, 16, 16)
		t.sample(3*(10*(digitsLevels-digitsSkipped)+1), p.Sources, net, 1, 16, 16) // ofNet, ofNetLoose, ofAtomsNet
	}
	return t.Work
}

func (p FacesParams) work(dev *device.Device) lab.Work {
	if p.Nets.Depth == 0 {
		return lab.Work{}
	}
	levels, err := p.levels()
	if err != nil {
		return lab.Work{}
	}
	shape := []int{p.channels(), p.Side, p.Side}
	plans := 2 * len(p.Lambdas)
	t := learnt(dev, p.dim(), slices.Repeat([]int{p.Nets.Width}, p.Nets.Depth), plans*p.Nets.Critic, 1000, p.projection(), plans*p.Nets.Projection, 64)
	score := arch.NCSNv2{Channels: p.channels(), Features: p.Nets.Features, Sigmas: levels}.Net()
	t.Train(score, p.Nets.Score, facesBatch, shape...)
	for _, lambda := range p.Lambdas {
		l := p.networkSampler(p.compatibility(lambda), levels)
		t.sample(2*(len(l.Levels)*l.Steps+1), p.Sources, score, shape...)
	}
	return t.Work
}

func (p NetworksParams) work(dev *device.Device) lab.Work {
	d := p.Problem.D
	t := learnt(dev, d, []int{p.Width, p.Width, p.Width}, p.Steps, p.Batch, arch.MLP{Sizes: []int{d, p.Width, p.Width, d}}.Net(), p.Steps/2, p.Batch)
	t.sample(betterLangevin.Steps, p.Problem.Samples, nil)
	return t.Work
}

func (p RollNetParams) work(dev *device.Device) lab.Work {
	t := learnt(dev, 2, []int{p.Width, p.Width, p.Width}, p.Steps, p.Batch, arch.MLP{Sizes: []int{2, p.Width, p.Width, 2}}.Net(), p.Steps/2, p.Batch)
	score := dsm.DenoisingMLP(make([]float64, 2), 1, make([]float64, rollLevels), p.ScoreWidth, 2)
	t.Train(score, p.ScoreFor, 4*p.Batch, 2)
	t.sample(rollLevels*p.Problem.Steps+1, p.Problem.Sources*p.Problem.Each+p.Problem.Tests*perTest, score, 2)
	return t.Work
}

func (p MomentsNetParams) work(dev *device.Device) lab.Work {
	d := p.Axes
	if d == 0 {
		d = p.Side * p.Side
	}
	t := learnt(dev, d, slices.Repeat([]int{p.Width}, 4), p.Steps, p.Batch, nil, 0, 0)
	t.sample(momentsLonger.Steps, p.Samples, nil)
	return t.Work
}
