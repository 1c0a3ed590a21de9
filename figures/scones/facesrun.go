package scones

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"coupling/data"
	"coupling/figures/artifact"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/eval"
	"coupling/lab/eval/distance"
	"coupling/lab/eval/feature"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/ot/fdiv"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
)

// facesParams is one task at one λ of KL and the mean cost.
type facesParams struct {
	CelebA  bool      `json:"celeba"` // else CIFAR-10
	Super   bool      `json:"super"`  // sources are blurred
	Lambda  float64   `json:"lambda"`
	Side    int       `json:"side"`
	Most    int       `json:"most"` // pictures in all; 0: all
	Sources int       `json:"sources"`
	Exact   int       `json:"exact"` // pictures whose noised score is taken; 0: all of the target's half
	Atoms   int       `json:"atoms"`
	Nets    facesNets `json:"nets"`
	Device  string    `json:"device"`
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

var facesOf = lab.Experiment[facesParams, facesOut]{Name: "scones/faces", Version: 1, Run: runFaces}

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
	if f.dev, err = device.Open(p.Device); err != nil {
		return f.out, err
	}
	defer func() { _ = f.dev.Close() }() // frees the networks
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
	m, err := data.CIFAR10(ctx, data.From{}, data.Train)
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

// levels are noise levels from the width of the factor exp(−c/λ), √(λd/2), at which steps of σ²/2 are as long as it bears, to
// the last, each two thirds of the one before.
func (f *faces) levels() ([]float64, error) {
	first := math.Sqrt(f.p.Lambda * float64(f.source.Dim()) / 2)
	return score.Geometric(first, facesLast, 1+int(math.Ceil(math.Log(first/facesLast)/math.Log(1.5))))
}

// transport takes potentials of atoms, and the exact score of noised pictures.
func (f *faces) transport(ctx context.Context) error {
	x := f.sources.Mat()
	fitted, err := scones.Fit{Lambda: f.p.Lambda, Mean: true, Most: f.p.Atoms}.Run(ctx, f.source.Mat(), f.target.Mat(), f.c.Rand("atoms"))
	if err != nil {
		return err
	}
	f.out.Cost = fitted.Plan.Sharp()
	known, err := f.target.Pick(f.c.Rand("known"), pickMost(f.target.Len(), f.p.Exact))
	if err != nil {
		return err
	}
	if fitted.Target, err = score.NewEmpirical(known.Mat(), nil, 0); err != nil {
		return err
	}
	levels, err := f.levels()
	if err != nil {
		return err
	}
	l := score.Langevin{Levels: levels, Steps: 5, Step: facesStep, Denoise: true, Trace: func(s score.Progress) { f.c.Progress(s.Done, s.Total) }}
	mean := fitted.FromPhi.Barycentric(x)
	return f.addAll(ctx, x, []facesWay{
		{facesSource, func() (*mat.Dense, error) { return x, nil }},
		{facesProjection, func() (*mat.Dense, error) { return mean, nil }},
		{facesSCONES, func() (*mat.Dense, error) { return fitted.Coupling.Sample(ctx, x, 1, l, mean, f.c.Rand("chains")) }},
		{facesDraws, func() (*mat.Dense, error) { return fitted.FromPhi.DrawPoints(x, f.c.Rand("draws")), nil }},
	})
}

// networks is the paper's: critics, NCSNv2 and a projection of its architecture.
func (f *faces) networks(ctx context.Context) error {
	p, rng, x := f.p.Nets, f.c.Rand("networks"), f.sources.Mat()
	dir, err := f.c.Scratch()
	if err != nil {
		return err
	}
	levels, err := score.Geometric(90, facesLast, p.Levels)
	if err != nil {
		return err
	}
	_, c, h, w := f.target.Shape()
	from, to := f.source.Mat(), f.target.Mat()
	trained, err := dsm.Training{Sigmas: levels, Steps: p.Score, Batch: 128, Rate: 1e-4, Path: dir + "/score.ckpt",
		Trace: func(k int, _ float64) { f.c.Progress(k, p.Score) }}.
		Run(ctx, f.dev, arch.NCSNv2{Channels: c, Features: p.Features, Sigmas: levels}.Net(), to, []int{c, h, w}, rng)
	if err != nil {
		return err
	}
	hidden := slices.Repeat([]int{p.Width}, p.Depth)
	k := scones.Compatibility{F: fdiv.KL, Lambda: f.p.Lambda}
	critics, err := neural.Training{Ascent: scones.Ascent{Compatibility: k, Mean: true, Paired: true, Steps: p.Critic, Batch: 1000,
		Trace: func(k int, _ float64) { f.c.Progress(k, p.Critic) }}, Hidden: hidden, Rate: 1e-5, Unscaled: true, Path: dir + "/potentials.ckpt"}.
		Run(ctx, f.dev, f.target.Dim(), scones.Cloud(from), scones.Cloud(to), rng)
	if err != nil {
		return err
	}
	coupling := scones.Coupling{Compatibility: k, Phi: critics.Phi, Psi: critics.Psi, Target: trained, Mean: true}
	project, err := neural.Projection{Coupling: coupling, Steps: p.Projection, Batch: 64, Rate: 1e-6, Schedule: train.Linear(p.Projection, .1), Path: dir + "/projection.ckpt"}.
		Run(ctx, f.dev, flat(arch.BarycentricImages{Channels: c, Features: max(p.Features*3/8, 2)}.Net(), c, h, w), scones.Cloud(from), scones.Cloud(to), rng)
	if err != nil {
		return err
	}
	mean, err := project.Apply(x)
	if err != nil {
		return err
	}
	first := math.Sqrt(f.p.Lambda * float64(f.source.Dim()) / 2)
	levels = slices.DeleteFunc(levels, func(s float64) bool { return s > first && s > facesLast })
	l := score.Langevin{Levels: levels, Steps: 5, Step: 1.5e-6, Denoise: true, Trace: func(s score.Progress) { f.c.Progress(s.Done, s.Total) }}
	return f.addAll(ctx, x, []facesWay{
		{facesNetProjection, func() (*mat.Dense, error) { return mean, nil }},
		{facesNetwork, func() (*mat.Dense, error) { return coupling.Sample(ctx, x, 1, l, mean, f.c.Rand("chains")) }},
	})
}

// facesShown is how many pictures of a method are kept.
const facesShown = 16

// facesWay is a method before it is judged.
type facesWay struct {
	name string
	make func() (*mat.Dense, error)
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
