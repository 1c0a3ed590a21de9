package scones

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"coupling/data/synth"
	"coupling/lab"
	"coupling/ot/fdiv"
	"coupling/ot/gaussian"
	"coupling/score"
	"coupling/score/scones"
	"coupling/score/scones/light"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// GaussiansParams are one pair of Gaussians.
type GaussiansParams struct {
	D       int     `json:"d"`
	Pair    int     `json:"pair"`
	PerDim  float64 `json:"per_dim"` // λ/d
	Samples int     `json:"samples"`
	// Run runs Langevin dynamics; else its result is drawn from the law that it has, in closed form.
	Run bool `json:"run"`
	// Fit is the number of steps by which potentials are fitted; 0: they are not.
	Fit int `json:"fit"`
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

// problem is one row of the table.
type problem struct {
	p    GaussiansParams
	plan *gaussian.Plan
	x    *mat.Dense // the sources that all methods share
	// source and target draw fresh points.
	source, target *synth.Gaussian
}

func newProblem(c *lab.Cell, p GaussiansParams) (*problem, error) {
	source, target, err := synth.GaussianPair(c.Rand(fmt.Sprintf("pair %d", p.Pair)), p.D)
	if err != nil {
		return nil, err
	}
	plan, err := gaussian.Entropic{Eps: p.PerDim * float64(p.D)}.Solve(gaussian.Normal{Cov: source.Cov()}, gaussian.Normal{Cov: target.Cov()})
	if err != nil {
		return nil, err
	}
	x, err := source.Sample(c.Rand(fmt.Sprintf("sources %d", p.Pair)), p.Samples)
	return &problem{p: p, plan: plan, x: x, source: source, target: target}, err
}

// uvp measures pairs (x, y), means dropped as the paper's code does.
func (p *problem) uvp(y *mat.Dense) (float64, error) {
	joint, cov := new(mat.Dense), new(mat.SymDense)
	joint.Augment(p.x, y)
	stat.CovarianceMatrix(cov, joint, nil)
	return gaussian.UVP(cov, p.plan.Joint().Cov)
}

func runGaussians(ctx context.Context, c *lab.Cell, params GaussiansParams) (out GaussiansOut, err error) {
	p, err := newProblem(c, params)
	if err != nil {
		return out, err
	}
	nan := math.NaN()
	out = GaussiansOut{Paper: nan, Better: nan, Ascent: nan, AscentPlan: nan, Light: nan, PaperTime: nan, BetterTime: nan, LightTime: nan}
	rng := c.Rand(fmt.Sprintf("noise %d", params.Pair))
	mean := p.barycentric()
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
		if err := p.langevin(ctx, c, rng, mean, &out); err != nil {
			return out, err
		}
	}
	if params.Fit > 0 {
		err = p.fit(ctx, c, &out)
	}
	return out, err
}

// barycentric is E[y|x] at the sources.
func (p *problem) barycentric() *mat.Dense {
	y := new(mat.Dense)
	y.Mul(p.x, p.plan.Forward)
	return y
}

// around draws N(mean, U f(s) Uᵀ), where U s Uᵀ is the conditional covariance (λ/2)K.
func (p *problem) around(mean *mat.Dense, rng *rand.Rand, f func(variance float64) float64) *mat.Dense {
	n, d := mean.Dims()
	cov := new(mat.SymDense)
	cov.ScaleSym(p.plan.Eps/2, p.plan.Forward)
	var eig mat.EigenSym
	eig.Factorize(cov, true)
	var u mat.Dense
	eig.VectorsTo(&u)
	z := mat.NewDense(n, d, nil)
	for i := range n {
		for j, v := range eig.Values(nil) {
			z.Set(i, j, math.Sqrt(f(v))*rng.NormFloat64())
		}
	}
	y := new(mat.Dense)
	y.Mul(z, u.T())
	y.Add(y, mean)
	return y
}

// paperLaw is the variance that a thousand steps of a = 0.005 give a coordinate whose stationary variance is v, from a
// point: an autoregression with coefficient 1 − a/v.
func paperLaw(v float64) float64 {
	a := paperLangevin.Step / 2
	rho := 1 - a/v
	return 2 * a * (1 - math.Pow(rho, 2*float64(paperLangevin.Steps))) / (1 - rho*rho)
}

// coupling is Algorithm 2's field with a potential and the exact score of the target.
func (p *problem) coupling(psi scones.Potential) (scones.Coupling, error) {
	target, err := score.NewGaussian(nil, p.plan.Q.Cov)
	return scones.Coupling{Compatibility: scones.Compatibility{F: fdiv.KL, Lambda: p.plan.Eps}, Psi: psi, Target: target}, err
}

// sample runs l from start, stored under a name on the way, and returns the BW-UVP and the seconds a sample.
func (p *problem) sample(ctx context.Context, c *lab.Cell, name string, psi scones.Potential, l score.Langevin, start *mat.Dense, rng *rand.Rand) (uvp, seconds float64, err error) {
	k, err := p.coupling(psi)
	if err != nil {
		return 0, 0, err
	}
	dir, err := c.Scratch()
	if err != nil {
		return 0, 0, err
	}
	w := watch(c)
	l.Path, l.Every, l.Trace = dir+"/chains-"+name+".ckpt", every, w.hear
	y, err := k.Sample(ctx, p.x, 1, l, start, rng)
	if err != nil {
		return 0, 0, err
	}
	seconds = w.seconds(p.p.Samples)
	uvp, err = p.uvp(y)
	return uvp, seconds, err
}

func (p *problem) langevin(ctx context.Context, c *lab.Cell, rng *rand.Rand, mean *mat.Dense, out *GaussiansOut) error {
	_, psi, err := scones.Potentials(p.plan)
	if err != nil {
		return err
	}
	if out.Paper, out.PaperTime, err = p.sample(ctx, c, "paper", psi, paperLangevin, mean, rng); err != nil {
		return err
	}
	out.Better, out.BetterTime, err = p.sample(ctx, c, "longer", psi, betterLangevin, mean, rng)
	return err
}

// fit fits potentials from samples: Algorithm 1 with quadratic potentials, and LightSB.
func (p *problem) fit(ctx context.Context, c *lab.Cell, out *GaussiansOut) error {
	steps := p.p.Fit
	rng := c.Rand(fmt.Sprintf("fit %d", p.p.Pair))
	phi, err := scones.NewQuadraticModel(p.p.D, nil, p.plan.Eps, .01)
	if err != nil {
		return err
	}
	psi, err := scones.NewQuadraticModel(p.p.D, nil, p.plan.Eps, .01)
	if err != nil {
		return err
	}
	ascent := scones.Ascent{
		Compatibility: scones.Compatibility{F: fdiv.KL, Lambda: p.plan.Eps}, Steps: steps, Batch: 500,
		Schedule: func(k int) float64 { return 1 - float64(k)/float64(steps) }, Trace: func(k int, _ float64) { c.Progress(k, steps) },
	}
	if err := ascent.Run(ctx, phi, psi, p.source.Sample, p.target.Sample, rng.Uint64(), 0); err != nil {
		return err
	}
	r, err := psi.Potential().Regression(p.plan.Q, p.plan.Eps)
	if err != nil {
		return err
	}
	if out.AscentPlan, err = gaussian.UVP(r.Joint(p.plan.P.Cov), p.plan.Joint().Cov); err != nil {
		return err
	}
	if out.Ascent, _, err = p.sample(ctx, c, "fitted", psi.Potential(), betterLangevin, r.Mean(p.x), rng); err != nil {
		return err
	}
	fitted, err := light.Fit{Lambda: p.plan.Eps, Batch: 500, Steps: steps, Trace: func(k int, _ float64) { c.Progress(k, steps) }}.
		Run(ctx, p.source.Sample, p.target.Sample, rng)
	if err != nil {
		return err
	}
	begin := time.Now()
	y := fitted.Sample(p.x, rng)
	out.LightTime = time.Since(begin).Seconds() / float64(p.p.Samples)
	out.Light, err = p.uvp(y)
	return err
}
