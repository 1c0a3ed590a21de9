package scones

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"coupling/data/synth"
	"coupling/lab"
	"coupling/ot/gaussian"
	"coupling/score"
	"coupling/score/scones"
	"coupling/score/scones/light"

	"gonum.org/v1/gonum/mat"
)

// GaussiansParams are one pair of Gaussians.
type GaussiansParams struct {
	D       int     `json:"d" min:"1" doc:"dimension"`
	Pair    int     `json:"pair" min:"0" doc:"number of the draw of the two Gaussians"`
	PerDim  float64 `json:"per_dim" min:">0" doc:"λ over the dimension"`
	Samples int     `json:"samples" min:"2" doc:"that are drawn"`
	Run     bool    `json:"run" doc:"runs Langevin dynamics; else its result is drawn from the law that it has, in closed form"`
	Fit     int     `json:"fit" min:"0" doc:"steps by which potentials are fitted; 0: they are not"`
}

// GaussiansOut are BW-UVPs in percent of the covariance of (x, y), and seconds a sample. NaN: not computed.
type GaussiansOut struct {
	Floor       float64 `json:"floor"`       // samples of the exact plan
	Independent float64 `json:"independent"` // y drawn from the target whatever x is
	Barycentric float64 `json:"barycentric"` // y = E[y|x]
	Paper       float64 `json:"paper"`       // exact potentials, ε = 0.01, 1000 steps
	Law         float64 `json:"law"`         // samples of the law that those steps have
	Better      float64 `json:"better"`      // exact potentials, ε = 0.1, 500 steps
	Ascent      float64 `json:"ascent"`      // quadratic potentials by Algorithm 1, then as Better
	AscentPlan  float64 `json:"ascent_plan"` // their plan itself, without sampling
	Light       float64 `json:"light"`       // LightSB with one component
	PaperTime   float64 `json:"paper_time"`
	BetterTime  float64 `json:"better_time"`
	LightTime   float64 `json:"light_time"`
}

var gaussiansOf = lab.Experiment[GaussiansParams, GaussiansOut]{Name: "scones/gaussians", Version: 1, Run: runGaussians}

// settings of the two samplers, in the paper's halved convention.
var (
	paperLangevin  = score.Langevin{Step: .01, Steps: 1000, Convention: score.Halved}
	betterLangevin = score.Langevin{Step: .1, Steps: 500, Convention: score.Halved}
)

// newProblem is a row of the table.
func newProblem(c *lab.Cell, p GaussiansParams) (*pair, error) {
	source, target, err := synth.GaussianPair(c.Rand(fmt.Sprintf("pair %d", p.Pair)), p.D)
	if err != nil {
		return nil, err
	}
	plan, err := gaussian.Entropic{Eps: p.PerDim * float64(p.D)}.Solve(gaussian.Normal{Cov: source.Cov()}, gaussian.Normal{Cov: target.Cov()})
	if err != nil {
		return nil, err
	}
	x, err := source.Sample(c.Rand(fmt.Sprintf("sources %d", p.Pair)), p.Samples)
	return &pair{c: c, plan: plan, x: x, source: source, target: target}, err
}

func runGaussians(ctx context.Context, c *lab.Cell, params GaussiansParams) (out GaussiansOut, err error) {
	p, err := newProblem(c, params)
	if err != nil {
		return out, err
	}
	nan := math.NaN()
	out = GaussiansOut{Paper: nan, Better: nan, Ascent: nan, AscentPlan: nan, Light: nan, PaperTime: nan, BetterTime: nan, LightTime: nan}
	rng := c.Rand(fmt.Sprintf("noise %d", params.Pair))
	mean := p.mean()
	independent, err := p.target.Sample(rng, params.Samples)
	if err != nil {
		return out, err
	}
	for _, row := range []struct {
		to *float64
		y  *mat.Dense
	}{
		{&out.Independent, independent},
		{&out.Barycentric, mean},
		{&out.Floor, p.around(mean, rng, func(v float64) float64 { return v })},
		{&out.Law, p.around(mean, rng, paperLaw)},
	} {
		if *row.to, err = p.uvp(row.y); err != nil {
			return out, err
		}
	}
	if params.Run {
		if err := p.langevin(ctx, rng, mean, &out); err != nil {
			return out, err
		}
	}
	if params.Fit > 0 {
		err = p.fit(ctx, params, &out)
	}
	return out, err
}

// paperLaw is what the paper's steps make of a variance.
func paperLaw(v float64) float64 { return after(paperLangevin, v) }

func (p *pair) langevin(ctx context.Context, rng *rand.Rand, mean *mat.Dense, out *GaussiansOut) error {
	_, psi, err := scones.Potentials(p.plan)
	if err != nil {
		return err
	}
	if out.Paper, out.PaperTime, err = p.sample(ctx, "paper", psi, paperLangevin, mean, rng); err != nil {
		return err
	}
	out.Better, out.BetterTime, err = p.sample(ctx, "longer", psi, betterLangevin, mean, rng)
	return err
}

// fit fits potentials from samples: Algorithm 1 with quadratic potentials, and LightSB.
func (p *pair) fit(ctx context.Context, of GaussiansParams, out *GaussiansOut) error {
	rng := p.c.Rand(fmt.Sprintf("fit %d", of.Pair))
	psi, err := p.quadratic(ctx, p.ascent(of.Fit, 500, p.progress(of.Fit)), rng)
	if err != nil {
		return err
	}
	r, err := psi.Regression(p.plan.Q, p.plan.Eps)
	if err != nil {
		return err
	}
	if out.AscentPlan, err = gaussian.UVP(r.Joint(p.plan.P.Cov), p.plan.Joint().Cov); err != nil {
		return err
	}
	if out.Ascent, _, err = p.sample(ctx, "fitted", psi, betterLangevin, r.Mean(p.x), rng); err != nil {
		return err
	}
	fitted, err := light.Fit{Lambda: p.plan.Eps, Batch: 500, Steps: of.Fit, Trace: p.progress(of.Fit)}.Run(ctx, rng, p.source.Sample, p.target.Sample)
	if err != nil {
		return err
	}
	begin := time.Now()
	y := fitted.Sample(rng, p.x)
	out.LightTime = time.Since(begin).Seconds() / float64(of.Samples)
	out.Light, err = p.uvp(y)
	return err
}
