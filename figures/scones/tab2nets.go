package scones

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
)

// NetworksParams are one pair of Gaussians with potentials that are networks.
type NetworksParams struct {
	Problem GaussiansParams `json:"problem"`
	Width   int             `json:"width" min:"1" doc:"of three hidden layers"`
	Steps   int             `json:"steps" min:"1" doc:"of the potentials"`
	Batch   int             `json:"batch" min:"1" doc:"points of a step"`
	Rate    float64         `json:"rate" min:">0" doc:"learning rate"`
	Device  string          `json:"device" doc:"where networks run: cpu, cuda:0 or cuda:0,tf32"`
}

// NetworksOut are BW-UVPs in percent and seconds.
type NetworksOut struct {
	UVP        float64 `json:"uvp"`
	Projection float64 `json:"projection"` // of a network that learns the barycentric projection of the trained potentials
	Training   float64 `json:"training"`
	Sample     float64 `json:"sample"`
}

// networksOf trains critics by Algorithm 1 and samples with the longer steps, from the projection of a network. A run that is killed goes on from its
// checkpoint.
var networksOf = lab.Experiment[NetworksParams, NetworksOut]{
	Name: "scones/gaussians-networks", Version: 2,
	Run: func(ctx context.Context, c *lab.Cell, p NetworksParams) (out NetworksOut, err error) {
		w, err := newProblem(c, p.Problem)
		if err != nil {
			return out, err
		}
		dev, err := c.Device(p.Device)
		if err != nil {
			return out, err
		}
		dir, err := c.Scratch()
		if err != nil {
			return out, err
		}
		begin := time.Now()
		t := neural.Training{
			Ascent: w.ascent(p.Steps, p.Batch, w.progress(p.Steps)),
			Hidden: []int{p.Width, p.Width, p.Width}, Rate: p.Rate, Path: dir + "/potentials.ckpt", Every: every,
		}
		rng := c.Rand(fmt.Sprintf("networks %d", p.Problem.Pair))
		nets, err := t.Run(ctx, rng, dev, p.Problem.D, w.source.Sample, w.target.Sample)
		if err != nil {
			return out, err
		}
		start, err := p.project(ctx, dev, w, nets, dir, rng)
		if err != nil {
			return out, err
		}
		out.Training = time.Since(begin).Seconds()
		if out.Projection, err = w.uvp(start); err != nil {
			return out, err
		}
		out.UVP, out.Sample, err = w.sample(ctx, "networks", nets.Psi, betterLangevin, start, c.Rand("chains"))
		return out, err
	},
}

// project learns where sources go on average, with as many steps as the potentials, and returns where those of w go.
func (p NetworksParams) project(ctx context.Context, dev *device.Device, w *pair, nets neural.Potentials, dir string, rng *rand.Rand) (*mat.Dense, error) {
	d := p.Problem.D
	t := neural.Projection{
		Coupling: scones.Coupling{Compatibility: w.compatibility(), Phi: nets.Phi, Psi: nets.Psi},
		Steps:    p.Steps / 2, Batch: p.Batch, Rate: p.Rate, Path: dir + "/projection.ckpt", Every: every,
		Schedule: train.Linear(p.Steps/2, 0), Trace: w.progress(p.Steps / 2),
	}
	m, err := t.Run(ctx, rng, dev, arch.MLP{Sizes: []int{d, p.Width, p.Width, d}}.Net(), w.source.Sample, w.target.Sample)
	if err != nil {
		return nil, err
	}
	return m.Apply(w.x)
}

// networks are trained on a pair at the paper's λ.
var networks = lab.Part[NetworksParams, NetworksOut]{Experiment: networksOf, Grid: func(set lab.Setting) (out []NetworksParams) {
	p := set.Preset
	for _, g := range gaussiansGrid(set) {
		if g.PerDim != 2 || g.D > lab.Pick(p, 2, 16, 64, 256) || g.Pair > 0 && p != lab.Paper {
			continue
		}
		g.Run, g.Fit, g.Samples = false, 0, lab.Pick(p, 500, 3000, 10000, 10000)
		wide := 96
		if g.D > 16 {
			wide = 256
		}
		out = append(out, NetworksParams{
			Problem: g, Width: lab.Pick(p, 16, 64, wide, 4096), Steps: lab.Pick(p, 20, 2200, 4000, 5000), Batch: lab.Pick(p, 64, 256, 256, 500),
			Rate: lab.Pick(p, 1e-3, 1e-3, 1e-3, 1e-6*float64(g.D)), Device: set.Device,
		})
	}
	return out
}}
