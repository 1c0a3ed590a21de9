package scones

import (
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

// tally is with Algorithm 1's two potentials, so many times over, and the projection, which asks
// both for all its batches.
func (l learner) tally(dev *device.Device, times int) *tally {
	t := &tally{kit.Tally{Device: dev}, arch.Critic(l.dim, l.potentials.Hidden...), l.dim}
	t.Train(t.critic, 2*times*l.potentials.Steps, l.potentials.Batch, l.dim)
	if l.net != nil {
		t.Train(l.net, times*l.projection.Steps, l.projection.Batch, l.dim)
		t.Evaluate(t.critic, 2*times*l.projection.Steps, l.projection.Batch, l.dim)
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
	t := p.learner().tally(dev, 1)
	if p.ScoreFor > 0 {
		net := p.scoreNet(make([]float64, pixels), 1, make([]float64, digitsLevels))
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
	t := p.learner(1).tally(dev, 2*len(p.Lambdas))
	score := arch.NCSNv2{Channels: p.channels(), Features: p.Nets.Features, Sigmas: levels}.Net()
	t.Train(score, p.Nets.Score, p.Nets.Batch, shape...)
	for _, lambda := range p.Lambdas {
		l := p.networkSampler(p.compatibility(lambda), levels)
		t.sample(2*(len(l.Levels)*l.Steps+1), p.Sources, score, shape...)
	}
	return t.Work
}

func (p NetworksParams) work(dev *device.Device) lab.Work {
	t := p.learner().tally(dev, 1)
	t.sample(betterLangevin.Steps, p.Problem.Samples, nil)
	return t.Work
}

func (p RollNetParams) work(dev *device.Device) lab.Work {
	t := p.learner().tally(dev, 1)
	score := dsm.DenoisingMLP(make([]float64, 2), 1, make([]float64, rollLevels), p.ScoreWidth, 2)
	t.Train(score, p.ScoreFor, 4*p.Batch, 2)
	t.sample(rollLevels*p.Problem.Steps+1, p.Problem.Sources*p.Problem.Each+p.Problem.Tests*perTest, score, 2)
	return t.Work
}

func (p MomentsNetParams) work(dev *device.Device) lab.Work {
	t := p.learner().tally(dev, 1)
	t.sample(momentsLonger.Steps, p.Samples, nil)
	return t.Work
}
