package scones

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

// DigitsMethod is one way to transport, and what is made of its results.
type DigitsMethod struct {
	Name    string  `json:"name"`
	Frechet float64 `json:"frechet"` // of features, from test digits of the target
	Same    float64 `json:"same"`    // share that is taken for the digit of its source
	Sure    float64 `json:"sure"`    // share that is taken for a digit with a probability above .9
	Copies  float64 `json:"copies"`  // share that is nearer to a training digit than half of what test digits are on average
	Moved   float64 `json:"moved"`   // mean square of y − x over pixels
	Near    float64 `json:"near"`    // root mean square difference to the nearest training digit, a mean
	Seconds float64 `json:"seconds"` // a sample; 0: it was not sampled
}

// The methods. Those of networks are there where a score network is trained.
const (
	ofSource       = "source"
	ofProjection   = "χ², projection"
	ofMixture      = "χ², mixture score"
	ofMixtureLoose = "the same, β = 1"
	ofNet          = "χ², network score"
	ofNetLoose     = "network, β = 1"
	ofExact        = "χ², exact score"
	ofAtoms        = "KL, projection"
	ofAtomsMixture = "KL, mixture score"
	ofAtomsNet     = "KL, network score"
	ofAtomsExact   = "KL, exact score"
	ofDraws        = "KL, draws of the plan"
	ofNoise        = "static noise"
)

// DigitsOut has the methods. Artifacts: one for each by number, the first rows only.
type DigitsOut struct {
	Methods  []DigitsMethod `json:"methods"`
	Accuracy float64        `json:"accuracy"` // of the classifier on test digits of the target
	Sure     float64        `json:"sure"`     // the share of those that it is sure of, as above
	Floor    float64        `json:"floor"`    // Fréchet distance of as many training digits of the target
	Fresh    float64        `json:"fresh"`    // root mean square difference of test digits of the target to the nearest training digit
	Training float64        `json:"training"` // seconds
}

// method returns what was measured of one, and whether it is there.
func (o DigitsOut) method(name string) (DigitsMethod, bool) {
	i := slices.IndexFunc(o.Methods, func(m DigitsMethod) bool { return m.Name == name })
	if i < 0 {
		return DigitsMethod{}, false
	}
	return o.Methods[i], true
}

var digitsOf = lab.Experiment[DigitsParams, DigitsOut]{Name: "scones/digits", Version: 6, Run: runDigits}

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
	p              DigitsParams
	c              *lab.Cell
	dev            *device.Device
	source, target cloud // training digits
	sources, test  cloud // test digits
	judge          *judge
	fields         map[string]score.Field // scores of the target, by the names of their methods' ends
	coupling       scones.Coupling
	projection     *neural.Map
	sampler        score.Langevin
	out            DigitsOut
}

func runDigits(ctx context.Context, c *lab.Cell, p DigitsParams) (DigitsOut, error) {
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
	t.judge, err = newJudge(ctx, t.dev, t.target.images, t.test.images, t.p.Epochs, "", t.c.Rand("judge"))
	if err == nil {
		t.out.Accuracy, t.out.Sure, t.out.Floor = t.judge.Accuracy, t.judge.Sure, t.judge.Floor
		t.out.Fresh, _, err = nearest(ctx, t.test.x, t.target.x, 0)
	}
	return err
}

// digitsLevels are the code's noise levels, of which chains take .2154 to .01.
const digitsFirst, digitsLast, digitsLevels, digitsSkipped = 1, .01, 10, 3

// learnScore fits the mixture, trains the score network, if any, and sets up the exact score and the sampler.
func (t *transport) learnScore(ctx context.Context) error {
	begin := time.Now()
	p, rng := t.p, t.c.Rand("score")
	levels, err := score.Geometric(digitsFirst, digitsLast, digitsLevels)
	if err != nil {
		return err
	}
	t.sampler = score.Langevin{Levels: levels[digitsSkipped:], Steps: 10, Step: 5e-5, Denoise: true}
	if t.fields, err = scoresOf(ctx, t.target.images, p.Exact, score.FitMixture{Parts: p.Parts, Axes: 64, Steps: 8}, rng); err != nil {
		return err
	}
	if p.ScoreFor > 0 {
		if t.fields[networkScore], err = t.trainScore(ctx, levels, rng); err != nil {
			return err
		}
	}
	t.out.Training += time.Since(begin).Seconds()
	return nil
}

// trainScore trains the score network.
func (t *transport) trainScore(ctx context.Context, levels []float64, rng *rand.Rand) (score.Field, error) {
	dir, err := t.c.Scratch()
	if err != nil {
		return nil, err
	}
	p := t.p
	mean, spread := moments(t.target.x)
	net := nn.Layer(dsm.DenoisingUNet(mean, spread, levels, 1, p.Width))
	if p.NCSN {
		net = arch.NCSN{Channels: 1, Features: p.Width, Levels: len(levels)}.Net()
	}
	return dsm.Training{Sigmas: levels, Steps: p.ScoreFor, Batch: p.scoreBatch(), Rate: digitsScoreRate, Decay: digitsDecay, Schedule: train.Linear(p.ScoreFor, .05),
		Path: dir + "/score.ckpt", Every: cmp.Or(every, 250), Trace: func(k int, _ float64) { t.c.Progress(k, p.ScoreFor) }}.
		Run(ctx, rng, t.dev, net, t.target.x, []int{1, 16, 16})
}

// scoreBatch is that of the score network's training.
func (p DigitsParams) scoreBatch() int {
	if p.NCSN {
		return 128
	}
	return 64
}

// The score network's rate and the decay of the average of its weights.
const digitsScoreRate, digitsDecay = 1e-3, .99

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
	}.Run(ctx, rng, t.dev, pixels, scones.Cloud(t.source.x), scones.Cloud(t.target.x))
	if err != nil {
		return err
	}
	k.Beta = 1000
	t.coupling = scones.Coupling{Compatibility: k, Phi: potentials.Phi, Psi: potentials.Psi, Mean: true}
	t.projection, err = neural.Projection{Coupling: t.coupling, Steps: p.ProjFor, Batch: p.Batch, Schedule: train.Linear(p.ProjFor, 0), Path: dir + "/projection.ckpt", Every: every}.
		Run(ctx, rng, t.dev, arch.BarycentricPixels(pixels, pixels, p.Critic, p.Critic), scones.Cloud(t.source.x), scones.Cloud(t.target.x))
	t.out.Training += time.Since(begin).Seconds()
	return err
}

// transport makes and judges the results of all methods.
func (t *transport) transport(ctx context.Context) error {
	start, err := t.projection.Apply(t.sources.x)
	if err != nil {
		return err
	}
	kl, err := scones.Fit{Lambda: .005, Mean: true, MaxAtoms: t.p.Atoms}.Run(ctx, t.c.Rand("atoms"), t.source.x, t.target.x)
	if err != nil {
		return err
	}
	loose := t.coupling
	loose.Beta = 1
	mean, rng := kl.FromPhi.Barycentric(t.sources.x), t.c.Rand("garbage")
	noise := mat.DenseCopyOf(t.sources.x)
	noise.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, noise)
	for _, m := range []struct {
		name     string
		rows     *mat.Dense // of what is not sampled
		coupling scones.Coupling
		score    string
	}{
		{name: ofSource, rows: t.sources.x},
		{name: ofProjection, rows: start},
		{ofMixture, start, t.coupling, mixtureScore},
		{ofMixtureLoose, start, loose, mixtureScore},
		{ofNet, start, t.coupling, networkScore},
		{ofNetLoose, start, loose, networkScore},
		{ofExact, start, t.coupling, exactScore},
		{name: ofAtoms, rows: mean},
		{ofAtomsMixture, mean, kl.Coupling, mixtureScore},
		{ofAtomsNet, mean, kl.Coupling, networkScore},
		{ofAtomsExact, mean, kl.Coupling, exactScore},
		{name: ofDraws, rows: kl.FromPhi.DrawPoints(t.c.Rand("draws"), t.sources.x)},
		{name: ofNoise, rows: noise},
	} {
		y, seconds := m.rows, 0.
		if m.score != "" {
			if t.fields[m.score] == nil {
				continue
			}
			m.coupling.Target = t.fields[m.score]
			if y, seconds, err = t.sample(ctx, m.coupling, m.score, m.rows); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
		if err := t.add(ctx, m.name, y, seconds); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// sample runs chains from a start and returns the seconds a sample too. Those of the mixture end at σ = 0.077, below which it knows
// no more of a digit: the denoising step takes the rest off.
func (t *transport) sample(ctx context.Context, c scones.Coupling, field string, start *mat.Dense) (*mat.Dense, float64, error) {
	l := t.sampler
	if field == mixtureScore {
		l.Levels = l.Levels[:3]
		l.Steps, l.Step = 15, l.Step*math.Pow(l.Levels[2]/digitsLast, 2) // the same length at each level
	}
	y, seconds, err := chains(ctx, t.c, fmt.Sprint(len(t.out.Methods)), c, t.sources.x, 1, l, start, t.c.Rand("chains"))
	if err != nil {
		return nil, 0, err
	}
	y.Apply(func(_, _ int, v float64) float64 { return min(max(v, 0), 1) }, y)
	return y, seconds, nil
}

// shown is how many digits a picture has.
const shown = 20

// add judges a method.
func (t *transport) add(ctx context.Context, name string, y *mat.Dense, seconds float64) (err error) {
	n, _ := y.Dims()
	m := DigitsMethod{Name: name, Seconds: seconds}
	if m.Near, m.Copies, err = nearest(ctx, y, t.target.x, t.out.Fresh/2); err != nil {
		return err
	}
	v, err := t.judge.look(ctx, y, t.sources.images.Labels)
	if err != nil {
		return err
	}
	m.Same, m.Sure, m.Frechet = v.right, v.sure, v.frechet
	var d mat.Dense
	d.Sub(y, t.sources.x)
	m.Moved = mat.Norm(&d, 2) * mat.Norm(&d, 2) / float64(n*pixels)
	t.out.Methods = append(t.out.Methods, m)
	return artifact.Write(t.c, fmt.Sprintf("%d.npy", len(t.out.Methods)-1), mat.DenseCopyOf(y.Slice(0, min(shown, n), 0, pixels)))
}
