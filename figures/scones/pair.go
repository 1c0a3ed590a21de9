package scones

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"coupling/data/synth"
	"coupling/lab"
	"coupling/ot/fdiv"
	"coupling/ot/gaussian"
	"coupling/score"
	"coupling/score/scones"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// pair is a problem between two Gaussians in a cell: its plan, fresh points of both, and the sources that all methods share.
// The target's mean is 0.
type pair struct {
	c              *lab.Cell
	plan           *gaussian.Plan
	source, target *synth.Gaussian
	x              *mat.Dense
}

// newPair draws n sources of a plan.
func newPair(c *lab.Cell, plan *gaussian.Plan, rng *rand.Rand, n int) (p *pair, err error) {
	p = &pair{c: c, plan: plan}
	if p.source, err = synth.NewGaussian(plan.P.Mean, plan.P.Cov); err != nil {
		return nil, err
	}
	if p.target, err = synth.NewGaussian(nil, plan.Q.Cov); err != nil {
		return nil, err
	}
	p.x, err = p.source.Sample(rng, n)
	return p, err
}

// uvp measures pairs (x, y), means dropped as the paper's code does.
func (p *pair) uvp(to *float64, y *mat.Dense) error {
	joint := new(mat.Dense)
	joint.Augment(p.x, y)
	law, err := gaussian.Empirical(joint)
	if err == nil {
		*to, err = gaussian.UVP(law.Cov, p.plan.Joint().Cov)
	}
	return err
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

// after is the variance that steps of l from a point give a coordinate whose stationary variance is v: an autoregression with
// coefficient 1 − a/v, a = ε/2.
func after(l score.Langevin, v float64) float64 {
	a := l.Step / 2
	rho := 1 - a/v
	return 2 * a * (1 - math.Pow(rho, 2*float64(l.Steps))) / (1 - rho*rho)
}

// quadratic is ψ by Algorithm 1 with quadratic potentials, which the exact ones are.
func (p *pair) quadratic(ctx context.Context, steps, batch int, rng *rand.Rand) (*scones.Quadratic, error) {
	phi, errPhi := scones.NewQuadraticModel(p.plan.P.Dim(), p.plan.P.Mean, p.plan.Eps, .01)
	psi, errPsi := scones.NewQuadraticModel(p.plan.P.Dim(), nil, p.plan.Eps, .01)
	if err := errors.Join(errPhi, errPsi); err != nil {
		return nil, err
	}
	a := algorithm1(p.plan.Eps, steps, batch)
	a.Trace = progress(p.c, steps)
	err := a.Run(ctx, phi, psi, p.source.Sample, p.target.Sample, rng.Uint64(), 0)
	return psi.Potential(), err
}

// chains are Algorithm 2's with a potential and the exact score of the target.
func (p *pair) chains(ctx context.Context, name string, psi scones.Potential, l score.Langevin, start *mat.Dense, rng *rand.Rand) (*mat.Dense, error) {
	target, err := score.NewGaussian(nil, p.plan.Q.Cov)
	if err != nil {
		return nil, err
	}
	return chains(ctx, p.c, name, scones.Coupling{Compatibility: scones.Compatibility{F: fdiv.KL, Lambda: p.plan.Eps}, Psi: psi, Target: target}, p.x, 1, l, start, rng)
}

// sample runs chains and measures them.
func (p *pair) sample(ctx context.Context, to *float64, name string, psi scones.Potential, l score.Langevin, start *mat.Dense, rng *rand.Rand) error {
	y, err := p.chains(ctx, name, psi, l, start, rng)
	if err != nil {
		return err
	}
	return p.uvp(to, y)
}
