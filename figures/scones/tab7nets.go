package scones

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/data/synth"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn/train"
	"coupling/ot/fdiv"
	"coupling/ot/gaussian"
	"coupling/score"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// MomentsNetParams are Algorithm 1 at one λ, and chains of what it learnt.
type MomentsNetParams struct {
	Side    int         `json:"side"`
	Axes    int         `json:"axes"` // the leading axes of the source to which the problem is restricted; 0: all
	Lambda  float64     `json:"lambda"`
	Width   int         `json:"width"` // of four hidden layers
	Steps   int         `json:"steps"`
	Batch   int         `json:"batch"`
	Rate    float64     `json:"rate"`
	Samples int         `json:"samples"`
	Device  string      `json:"device"`
	Data    data.Origin `json:"data,omitzero"`
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

var momentsNetsOf = lab.Experiment[MomentsNetParams, MomentsNetOut]{Name: "scones/mnist-gaussian-networks", Version: 3, Run: runMomentsNets}

// momentsLonger has steps that forget where they began in a hundred, and lengthen no variance by more than 2.6 %.
var momentsLonger = score.Langevin{Step: .1, Steps: 100, Convention: score.Halved}

// mnistProblem is the pair at one λ, along the principal axes of its source. The cost is |x − y|².
type mnistProblem struct {
	plan           *gaussian.Plan
	source, target *synth.Gaussian
	vectors        mat.Dense // d×d, a column an axis
	axes           []axis
}

// newMNISTProblem splits the problem, and restricts it to the leading axes, in which its plan is the restriction of the plan.
func newMNISTProblem(ctx context.Context, p MomentsNetParams) (*mnistProblem, error) {
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
	w := new(mnistProblem)
	if w.plan, err = (gaussian.Entropic{Eps: p.Lambda * float64(d)}).Solve(normal, gaussian.Normal{Cov: unitCovariance(normal.Dim())}); err != nil {
		return nil, err
	}
	if w.source, err = synth.NewGaussian(w.plan.P.Mean, w.plan.P.Cov); err != nil {
		return nil, err
	}
	if w.target, err = synth.NewGaussian(nil, w.plan.Q.Cov); err != nil {
		return nil, err
	}
	return w, w.split()
}

// split finds the axes.
func (w *mnistProblem) split() error {
	var eig mat.EigenSym
	if !eig.Factorize(w.plan.P.Cov, true) {
		return errors.New("the eigenvalues of the source's covariance did not converge")
	}
	eig.VectorsTo(&w.vectors)
	for _, v := range eig.Values(nil) {
		w.axes = append(w.axes, axis{max(v, 0), w.plan.Eps})
	}
	return nil
}

// runMomentsNets is Algorithm 1 at one λ, and what chains with its potential give.
func runMomentsNets(ctx context.Context, c *lab.Cell, p MomentsNetParams) (out MomentsNetOut, err error) {
	w, err := newMNISTProblem(ctx, p)
	if err != nil {
		return out, err
	}
	dev, err := c.Device(p.Device)
	if err != nil {
		return out, err
	}
	nets, err := p.train(ctx, c, dev, w, &out)
	if err != nil {
		return out, err
	}
	quadratic, err := p.fit(ctx, c, w)
	if err != nil {
		return out, err
	}
	for _, row := range []struct {
		to  *float64
		psi scones.Potential
	}{{&out.Error, nets.Psi}, {&out.Quadratic, quadratic}, {&out.ZeroError, nothing(len(w.axes))}} {
		if *row.to, err = w.heldOut(c.Rand("tests"), row.psi); err != nil {
			return out, err
		}
	}
	return out, p.sample(ctx, c, w, nets.Psi, &out)
}

// ascent is Algorithm 1 for the problem.
func (p MomentsNetParams) ascent(w *mnistProblem, trace func(int, float64)) scones.Ascent {
	return scones.Ascent{Compatibility: scones.Compatibility{F: fdiv.KL, Lambda: w.plan.Eps}, Steps: p.Steps, Batch: p.Batch,
		Schedule: train.Linear(p.Steps, 0), Trace: trace}
}

// train is Algorithm 1 with networks. A killed run goes on.
func (p MomentsNetParams) train(ctx context.Context, c *lab.Cell, dev *device.Device, w *mnistProblem, out *MomentsNetOut) (neural.Potentials, error) {
	dir, err := c.Scratch()
	if err != nil {
		return neural.Potentials{}, err
	}
	clock := watch(c)
	nets, err := neural.Training{Ascent: p.ascent(w, clock.train(p.Steps)), Hidden: []int{p.Width, p.Width, p.Width, p.Width}, Rate: p.Rate, Path: dir + "/potentials.ckpt", Every: cmp.Or(every, 100)}.
		Run(ctx, dev, len(w.axes), w.source.Sample, w.target.Sample, c.Rand("networks"))
	out.Training = clock.seconds(1)
	return nets, err
}

// fit is Algorithm 1 with quadratic potentials, which the exact ones are.
func (p MomentsNetParams) fit(ctx context.Context, c *lab.Cell, w *mnistProblem) (*scones.Quadratic, error) {
	phi, err := scones.NewQuadraticModel(len(w.axes), w.plan.P.Mean, w.plan.Eps, .01)
	if err != nil {
		return nil, err
	}
	psi, err := scones.NewQuadraticModel(len(w.axes), nil, w.plan.Eps, .01)
	if err != nil {
		return nil, err
	}
	err = p.ascent(w, func(k int, _ float64) { c.Progress(k, p.Steps) }).Run(ctx, phi, psi, w.source.Sample, w.target.Sample, c.Rand("quadratic").Uint64(), 0)
	return psi.Potential(), err
}

// sample runs chains from draws of the target, and measures them beside others of as many samples.
func (p MomentsNetParams) sample(ctx context.Context, c *lab.Cell, w *mnistProblem, psi scones.Potential, out *MomentsNetOut) error {
	rng := c.Rand("chains")
	x, err := w.source.Sample(rng, p.Samples)
	if err != nil {
		return err
	}
	independent, err := w.target.Sample(rng, p.Samples)
	if err != nil {
		return err
	}
	target, err := score.NewGaussian(nil, w.plan.Q.Cov)
	if err != nil {
		return err
	}
	dir, err := c.Scratch()
	if err != nil {
		return err
	}
	l, run := momentsLonger, watch(c)
	l.Path, l.Every, l.Trace = dir+"/chains.ckpt", every, run.hear
	y, err := scones.Coupling{Compatibility: scones.Compatibility{F: fdiv.KL, Lambda: w.plan.Eps}, Psi: psi, Target: target}.Sample(ctx, x, 1, l, independent, rng)
	if err != nil {
		return err
	}
	out.Seconds = run.seconds(p.Samples)
	for _, row := range []struct {
		to *float64
		y  *mat.Dense
	}{
		{&out.Networks, y},
		{&out.Independent, independent},
		{&out.Floor, w.draw(x, rng, func(v float64) float64 { return v })},
		{&out.Exact, w.draw(x, rng, func(v float64) float64 { return after(momentsLonger, v) })},
		{&out.Zero, w.drawUntrained(x, rng)},
	} {
		if *row.to, err = w.uvp(x, row.y); err != nil {
			return err
		}
	}
	out.Untrained = w.untrained()
	return nil
}

// draw returns y = E[y|x] plus noise that has f of the plan's conditional variance along each axis.
func (w *mnistProblem) draw(x *mat.Dense, rng *rand.Rand, f func(variance float64) float64) *mat.Dense {
	y := w.along(x)
	n, _ := y.Dims()
	for i := range n {
		row := y.RawRowView(i)
		for k, s := range w.axes {
			row[k] = s.slope()*row[k] + math.Sqrt(f(s.variance()))*rng.NormFloat64()
		}
	}
	y.Mul(y, w.vectors.T())
	return y
}

// along returns the rows of x about their mean, in coordinates along the axes.
func (w *mnistProblem) along(x *mat.Dense) *mat.Dense {
	y := mat.DenseCopyOf(x)
	n, d := y.Dims()
	for j := range d {
		mean := stat.Mean(mat.Col(nil, j, x), nil)
		for i := range n {
			y.Set(i, j, y.At(i, j)-mean)
		}
	}
	y.Mul(y, &w.vectors)
	return y
}

// uvp is gaussian.UVP of the covariance S of the rows (x, y) against the plan's, T, whose square root is one of 2×2 blocks: the
// fidelity is the sum of the roots of the eigenvalues of T^½ S T^½.
func (w *mnistProblem) uvp(x, y *mat.Dense) (float64, error) {
	u, v := w.along(x), w.along(y)
	n, d := u.Dims()
	z := mat.NewDense(n, 2*d, nil)
	for i := range n {
		a, b, row := u.RawRowView(i), v.RawRowView(i), z.RawRowView(i)
		for k, s := range w.axes {
			xx, xy, yy := s.root()
			row[2*k], row[2*k+1] = xx*a[k]+xy*b[k], xy*a[k]+yy*b[k]
		}
	}
	gram := mat.NewSymDense(2*d, nil)
	gram.SymOuterK(1/float64(n-1), z.T())
	var eig mat.EigenSym
	if !eig.Factorize(gram, false) {
		return 0, errors.New("the eigenvalues of a covariance did not converge")
	}
	fidelity := 0.
	for _, e := range eig.Values(nil) {
		fidelity += math.Sqrt(max(e, 0))
	}
	trace := 0.
	for _, s := range w.axes {
		trace += s.a + 1
	}
	sampled := (mat.Norm(u, 2)*mat.Norm(u, 2) + mat.Norm(v, 2)*mat.Norm(v, 2)) / float64(n-1)
	return 100 * max(sampled+trace-2*fidelity, 0) / trace, nil
}

// root is the square root of the covariance of (x, y) along an axis: (T + √det T)/√(tr T + 2√det T).
func (s axis) root() (xx, xy, yy float64) {
	k := s.slope()
	det := math.Sqrt(s.a * s.variance())
	scale := 1 / math.Sqrt(s.a+1+2*det)
	return (s.a + det) * scale, k * s.a * scale, (1 + det) * scale
}

// untrained is the BW-UVP of exp(−c/λ)τ(y) as the law of y given x, which ψ = 0 has.
func (w *mnistProblem) untrained() float64 {
	distance, trace := 0., 0.
	for _, s := range w.axes {
		pull := 2 / s.lambda
		distance += s.bures(pull/(1+pull), 1/(1+pull))
		trace += s.a + 1
	}
	return 100 * distance / trace
}

// heldOut is the scoreError of a potential at 500 pairs that it was not trained on.
func (w *mnistProblem) heldOut(rng *rand.Rand, psi scones.Potential) (float64, error) {
	x, err := w.source.Sample(rng, 500)
	if err != nil {
		return 0, err
	}
	y, err := w.target.Sample(rng, 500)
	if err != nil {
		return 0, err
	}
	return scoreError(w.plan, psi, x, y)
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

// drawUntrained draws from what momentsLonger makes of exp(−c/λ)τ(y), where its start is forgotten.
func (w *mnistProblem) drawUntrained(x *mat.Dense, rng *rand.Rand) *mat.Dense {
	y := w.along(x)
	n, _ := y.Dims()
	for i := range n {
		row := y.RawRowView(i)
		for k, s := range w.axes {
			pull := 2 / s.lambda
			row[k] = pull/(1+pull)*row[k] + math.Sqrt(after(momentsLonger, 1/(1+pull)))*rng.NormFloat64()
		}
	}
	y.Mul(y, w.vectors.T())
	return y
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
