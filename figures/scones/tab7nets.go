package scones

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/ot/gaussian"
	"coupling/score"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
)

// MomentsNetParams are Algorithm 1 at one λ, and chains of what it learnt.
type MomentsNetParams struct {
	Side    int         `json:"side" min:"1" max:"28" doc:"pixels of a side of a digit"`
	Axes    int         `json:"axes" min:"0" max:"784" doc:"leading axes of the source to which the problem is restricted; 0: all"`
	Lambda  float64     `json:"lambda" min:">0" doc:"λ over the mean cost"`
	Width   int         `json:"width" min:"1" doc:"of four hidden layers"`
	Steps   int         `json:"steps" min:"1" doc:"of the potentials"`
	Batch   int         `json:"batch" min:"1" doc:"points of a step"`
	Rate    float64     `json:"rate" min:">0" doc:"learning rate"`
	Samples int         `json:"samples" min:"2" doc:"chains that are run"`
	Device  string      `json:"device" doc:"where networks run: cpu, cuda:0 or cuda:0,tf32"`
	Data    data.Origin `json:"data,omitzero" enum:",subset,sample" doc:"files: \"\" the official ones, or fewer of them"`
}

// momentsNets are at the paper's λ, one of them at quick, and one where there is a coupling to be learnt.
var momentsNets = lab.Part[MomentsNetParams, MomentsNetOut]{Experiment: momentsNetsOf, Grid: func(set lab.Setting) []MomentsNetParams {
	p := set.Preset
	base := MomentsNetParams{Side: lab.Pick(p, 7, 28, 28, 28), Axes: lab.Pick(p, 4, 16, 32, 0), Width: lab.Pick(p, 16, 64, 256, 2048), Steps: lab.Pick(p, 10, 2500, 8000, 5000), Batch: lab.Pick(p, 64, 256, 512, 1000),
		Rate: lab.Pick(p, 1e-3, 1e-3, 1e-3, 1e-6*784), Samples: lab.Pick(p, 100, 3000, 10000, 10000), Device: set.Device, Data: data.Choose("mnist")}
	return lab.Grid(base, lab.Vary(func(p *MomentsNetParams, v float64) { p.Lambda = v }, lab.Pick(p, []float64{.25}, []float64{.25, .01}, []float64{1, .5, .25, .01}, []float64{1, .5, .25, .01})...))
}}

// MomentsNetOut has BW-UVPs in percent, all of as many samples.
type MomentsNetOut struct {
	// Error is that of the network's score relative to that of the plan's factor: |∇ψ_θ − ∇ψ|/|∇ψ − ∇c|, root mean squares at
	// independent points. Quadratic is that of a quadratic potential by Algorithm 1, ZeroError that of ψ = 0.
	Error       float64 `json:"error"`
	Quadratic   float64 `json:"quadratic"`
	ZeroError   float64 `json:"zero_error"`
	Networks    float64 `json:"networks"`
	Exact       float64 `json:"exact"`       // the law of the same sampler with exact potentials
	Floor       float64 `json:"floor"`       // the plan
	Independent float64 `json:"independent"` // y drawn whatever x is
	Zero        float64 `json:"zero"`        // the law of the same sampler with ψ = 0
	Untrained   float64 `json:"untrained"`   // ψ = 0, in closed form
	Training    float64 `json:"training"`    // seconds
	Seconds     float64 `json:"seconds"`     // a sample
}

var momentsNetsOf = lab.Experiment[MomentsNetParams, MomentsNetOut]{Name: "scones/mnist-gaussian-networks", Version: 4, Run: runMomentsNets}

// momentsLonger has steps that forget where they began in a hundred, and lengthen no variance by more than 2.6 %.
var momentsLonger = score.Langevin{Step: .1, Steps: 100, Convention: score.Halved}

// newMomentsPair is the pair at one λ, restricted to the leading axes of its source, in which its plan is the restriction of the plan.
func newMomentsPair(ctx context.Context, c *lab.Cell, p MomentsNetParams) (*pair, error) {
	normal, err := momentsSource(ctx, p.Data, p.Side)
	if err != nil {
		return nil, err
	}
	d := normal.Dim()
	if p.Axes > 0 {
		var eig mat.EigenSym
		if !eig.Factorize(normal.Cov, false) {
			return nil, errors.New("the eigenvalues of the source's covariance did not converge")
		}
		leading := mat.NewSymDense(p.Axes, nil)
		for k, v := range eig.Values(nil)[d-p.Axes:] {
			leading.SetSym(k, k, v)
		}
		normal = gaussian.Normal{Mean: make([]float64, p.Axes), Cov: leading}
	}
	plan, err := gaussian.Entropic{Eps: p.Lambda * float64(d)}.Solve(normal, gaussian.Normal{Cov: unitCovariance(normal.Dim())})
	if err != nil {
		return nil, err
	}
	return newPair(c, plan, c.Rand("sources"), p.Samples)
}

// runMomentsNets is Algorithm 1 at one λ, and what chains with its potential give.
func runMomentsNets(ctx context.Context, c *lab.Cell, p MomentsNetParams) (out MomentsNetOut, err error) {
	w, err := newMomentsPair(ctx, c, p)
	if err != nil {
		return out, err
	}
	dev, err := c.Device(p.Device)
	if err != nil {
		return out, err
	}
	nets, err := p.train(ctx, dev, w, &out)
	if err != nil {
		return out, err
	}
	quadratic, err := w.quadratic(ctx, w.ascent(p.Steps, p.Batch, w.progress(p.Steps)), c.Rand("quadratic"))
	if err != nil {
		return out, err
	}
	for _, row := range []struct {
		to  *float64
		psi scones.Potential
	}{{&out.Error, nets.Psi}, {&out.Quadratic, quadratic}, {&out.ZeroError, nothing(w.plan.P.Dim())}} {
		if *row.to, err = w.heldOut(c.Rand("tests"), row.psi); err != nil {
			return out, err
		}
	}
	return out, w.compare(ctx, nets.Psi, &out)
}

// train is Algorithm 1 with networks. A killed run goes on.
func (p MomentsNetParams) train(ctx context.Context, dev *device.Device, w *pair, out *MomentsNetOut) (neural.Potentials, error) {
	dir, err := w.c.Scratch()
	if err != nil {
		return neural.Potentials{}, err
	}
	clock := watch(w.c)
	nets, err := neural.Training{Ascent: w.ascent(p.Steps, p.Batch, clock.train(p.Steps)), Hidden: []int{p.Width, p.Width, p.Width, p.Width}, Rate: p.Rate, Path: dir + "/potentials.ckpt", Every: cmp.Or(every, 100)}.
		Run(ctx, w.c.Rand("networks"), dev, w.plan.P.Dim(), w.source.Sample, w.target.Sample)
	out.Training = clock.seconds(1)
	return nets, err
}

// compare runs chains from draws of the target, and measures them beside others of as many samples.
func (p *pair) compare(ctx context.Context, psi scones.Potential, out *MomentsNetOut) error {
	rng := p.c.Rand("chains")
	independent, err := p.target.Sample(rng, p.x.RawMatrix().Rows)
	if err != nil {
		return err
	}
	y, seconds, err := p.chains(ctx, "networks", psi, momentsLonger, independent, rng)
	if err != nil {
		return err
	}
	out.Seconds = seconds
	mean := p.mean()
	for _, row := range []struct {
		to *float64
		y  *mat.Dense
	}{
		{&out.Networks, y},
		{&out.Independent, independent},
		{&out.Floor, p.around(mean, rng, func(v float64) float64 { return v })},
		{&out.Exact, p.around(mean, rng, func(v float64) float64 { return after(momentsLonger, v) })},
		{&out.Zero, p.drawUntrained(rng)},
	} {
		if *row.to, err = p.uvp(row.y); err != nil {
			return err
		}
	}
	out.Untrained, err = p.untrained()
	return err
}

// pull is how far the law exp(−c/λ)τ(y) of y given x, which ψ = 0 has, draws y to x: its mean is x·pull/(1 + pull), and 1/(1 + pull) its
// variance in every direction.
func (p *pair) pull() float64 { return 2 / p.plan.Eps }

// untrained is the BW-UVP of that law.
func (p *pair) untrained() (float64, error) {
	a, slope := p.plan.P.Cov, p.pull()/(1+p.pull())
	d := a.SymmetricDim()
	joint := mat.NewSymDense(2*d, nil)
	for i := range d {
		for j := range d {
			v := a.At(i, j)
			joint.SetSym(i, j, v)
			joint.SetSym(i, d+j, slope*v)
			joint.SetSym(d+i, d+j, slope*slope*v)
		}
		joint.SetSym(d+i, d+i, joint.At(d+i, d+i)+1/(1+p.pull()))
	}
	return gaussian.UVP(joint, p.plan.Joint().Cov)
}

// drawUntrained draws from what momentsLonger makes of that law, where its start is forgotten. Means do not matter.
func (p *pair) drawUntrained(rng *rand.Rand) *mat.Dense {
	slope, sd := p.pull()/(1+p.pull()), math.Sqrt(after(momentsLonger, 1/(1+p.pull())))
	y := new(mat.Dense)
	y.Apply(func(_, _ int, v float64) float64 { return slope*v + sd*rng.NormFloat64() }, p.x)
	return y
}

// heldOut is the scoreError of a potential at 500 pairs that it was not trained on.
func (p *pair) heldOut(rng *rand.Rand, psi scones.Potential) (float64, error) {
	x, err := p.source.Sample(rng, 500)
	if err != nil {
		return 0, err
	}
	y, err := p.target.Sample(rng, 500)
	if err != nil {
		return 0, err
	}
	return scoreError(p.plan, psi, x, y)
}

// scoreError compares the gradient of a potential with the exact one.
func scoreError(plan *gaussian.Plan, net scones.Potential, x, y *mat.Dense) (float64, error) {
	_, psi, err := scones.Potentials(plan)
	if err != nil {
		return 0, err
	}
	n, d := y.Dims()
	got, want := mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
	if err := errors.Join(net.Eval(nil, got, y), psi.Eval(nil, want, y)); err != nil {
		return 0, err
	}
	var factor mat.Dense // ∇ψ − ∇c
	factor.Sub(x, y)
	factor.Scale(2, &factor)
	factor.Add(&factor, want)
	got.Sub(got, want)
	return mat.Norm(got, 2) / mat.Norm(&factor, 2), nil
}

// nothing is the potential 0 of points of so many dimensions.
type nothing int

// Dim implements scones.Potential.
func (d nothing) Dim() int { return int(d) }

// Eval implements scones.Potential.
func (nothing) Eval(value []float64, grad, _ *mat.Dense) error {
	clear(value)
	if grad != nil {
		grad.Zero()
	}
	return nil
}
