package scones

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/data/synth"
	"coupling/figures/artifact"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/ot/fdiv"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// RollNetParams are the roll with networks for potentials, score and projection.
type RollNetParams struct {
	Problem    RollParams `json:"problem"`
	Width      int        `json:"width" min:"1" doc:"of three hidden layers of a potential, two of the projection"`
	Steps      int        `json:"steps" min:"2" doc:"of the potentials; the projection takes half as many"`
	Batch      int        `json:"batch" min:"1" doc:"points of a step"`
	Rate       float64    `json:"rate" min:">0" doc:"learning rate of potentials and projection"`
	ScoreWidth int        `json:"score_width" min:"1" doc:"of the score's residual blocks"`
	ScoreFor   int        `json:"score_for" min:"1" doc:"steps of the score"`
	ScoreRate  float64    `json:"score_rate" min:">0" doc:"learning rate of the score"`
	Device     string     `json:"device" doc:"where networks run: cpu, cuda:0 or cuda:0,tf32"`
}

// rollNets are sized for minutes at quick; the atoms are rollGrid's, whose plan is the truth.
var rollNets = lab.Part[RollNetParams, RollNetOut]{Experiment: rollNetsOf, Grid: func(set lab.Setting) []RollNetParams {
	p, problem := set.Preset, rollGrid(set)[0]
	problem.Sources, problem.Each = lab.Pick(p, 10, 50, 50, 400), lab.Pick(p, 10, 10, 20, 100)
	return []RollNetParams{{Problem: problem, Width: lab.Pick(p, 8, 64, 96, 4096), Steps: lab.Pick(p, 10, 3000, 4000, 5000), Batch: lab.Pick(p, 32, 256, 256, 500),
		Rate: lab.Pick(p, 1e-3, 1e-3, 1e-3, 1e-5), ScoreWidth: lab.Pick(p, 8, 64, 64, 2048), ScoreFor: lab.Pick(p, 10, 5000, 5000, 10000), ScoreRate: lab.Pick(p, 1e-3, 1e-3, 1e-3, 1e-4), Device: set.Device}}
}}

// RollNetOut are measures as in RollOut. Artifacts: sources, bp and scones.
type RollNetOut struct {
	FarBP    float64 `json:"far_bp"`
	FarS     float64 `json:"far_scones"`
	WS       float64 `json:"w_scones"`
	OffBP    float64 `json:"off_bp"`   // root mean square of the network's projection less the discrete plan's
	Spread   float64 `json:"spread"`   // of the latter about its mean
	Training float64 `json:"training"` // seconds
	Seconds  float64 `json:"seconds"`  // a sample
}

var rollNetsOf = lab.Experiment[RollNetParams, RollNetOut]{Name: "scones/swissroll-networks", Version: 1, Run: runRollNets}

func runRollNets(ctx context.Context, c *lab.Cell, p RollNetParams) (out RollNetOut, err error) {
	w, err := newSwiss(ctx, c, p.Problem)
	if err != nil {
		return out, err
	}
	dev, err := c.Device(p.Device)
	if err != nil {
		return out, err
	}
	clock := watch(c)
	coupling, projection, err := p.learn(ctx, c, dev, clock)
	if err != nil {
		return out, err
	}
	out.Training = clock.seconds(1)
	bp, err := projection.Apply(w.sources)
	if err != nil {
		return out, err
	}
	exact := w.phi.Barycentric(w.sources)
	out.OffBP, out.Spread = apart(bp, exact), apart(exact, centred(exact))
	y, seconds, err := w.anneal(ctx, c, "networks", coupling, w.sources, p.Problem.Each)
	if err != nil {
		return out, err
	}
	out.Seconds = seconds
	if out.FarBP, err = far(ctx, bp, w.y); err != nil {
		return out, err
	}
	if out.FarS, err = far(ctx, y, w.y); err != nil {
		return out, err
	}
	t, _, err := w.anneal(ctx, c, "networks-tests", coupling, p.Problem.tests(), perTest)
	if err != nil {
		return out, err
	}
	if out.WS, err = w.off(ctx, t); err != nil {
		return out, err
	}
	return out, errors.Join(artifact.Write(c, "sources.npy", w.sources), artifact.Write(c, "bp.npy", bp), artifact.Write(c, "scones.npy", y))
}

// learn is the paper's method from samples alone: score, potentials, projection. A killed run goes on.
func (p RollNetParams) learn(ctx context.Context, c *lab.Cell, dev *device.Device, clock *stopwatch) (scones.Coupling, *neural.Map, error) {
	dir, err := c.Scratch()
	if err != nil {
		return scones.Coupling{}, nil, err
	}
	rng := c.Rand("networks")
	x := func(rng *rand.Rand, n int) (*mat.Dense, error) { return synth.Normal(rng, n, 2) }
	y := func(rng *rand.Rand, n int) (*mat.Dense, error) { return synth.SwissRoll(rng, n, rollNoise) }
	target, err := p.learnScore(ctx, dev, dir, y, clock, rng)
	if err != nil {
		return scones.Coupling{}, nil, fmt.Errorf("score: %w", err)
	}
	k := scones.Compatibility{F: fdiv.KL, Lambda: p.Problem.Lambda}
	nets, err := neural.Training{
		Ascent: scones.Ascent{Compatibility: k, Steps: p.Steps, Batch: p.Batch, Schedule: train.Linear(p.Steps, 0), Trace: clock.train(p.Steps)},
		Hidden: []int{p.Width, p.Width, p.Width}, Rate: p.Rate, Path: dir + "/potentials.ckpt", Every: every,
	}.Run(ctx, rng, dev, 2, x, y)
	if err != nil {
		return scones.Coupling{}, nil, fmt.Errorf("potentials: %w", err)
	}
	coupling := scones.Coupling{Compatibility: k, Phi: nets.Phi, Psi: nets.Psi, Target: target}
	projection, err := neural.Projection{Coupling: coupling, Steps: p.Steps / 2, Batch: p.Batch, Rate: p.Rate, Schedule: train.Linear(p.Steps/2, 0), Path: dir + "/projection.ckpt", Every: every, Trace: clock.train(p.Steps / 2)}.
		Run(ctx, rng, dev, arch.MLP{Sizes: []int{2, p.Width, p.Width, 2}}.Net(), x, y)
	return coupling, projection, err
}

// learnScore fits a denoiser to points of the roll.
func (p RollNetParams) learnScore(ctx context.Context, dev *device.Device, dir string, y scones.Source, clock *stopwatch, rng *rand.Rand) (*dsm.Network, error) {
	levels, err := score.Geometric(rollFirst, rollLast, rollLevels)
	if err != nil {
		return nil, err
	}
	points, err := y(rng, 20000)
	if err != nil {
		return nil, err
	}
	mean, spread := moments(points)
	return dsm.Training{Sigmas: levels, Steps: p.ScoreFor, Batch: 4 * p.Batch, Rate: p.ScoreRate, Schedule: train.Linear(p.ScoreFor, .02), Decay: .99, Path: dir + "/score.ckpt", Every: every,
		Trace: clock.train(p.ScoreFor)}.
		Run(ctx, rng, dev, dsm.DenoisingMLP(mean, spread, levels, p.ScoreWidth, 2), points, nil)
}

// apart is the root mean square distance of the rows of x from those of y.
func apart(x, y *mat.Dense) float64 {
	n, _ := x.Dims()
	var d mat.Dense
	d.Sub(x, y)
	return mat.Norm(&d, 2) / math.Sqrt(float64(n))
}

// centred is the mean row of x, as often as x has rows.
func centred(x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n, d, nil)
	for j := range d {
		mean := stat.Mean(mat.Col(nil, j, x), nil)
		for i := range n {
			out.Set(i, j, mean)
		}
	}
	return out
}
