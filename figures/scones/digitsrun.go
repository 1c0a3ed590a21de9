package scones

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/artifact"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn"
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

// method is one way to transport, and what is made of its results.
type method struct {
	Name    string  `json:"name"`
	Frechet float64 `json:"frechet"` // of features, from test digits of the target
	Same    float64 `json:"same"`    // share that is taken for the digit of its source
	Moved   float64 `json:"moved"`   // mean square of y − x over pixels
	Near    float64 `json:"near"`    // root mean square difference to the nearest training digit, a mean
	Seconds float64 `json:"seconds"` // a sample
}

// The methods, by number.
const (
	ofSource = iota
	ofProjection
	ofNet
	ofNetLoose
	ofExact
	ofExactLoose
	ofAtoms
	ofAtomsNet
	ofAtomsExact
	ofDraws
)

// digitsOut. Artifacts: one for each method by number, the first rows only.
type digitsOut struct {
	Methods  []method `json:"methods"`
	Accuracy float64  `json:"accuracy"` // of the classifier on test digits of the target
	Floor    float64  `json:"floor"`    // Fréchet distance of as many training digits of the target
	Fresh    float64  `json:"fresh"`    // root mean square difference of test digits of the target to the nearest training digit
	Training float64  `json:"training"` // seconds
}

var digitsOf = lab.Experiment[digitsParams, digitsOut]{Name: "scones/digits", Version: 3, Run: runDigits}

// cloud is digits as rows in [0, 1], and as images.
type cloud struct {
	x      *mat.Dense
	images *data.Images
}

func loadDigits(ctx context.Context, files data.From, load func(context.Context, data.From, data.Split) (*data.Images, error), split data.Split, most int, rng *rand.Rand) (cloud, error) {
	m, err := load(ctx, files, split)
	if err != nil {
		return cloud{}, err
	}
	if m, err = m.Pick(rng, pickMost(m.Len(), most)); err != nil {
		return cloud{}, err
	}
	if m, err = m.Scale(0, 1); err != nil {
		return cloud{}, err
	}
	if m, err = m.Resize(16, 16, data.Bilinear); err != nil {
		return cloud{}, err
	}
	return cloud{x: m.Mat(), images: m}, nil
}

func pickMost(n, most int) int {
	if most == 0 {
		return n
	}
	return min(n, most)
}

// transport is a direction under way.
type transport struct {
	p              digitsParams
	c              *lab.Cell
	dev            *device.Device
	source, target cloud // training digits
	sources, test  cloud // test digits
	judge          *judge
	network, exact score.Field
	coupling       scones.Coupling
	projection     *neural.Map
	sampler        score.Langevin
	out            digitsOut
}

func runDigits(ctx context.Context, c *lab.Cell, p digitsParams) (digitsOut, error) {
	t := &transport{p: p, c: c}
	var err error
	if t.dev, err = c.Device(p.Device); err != nil {
		return t.out, err
	}
	for _, step := range []func(context.Context) error{t.load, t.learnScore, t.learnPlan, t.transport} {
		if err := step(ctx); err != nil {
			return t.out, err
		}
	}
	return t.out, nil
}

// load reads the digits and trains the judge.
func (t *transport) load(ctx context.Context) error {
	from, to := data.MNIST, data.USPS
	if t.p.ToMNIST {
		from, to = to, from
	}
	rng, files := t.c.Rand("digits"), sample.From(t.p.Data)
	var errs [4]error
	t.source, errs[0] = loadDigits(ctx, files, from, data.Train, t.p.Most, rng)
	t.target, errs[1] = loadDigits(ctx, files, to, data.Train, t.p.Most, rng)
	t.sources, errs[2] = loadDigits(ctx, files, from, data.Test, t.p.Sources, rng)
	t.test, errs[3] = loadDigits(ctx, files, to, data.Test, t.p.Sources, rng)
	err := errors.Join(errs[:]...)
	if err != nil {
		return err
	}
	t.judge, err = newJudge(ctx, t.dev, t.target.images, t.test.images, t.p.Epochs, t.c.Rand("judge"))
	if err == nil {
		t.out.Accuracy, t.out.Floor, t.out.Fresh = t.judge.Accuracy, t.judge.Floor, nearest(t.test.x, t.target.x)
	}
	return err
}

// learnScore trains the score network and sets up the exact score and the sampler: .2154 to .01, as in the code.
func (t *transport) learnScore(ctx context.Context) error {
	begin := time.Now()
	p, rng := t.p, t.c.Rand("score")
	dir, err := t.c.Scratch()
	if err != nil {
		return err
	}
	levels, err := score.Geometric(1, .01, 10)
	if err != nil {
		return err
	}
	t.sampler = score.Langevin{Levels: levels[3:], Steps: 10, Step: 5e-5, Denoise: true}
	known, err := t.target.images.Pick(rng, pickMost(t.target.images.Len(), p.Exact))
	if err != nil {
		return err
	}
	if t.exact, err = score.NewEmpirical(known.Mat(), nil, 0); err != nil {
		return err
	}
	mean, spread := moments(t.target.x)
	net, batch, rate := nn.Layer(dsm.DenoisingUNet(mean, spread, levels, 1, p.Width)), 64, 1e-3
	if p.NCSN {
		net, batch = arch.NCSN{Channels: 1, Features: p.Width, Levels: len(levels)}.Net(), 128
	}
	t.network, err = dsm.Training{Sigmas: levels, Steps: p.ScoreFor, Batch: batch, Rate: rate, Decay: .99, Schedule: train.Linear(p.ScoreFor, .05),
		Path: dir + "/score.ckpt", Every: cmp.Or(every, 250), Trace: func(k int, _ float64) { t.c.Progress(k, p.ScoreFor) }}.
		Run(ctx, t.dev, net, t.target.x, []int{1, 16, 16}, rng)
	t.out.Training += time.Since(begin).Seconds()
	return err
}

// moments are the mean of the rows and the root of the mean variance of their elements.
func moments(x *mat.Dense) (mean []float64, spread float64) {
	_, d := x.Dims()
	mean = make([]float64, d)
	for j := range mean {
		m, v := stat.MeanVariance(mat.Col(nil, j, x), nil)
		mean[j] = m
		spread += v / float64(d)
	}
	return mean, math.Sqrt(spread)
}

// learnPlan trains the potentials and the projection.
func (t *transport) learnPlan(ctx context.Context) error {
	begin := time.Now()
	p, rng := t.p, t.c.Rand("networks")
	dir, err := t.c.Scratch()
	if err != nil {
		return err
	}
	k := scones.Compatibility{F: fdiv.ChiSquare, Lambda: p.Lambda}
	potentials, err := neural.Training{
		Ascent: scones.Ascent{Compatibility: k, Mean: true, Steps: p.Steps, Batch: p.Batch,
			Schedule: train.Linear(p.Steps, 0), Trace: func(k int, _ float64) { t.c.Progress(k, p.Steps) }},
		Hidden: []int{p.Critic, p.Critic}, Rate: p.Rate, Unscaled: true, Path: dir + "/potentials.ckpt", Every: every,
	}.Run(ctx, t.dev, pixels, scones.Cloud(t.source.x), scones.Cloud(t.target.x), rng)
	if err != nil {
		return err
	}
	k.Beta = 1000
	t.coupling = scones.Coupling{Compatibility: k, Phi: potentials.Phi, Psi: potentials.Psi, Mean: true}
	t.projection, err = neural.Projection{Coupling: t.coupling, Steps: p.ProjFor, Batch: p.Batch, Schedule: train.Linear(p.ProjFor, 0), Path: dir + "/projection.ckpt", Every: every}.
		Run(ctx, t.dev, arch.BarycentricPixels(pixels, pixels, p.Critic, p.Critic), scones.Cloud(t.source.x), scones.Cloud(t.target.x), rng)
	t.out.Training += time.Since(begin).Seconds()
	return err
}

// transport makes and judges the results of all methods.
func (t *transport) transport(ctx context.Context) error {
	start, err := t.projection.Apply(t.sources.x)
	if err != nil {
		return err
	}
	loose := t.coupling
	loose.Beta = 1
	kl, err := scones.Fit{Lambda: .005, Mean: true}.Run(ctx, t.source.x, t.target.x, t.c.Rand("atoms"))
	if err != nil {
		return err
	}
	mean := kl.FromPhi.Barycentric(t.sources.x)
	dir, err := t.c.Scratch()
	if err != nil {
		return err
	}
	var run *stopwatch // of the chains of the method at hand
	sample := func(c scones.Coupling, target score.Field, from *mat.Dense) func() (*mat.Dense, error) {
		c.Target = target
		return func() (*mat.Dense, error) {
			run = watch(t.c)
			l := t.sampler
			l.Path, l.Every, l.Trace = fmt.Sprintf("%s/chains-%d.ckpt", dir, len(t.out.Methods)), every, run.hear
			y, err := c.Sample(ctx, t.sources.x, 1, l, from, t.c.Rand("chains"))
			if err == nil {
				y.Apply(func(_, _ int, v float64) float64 { return min(max(v, 0), 1) }, y)
			}
			return y, err
		}
	}
	for _, m := range []struct {
		name string
		make func() (*mat.Dense, error)
	}{
		ofSource:     {"source", func() (*mat.Dense, error) { return t.sources.x, nil }},
		ofProjection: {"χ², projection", func() (*mat.Dense, error) { return start, nil }},
		ofNet:        {"χ², network score", sample(t.coupling, t.network, start)},
		ofNetLoose:   {"the same, β = 1", sample(loose, t.network, start)},
		ofExact:      {"χ², exact score", sample(t.coupling, t.exact, start)},
		ofExactLoose: {"the same, β = 1", sample(loose, t.exact, start)},
		ofAtoms:      {"KL of atoms, projection", func() (*mat.Dense, error) { return mean, nil }},
		ofAtomsNet:   {"KL of atoms, network score", sample(kl.Coupling, t.network, mean)},
		ofAtomsExact: {"KL of atoms, exact score", sample(kl.Coupling, t.exact, mean)},
		ofDraws:      {"KL of atoms, draws of the plan", func() (*mat.Dense, error) { return kl.FromPhi.DrawPoints(t.sources.x, t.c.Rand("draws")), nil }},
	} {
		run = nil
		if err := t.add(ctx, m.name, m.make, func() *stopwatch { return run }); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// shown is how many digits a picture has.
const shown = 20

// add judges a method. Where it has run chains, these say how long a sample takes.
func (t *transport) add(ctx context.Context, name string, make func() (*mat.Dense, error), chains func() *stopwatch) error {
	begin := time.Now()
	y, err := make()
	if err != nil {
		return err
	}
	n, _ := y.Dims()
	m := method{Name: name, Seconds: time.Since(begin).Seconds() / float64(n)}
	if w := chains(); w != nil {
		m.Seconds = w.seconds(n)
	}
	m.Near = nearest(y, t.target.x)
	if m.Same, m.Frechet, err = t.judge.look(ctx, y, t.sources.images.Labels); err != nil {
		return err
	}
	var d mat.Dense
	d.Sub(y, t.sources.x)
	m.Moved = mat.Norm(&d, 2) * mat.Norm(&d, 2) / float64(n*pixels)
	t.out.Methods = append(t.out.Methods, m)
	return artifact.Write(t.c, fmt.Sprintf("%d.npy", len(t.out.Methods)-1), mat.DenseCopyOf(y.Slice(0, min(shown, n), 0, pixels)))
}
