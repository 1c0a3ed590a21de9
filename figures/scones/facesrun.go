package scones

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/artifact"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/eval"
	"coupling/lab/eval/distance"
	"coupling/lab/eval/feature"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
)

// facesParams is one task at one λ of a divergence and the mean cost.
type facesParams struct {
	CelebA  bool            `json:"celeba"` // else CIFAR-10
	Super   bool            `json:"super"`  // sources are blurred
	F       fdiv.Divergence `json:"f"`      // KL or ChiSquare
	Lambda  float64         `json:"lambda"`
	Side    int             `json:"side"`
	Most    int             `json:"most"` // pictures in all; 0: all
	Sources int             `json:"sources"`
	Exact   int             `json:"exact"` // pictures whose noised score is taken; 0: all of the target's half
	Atoms   int             `json:"atoms"`
	Nets    facesNets       `json:"nets"`
	Device  string          `json:"device"`
	Data    data.Origin     `json:"data,omitzero"`
}

// facesBeta is the sharpness of the soft-plus of the paper's χ² plans between faces.
const facesBeta = 10

// compatibility is what is sampled: under χ² the paper's, smoothed.
func (p facesParams) compatibility() scones.Compatibility {
	k := scones.Compatibility{F: p.F, Lambda: p.Lambda}
	if p.F == fdiv.ChiSquare {
		k.Beta = facesBeta
	}
	return k
}

// facesNets are the sizes of networks; Depth 0: none.
type facesNets struct {
	Depth      int `json:"depth"` // of critics
	Width      int `json:"width"`
	Features   int `json:"features"` // of the score network
	Levels     int `json:"levels"`
	Critic     int `json:"critic"` // steps
	Score      int `json:"score"`
	Projection int `json:"projection"`
}

// facesMethod is a way to transport and what comes of it.
type facesMethod struct {
	Name    string  `json:"name"`
	Frechet float64 `json:"frechet"`
	Cost    float64 `json:"cost"` // mean square of y − x
	Seconds float64 `json:"seconds"`
}

// The methods.
const (
	facesSource        = "source"
	facesProjection    = "barycentric projection"
	facesSCONES        = "SCONES, exact score"
	facesSharp         = "SCONES, β = 1/λ"
	facesLoose         = "SCONES, β = 1"
	facesDraws         = "draws of the plan"
	facesNetProjection = "projection by a network"
	facesNetwork       = "SCONES, networks"
)

// facesOut. Artifacts: the first results of each method by number.
type facesOut struct {
	Name    string        `json:"name"` // of the data
	Methods []facesMethod `json:"methods"`
	Floor   float64       `json:"floor"` // Fréchet distance of as many other pictures of the target's half
	Cost    float64       `json:"cost"`  // of the plan of atoms
}

// method returns what was measured of one, NaN where it is missing.
func (o facesOut) method(name string) facesMethod {
	i := slices.IndexFunc(o.Methods, func(m facesMethod) bool { return m.Name == name })
	if i < 0 {
		return facesMethod{Frechet: math.NaN(), Cost: math.NaN()}
	}
	return o.Methods[i]
}

// ratio of two methods' Fréchet distances.
func (o facesOut) ratio(a, b string) float64 { return o.method(a).Frechet / o.method(b).Frechet }

func (o facesOut) cost(name string) float64 { return o.method(name).Cost }

var facesOf = lab.Experiment[facesParams, facesOut]{Name: "scones/faces", Version: 2, Run: runFaces}

// faces is a task under way.
type faces struct {
	p               facesParams
	c               *lab.Cell
	dev             *device.Device
	source, target  *data.Images // for training
	sources, others *data.Images // held out
	judge           *eval.Model
	real            *mat.Dense // features of others
	out             facesOut
}

func runFaces(ctx context.Context, c *lab.Cell, p facesParams) (facesOut, error) {
	f := &faces{p: p, c: c}
	var err error
	if f.dev, err = c.Device(p.Device); err != nil {
		return f.out, err
	}
	steps := []func(context.Context) error{f.load, f.appoint, f.transport}
	if p.Nets.Depth > 0 {
		steps = append(steps, f.networks)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return f.out, err
		}
	}
	return f.out, nil
}

// pictures reads the data set, at least of the size that is asked for.
func (f *faces) pictures(ctx context.Context) (*data.Images, error) {
	rng := f.c.Rand("pictures")
	if f.p.CelebA {
		m, err := data.CelebA{Size: f.p.Side, Label: "Male"}.Open()
		if err != nil {
			return nil, err
		}
		return m.Take(ctx, rng.Perm(m.Len())[:pickMost(m.Len(), f.p.Most)])
	}
	m, err := data.CIFAR10(ctx, sample.From(f.p.Data), data.Train)
	if err != nil {
		return nil, err
	}
	if m, err = m.Pick(rng, pickMost(m.Len(), f.p.Most)); err != nil {
		return nil, err
	}
	return m.Resize(f.p.Side, f.p.Side, data.Bilinear)
}

// load deals the pictures into two halves, of which some are held out, and blurs the sources.
func (f *faces) load(ctx context.Context) error {
	m, err := f.pictures(ctx)
	if err != nil {
		return err
	}
	f.out.Name = m.Name
	half := m.Len() / 2
	held := min(f.p.Sources, half/2)
	parts, err := m.Partition(f.c.Rand("halves"), half-held, half-held, held, held)
	if err != nil {
		return err
	}
	f.source, f.target, f.sources, f.others = parts[0], parts[1], parts[2], parts[3]
	if !f.p.Super {
		return nil
	}
	for _, m := range []**data.Images{&f.source, &f.sources} {
		small, err := (*m).Resize(f.p.Side/2, f.p.Side/2, data.Bilinear)
		if err != nil {
			return err
		}
		if *m, err = small.Resize(f.p.Side, f.p.Side, data.Bilinear); err != nil {
			return err
		}
	}
	return nil
}

// appoint trains the classifier whose features are looked at, on the target's half.
func (f *faces) appoint(ctx context.Context) error {
	big, err := padded(f.target)
	if err != nil {
		return err
	}
	if f.judge, err = (eval.Classifier{Kind: eval.LeNet, Epochs: 3}).Fit(ctx, f.dev, big, f.c.Rand("judge")); err != nil {
		return err
	}
	if f.real, err = f.features(ctx, f.others); err != nil {
		return err
	}
	some, err := f.target.Pick(f.c.Rand("floor"), min(f.others.Len(), f.target.Len()))
	if err != nil {
		return err
	}
	own, err := f.features(ctx, some)
	if err != nil {
		return err
	}
	f.out.Floor, err = distance.Frechet(own, f.real)
	return err
}

func (f *faces) features(ctx context.Context, m *data.Images) (*mat.Dense, error) {
	m, err := padded(m)
	if err != nil {
		return nil, err
	}
	return feature.Trained{Model: f.judge}.Of(ctx, m)
}

// facesLast is the last noise level, and facesStep its step.
const facesLast, facesStep = .01, 5e-5

// width is that of the factor exp(−s·c) where s is the steepest slope of log M: 1/λ under KL, β under χ². Steps of σ²/2 there are as
// long as the factor bears.
func (f *faces) width(k scones.Compatibility) float64 {
	lambda := k.Lambda
	if k.Beta > 0 {
		lambda = 1 / k.Beta
	}
	return math.Sqrt(lambda * float64(f.source.Dim()) / 2)
}

// sampler anneals from that width to the last level, each level two thirds of the one before.
func (f *faces) sampler(k scones.Compatibility) (score.Langevin, error) {
	first := f.width(k)
	levels, err := score.Geometric(first, facesLast, 1+int(math.Ceil(math.Log(first/facesLast)/math.Log(1.5))))
	return score.Langevin{Levels: levels, Steps: 5, Step: facesStep, Denoise: true}, err
}

// atoms is a plan between atoms, with its potentials off them.
type atoms struct {
	phi, psi scones.Potential
	from     interface {
		Barycentric(x *mat.Dense) *mat.Dense
		DrawPoints(x *mat.Dense, rng *rand.Rand) *mat.Dense
	}
	cost float64
}

// plan solves the discrete problem.
func (f *faces) plan(ctx context.Context) (atoms, error) {
	p, rng := f.p, f.c.Rand("atoms")
	if p.F == fdiv.KL {
		fitted, err := scones.Fit{Lambda: p.Lambda, Mean: true, Most: p.Atoms}.Run(ctx, f.source.Mat(), f.target.Mat(), rng)
		if err != nil {
			return atoms{}, err
		}
		return atoms{fitted.Phi, fitted.Psi, fitted.FromPhi, fitted.Plan.Sharp()}, nil
	}
	from, err := f.source.Pick(rng, min(p.Atoms, f.source.Len()))
	if err != nil {
		return atoms{}, err
	}
	to, err := f.target.Pick(rng, min(p.Atoms, f.target.Len()))
	if err != nil {
		return atoms{}, err
	}
	plan, phi, psi, err := scones.FitRegularised(ctx, scones.Compatibility{F: p.F, Lambda: p.Lambda}, from.Mat(), to.Mat(), true)
	if err != nil {
		return atoms{}, err
	}
	if plan.Status != ot.Converged {
		return atoms{}, fmt.Errorf("the plan of atoms is %v, of marginal error %g", plan.Status, plan.MarginalL1)
	}
	return atoms{phi, psi, phi, plan.Sharp}, nil
}

// transport takes potentials of atoms, and the exact score of noised pictures.
func (f *faces) transport(ctx context.Context) error {
	x := f.sources.Mat()
	plan, err := f.plan(ctx)
	if err != nil {
		return err
	}
	f.out.Cost = plan.cost
	known, err := f.target.Pick(f.c.Rand("known"), pickMost(f.target.Len(), f.p.Exact))
	if err != nil {
		return err
	}
	target, err := score.NewEmpirical(known.Mat(), nil, 0)
	if err != nil {
		return err
	}
	mean := plan.from.Barycentric(x)
	ways := []facesWay{
		{name: facesSource, make: func() (*mat.Dense, error) { return x, nil }},
		{name: facesProjection, make: func() (*mat.Dense, error) { return mean, nil }},
	}
	for _, s := range f.samplings() {
		l, err := f.sampler(s.k)
		if err != nil {
			return err
		}
		c := scones.Coupling{Compatibility: s.k, Phi: plan.phi, Psi: plan.psi, Target: target, Mean: true}
		if ways, err = f.sampled(ctx, ways, s.name, c, l, mean); err != nil {
			return err
		}
	}
	return f.addAll(ctx, x, append(ways, facesWay{name: facesDraws, make: func() (*mat.Dense, error) { return plan.from.DrawPoints(x, f.c.Rand("draws")), nil }}))
}

// samplings are what is sampled of the plan: itself under KL; under χ² with the soft-plus of the paper, with one as sharp as λ, and
// with the one that its code ran.
func (f *faces) samplings() []struct {
	name string
	k    scones.Compatibility
} {
	type sampling = struct {
		name string
		k    scones.Compatibility
	}
	k := f.p.compatibility()
	out := []sampling{{facesSCONES, k}}
	if f.p.F == fdiv.KL {
		return out
	}
	if sharp := k; f.p.Lambda < 1./facesBeta {
		sharp.Beta = 1 / f.p.Lambda
		out = append(out, sampling{facesSharp, sharp})
	}
	k.Beta = 1
	return append(out, sampling{facesLoose, k})
}

// sampled adds a way: chains from their start, which a killed run goes on with.
func (f *faces) sampled(ctx context.Context, ways []facesWay, name string, c scones.Coupling, l score.Langevin, start *mat.Dense) ([]facesWay, error) {
	dir, err := f.c.Scratch()
	if err != nil {
		return nil, err
	}
	l.Every, l.Path = every, fmt.Sprintf("%s/chains-%s.ckpt", dir, strings.ReplaceAll(name, "/", " over "))
	way := facesWay{name: name, watch: new(stopwatch)}
	way.make = func() (*mat.Dense, error) {
		*way.watch = *watch(f.c)
		l.Trace = way.watch.hear
		return c.Sample(ctx, f.sources.Mat(), 1, l, start, f.c.Rand("chains"))
	}
	return append(ways, way), nil
}

// networks is the paper's: critics, NCSNv2 and a projection of its architecture.
func (f *faces) networks(ctx context.Context) error {
	p, rng, x := f.p.Nets, f.c.Rand("networks"), f.sources.Mat()
	dir, err := f.c.Scratch()
	if err != nil {
		return err
	}
	k := f.p.compatibility()
	highest := 90.
	if k.F == fdiv.ChiSquare {
		highest = 9
	}
	levels, err := score.Geometric(highest, facesLast, p.Levels)
	if err != nil {
		return err
	}
	_, c, h, w := f.target.Shape()
	from, to := f.source.Mat(), f.target.Mat()
	trained, err := dsm.Training{Sigmas: levels, Steps: p.Score, Batch: 128, Rate: 1e-4, Path: dir + "/score.ckpt", Every: every,
		Trace: func(k int, _ float64) { f.c.Progress(k, p.Score) }}.
		Run(ctx, f.dev, arch.NCSNv2{Channels: c, Features: p.Features, Sigmas: levels}.Net(), to, []int{c, h, w}, rng)
	if err != nil {
		return err
	}
	hidden := slices.Repeat([]int{p.Width}, p.Depth)
	trainedBy := scones.Compatibility{F: k.F, Lambda: k.Lambda}
	critics, err := neural.Training{Ascent: scones.Ascent{Compatibility: trainedBy, Mean: true, Paired: true, Steps: p.Critic, Batch: 1000,
		Trace: func(k int, _ float64) { f.c.Progress(k, p.Critic) }}, Hidden: hidden, Rate: 1e-5, Unscaled: true, Path: dir + "/potentials.ckpt", Every: every}.
		Run(ctx, f.dev, f.target.Dim(), scones.Cloud(from), scones.Cloud(to), rng)
	if err != nil {
		return err
	}
	coupling := scones.Coupling{Compatibility: k, Phi: critics.Phi, Psi: critics.Psi, Target: trained, Mean: true}
	project, err := neural.Projection{Coupling: coupling, Steps: p.Projection, Batch: 64, Rate: 1e-6, Schedule: train.Linear(p.Projection, .1), Path: dir + "/projection.ckpt", Every: every}.
		Run(ctx, f.dev, flat(arch.BarycentricImages{Channels: c, Features: max(p.Features*3/8, 2)}.Net(), c, h, w), scones.Cloud(from), scones.Cloud(to), rng)
	if err != nil {
		return err
	}
	mean, err := project.Apply(x)
	if err != nil {
		return err
	}
	first := f.width(k)
	levels = slices.DeleteFunc(levels, func(s float64) bool { return s > first && s > facesLast })
	ways := []facesWay{{name: facesNetProjection, make: func() (*mat.Dense, error) { return mean, nil }}}
	l := score.Langevin{Levels: levels, Steps: 5, Step: 1.5e-6, Denoise: true}
	if k.F == fdiv.KL && k.Lambda < .01 {
		l.Steps, l.Step = 7, 1e-6
	}
	if ways, err = f.sampled(ctx, ways, facesNetwork, coupling, l, mean); err != nil {
		return err
	}
	return f.addAll(ctx, x, ways)
}

// facesShown is how many pictures of a method are kept.
const facesShown = 8

// facesWay is a method before it is judged.
type facesWay struct {
	name  string
	make  func() (*mat.Dense, error)
	watch *stopwatch // of chains
}

func (f *faces) addAll(ctx context.Context, x *mat.Dense, ways []facesWay) error {
	for _, w := range ways {
		if err := f.add(ctx, x, w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

func (f *faces) add(ctx context.Context, x *mat.Dense, w facesWay) error {
	begin := time.Now()
	y, err := w.make()
	if err != nil {
		return err
	}
	n, d := y.Dims()
	m := facesMethod{Name: w.name, Seconds: time.Since(begin).Seconds() / float64(n)}
	if w.watch != nil {
		m.Seconds = w.watch.seconds(n)
	}
	y = mat.DenseCopyOf(y)
	y.Apply(func(_, _ int, v float64) float64 { return min(max(v, 0), 1) }, y)
	var moved mat.Dense
	moved.Sub(y, x)
	m.Cost = mat.Norm(&moved, 2) * mat.Norm(&moved, 2) / float64(n*d)
	_, c, h, wide := f.sources.Shape()
	images, err := data.FromMat(y, c, h, wide, 0, 1)
	if err != nil {
		return err
	}
	seen, err := f.features(ctx, images)
	if err != nil {
		return err
	}
	if m.Frechet, err = distance.Frechet(seen, f.real); err != nil {
		return err
	}
	f.out.Methods = append(f.out.Methods, m)
	return artifact.Write(f.c, fmt.Sprintf("%d.npy", len(f.out.Methods)-1), mat.DenseCopyOf(y.Slice(0, min(facesShown, n), 0, d)))
}

// flat lets a network of images take and give rows.
func flat(net nn.Layer, c, h, w int) nn.Layer {
	return nn.Seq(&nn.Reshape{Shape: []int{c, h, w}}, net, nn.Flatten())
}
