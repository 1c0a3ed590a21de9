package scones

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn/arch"
	"coupling/ot/fdiv"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
)

// networksParams is one pair of Gaussians with potentials that are networks.
type networksParams struct {
	Problem gaussiansParams `json:"problem"`
	Width   int             `json:"width"` // of three hidden layers
	Steps   int             `json:"steps"`
	Batch   int             `json:"batch"`
	Rate    float64         `json:"rate"`
	Device  string          `json:"device"`
}

// networksOut are BW-UVPs in percent and seconds.
type networksOut struct {
	UVP        float64 `json:"uvp"`
	Projection float64 `json:"projection"` // of a network that learns the barycentric projection of the trained potentials
	Training   float64 `json:"training"`
	Sample     float64 `json:"sample"`
}

// networksOf trains critics by Algorithm 1 and samples with the longer steps, from the projection of a network. A run that is killed goes on from its
// checkpoint.
var networksOf = lab.Experiment[networksParams, networksOut]{
	Name: "scones/gaussians-networks", Version: 2,
	Run: func(ctx context.Context, c *lab.Cell, p networksParams) (out networksOut, err error) {
		w, err := newProblem(c, p.Problem)
		if err != nil {
			return out, err
		}
		dev, err := device.Open(p.Device)
		if err != nil {
			return out, err
		}
		defer func() { _ = dev.Close() }() // frees the networks
		dir, err := c.Scratch()
		if err != nil {
			return out, err
		}
		begin := time.Now()
		t := neural.Training{
			Ascent: scones.Ascent{Compatibility: scones.Compatibility{F: fdiv.KL, Lambda: w.plan.Eps}, Steps: p.Steps, Batch: p.Batch,
				Schedule: func(k int) float64 { return 1 - float64(k)/float64(p.Steps) }, Trace: func(k int, _ float64) { c.Progress(k, p.Steps) }},
			Hidden: []int{p.Width, p.Width, p.Width}, Rate: p.Rate, Path: dir + "/potentials.ckpt", Every: every,
		}
		rng := c.Rand(fmt.Sprintf("networks %d", p.Problem.Pair))
		nets, err := t.Run(ctx, dev, p.Problem.D, w.source.Sample, w.target.Sample, rng)
		if err != nil {
			return out, err
		}
		start, err := p.project(ctx, c, dev, w, nets, dir, rng)
		if err != nil {
			return out, err
		}
		out.Training = time.Since(begin).Seconds()
		if out.Projection, err = w.uvp(start); err != nil {
			return out, err
		}
		out.UVP, out.Sample, err = w.sample(ctx, c, "networks", nets.Psi, betterLangevin, start, c.Rand("chains"))
		return out, err
	},
}

// project learns where sources go on average, with as many steps as the potentials, and returns where those of w go.
func (p networksParams) project(ctx context.Context, c *lab.Cell, dev *device.Device, w *problem, nets neural.Potentials, dir string, rng *rand.Rand) (*mat.Dense, error) {
	d := p.Problem.D
	t := neural.Projection{
		Coupling: scones.Coupling{Compatibility: scones.Compatibility{F: fdiv.KL, Lambda: w.plan.Eps}, Phi: nets.Phi, Psi: nets.Psi},
		Steps:    p.Steps / 2, Batch: p.Batch, Rate: p.Rate, Path: dir + "/projection.ckpt", Every: every,
		Schedule: func(k int) float64 { return 1 - 2*float64(k)/float64(p.Steps) }, Trace: func(k int, _ float64) { c.Progress(k, p.Steps/2) },
	}
	m, err := t.Run(ctx, dev, arch.MLP{Sizes: []int{d, p.Width, p.Width, d}}.Net(), w.source.Sample, w.target.Sample, rng)
	if err != nil {
		return nil, err
	}
	return m.Apply(w.x)
}

// networksGrid is a subset of the pairs at the paper's λ.
func networksGrid(set lab.Setting) (out []networksParams) {
	p := set.Preset
	for _, g := range gaussiansGrid(p) {
		if g.PerDim != 2 || p == lab.Quick && (g.D > 16 || g.Pair > 0) || p == lab.Smoke && g.D > 2 {
			continue
		}
		g.Run, g.Fit = false, 0
		out = append(out, networksParams{
			Problem: g, Width: pick(p, 16, 96, 4096), Steps: pick(p, 20, 4000, 5000), Batch: pick(p, 64, 256, 500),
			Rate: pick(p, 1e-3, 1e-3, 1e-6*float64(g.D)), Device: set.Device,
		})
	}
	return out
}
