package scones

import (
	"context"
	"math"
	"math/rand/v2"

	"coupling/lab"
	"coupling/ot/fdiv"
	"coupling/ot/gaussian"
	"coupling/score"
	"coupling/score/scones"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// pair is a problem between two Gaussians in a cell: its plan, fresh points of both, and the
// sources that all methods share. The target's mean is 0.
type pair struct {
	c              *lab.Cell
	plan           *gaussian.Plan
	source, target sampler
	x              *mat.Dense
}

// newPair draws n sources of a plan.
func newPair(c *lab.Cell, plan *gaussian.Plan, rng *rand.Rand, n int) *pair {
	source, target := newSampler(plan.P), newSampler(gaussian.Normal{Cov: plan.Q.Cov})
	return &pair{c: c, plan: plan, source: source, target: target, x: lab.Must(source.Sample(rng, n))}
}

// sampler draws from a Gaussian, whose covariance is decomposed once.
type sampler struct {
	mean []float64
	root *mat.Dense // root·rootᵀ is the covariance
}

func newSampler(p gaussian.Normal) sampler {
	var eig mat.EigenSym
	eig.Factorize(p.Cov, true)
	s, values := sampler{p.Mean, new(mat.Dense)}, eig.Values(nil)
	eig.VectorsTo(s.root)
	s.root.Apply(func(_, j int, v float64) float64 { return v * math.Sqrt(max(values[j], 0)) }, s.root)
	return s
}

// Sample draws n points as rows.
func (s sampler) Sample(rng *rand.Rand, n int) (*mat.Dense, error) {
	x := mat.NewDense(n, len(s.root.RawRowView(0)), nil)
	x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, x)
	x.Mul(x, s.root.T())
	if s.mean != nil {
		x.Apply(func(_, j int, v float64) float64 { return v + s.mean[j] }, x)
	}
	return x, nil
}

// uvp measures pairs (x, y), means dropped as the paper's code does.
func (p *pair) uvp(y *mat.Dense) float64 {
	joint := new(mat.Dense)
	joint.Augment(p.x, y)
	return lab.Must(gaussian.UVP(lab.Must(gaussian.Empirical(joint, nil)).Cov, p.plan.Joint().Cov))
}

// mean is E[y|x] at the sources.
func (p *pair) mean() *mat.Dense {
	y := mat.DenseCopyOf(p.x)
	if m := p.plan.P.Mean; m != nil {
		for i := range y.RawMatrix().Rows {
			floats.Sub(y.RawRowView(i), m)
		}
	}
	y.Mul(y, p.plan.Forward)
	return y
}

// around draws N(mean, U f(s) Uᵀ), where U s Uᵀ is the conditional covariance (λ/2)K.
func (p *pair) around(mean *mat.Dense, rng *rand.Rand, f func(variance float64) float64) *mat.Dense {
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

// after is the variance that steps of l from a point give a coordinate whose stationary variance is
// v: an autoregression with coefficient 1 − a/v, a = ε/2.
func after(l score.Langevin, v float64) float64 {
	a := l.Step / 2
	rho := 1 - a/v
	return 2 * a * (1 - math.Pow(rho, 2*float64(l.Steps))) / (1 - rho*rho)
}

// quadratic is ψ by Algorithm 1 with quadratic potentials, which the exact ones are.
func (p *pair) quadratic(ctx context.Context, steps, batch int, rng *rand.Rand) *scones.Quadratic {
	phi := lab.Must(scones.NewQuadraticModel(p.plan.P.Dim(), p.plan.P.Mean, p.plan.Eps, .01))
	psi := lab.Must(scones.NewQuadraticModel(p.plan.P.Dim(), nil, p.plan.Eps, .01))
	a := algorithm1(p.plan.Eps, steps, batch)
	a.Trace = progress(p.c, steps)
	lab.Check(a.Run(ctx, phi, psi, p.source.Sample, p.target.Sample, rng.Uint64(), 0))
	return psi.Potential()
}

// chains are Algorithm 2's with a potential and the exact score of the target.
func (p *pair) chains(ctx context.Context, name string, psi scones.Potential, l score.Langevin, start *mat.Dense,
	rng *rand.Rand) *mat.Dense {
	target := lab.Must(score.NewGaussian(nil, p.plan.Q.Cov))
	return chains(ctx, p.c, name, scones.Coupling{Compatibility: scones.Compatibility{F: fdiv.KL, Lambda: p.plan.Eps},
		Psi: psi, Target: target}, p.x, 1, l, start, rng)
}

// sample runs chains and measures them.
func (p *pair) sample(ctx context.Context, name string, psi scones.Potential, l score.Langevin, start *mat.Dense,
	rng *rand.Rand) float64 {
	return p.uvp(p.chains(ctx, name, psi, l, start, rng))
}
