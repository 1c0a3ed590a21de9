package scones

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/artifact"
	"coupling/lab"
	"coupling/lab/device"
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

// facesBeta is the sharpness of the soft-plus of the paper's χ² plans between faces.
const facesBeta = 10

// compatibility is what is sampled: under χ² the paper's, smoothed.
func (p FacesParams) compatibility(lambda float64) scones.Compatibility {
	k := scones.Compatibility{F: p.F, Lambda: lambda}
	if p.F == fdiv.ChiSquare {
		k.Beta = facesBeta
	}
	return k
}

// faces is a divergence under way: what its plans share.
type faces struct {
	p               FacesParams
	c               *lab.Cell
	dev             *device.Device
	target          *data.Images           // for training
	others          *data.Images           // held out
	source, sources map[bool]*data.Images  // of each task, true for super-res.: for training and held out
	fields          map[string]score.Field // scores of the target
	levels          []float64              // of the score network
	judge           *judge
	out             FacesOut
}

func runFaces(ctx context.Context, c *lab.Cell, p FacesParams) (FacesOut, error) {
	f := &faces{p: p, c: c}
	var err error
	if f.dev, err = c.Device(p.Device); err != nil {
		return f.out, err
	}
	for _, step := range []func(context.Context) error{f.load, f.appoint, f.learnScores} {
		if err := step(ctx); err != nil {
			return f.out, err
		}
	}
	for _, super := range []bool{true, false} {
		for _, lambda := range p.Lambdas {
			plan := &facesPlan{faces: f, x: f.sources[super].Mat(), Plan: FacesPlan{Super: super, Lambda: lambda}}
			if err := plan.run(ctx); err != nil {
				return f.out, fmt.Errorf("%s, λ = %g: %w", task(super), lambda, err)
			}
			f.out.Plans = append(f.out.Plans, plan.Plan)
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
	m, err := data.FashionMNIST(ctx, sample.From(f.p.Data), data.Train)
	if err != nil {
		return nil, err
	}
	if m, err = m.Pick(rng, pickMost(m.Len(), f.p.Most)); err != nil {
		return nil, err
	}
	if m, err = m.Scale(0, 1); err != nil {
		return nil, err
	}
	if m, err = m.Pad(2, 2); err != nil || f.p.Side == 32 {
		return m, err
	}
	return m.Resize(f.p.Side, f.p.Side, data.Bilinear)
}

// load deals the pictures into two halves, of which some are held out, and blurs the sources of one task.
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
	f.target, f.others = parts[1], parts[3]
	f.source, f.sources = map[bool]*data.Images{false: parts[0]}, map[bool]*data.Images{false: parts[2]}
	for _, tasks := range []map[bool]*data.Images{f.source, f.sources} {
		small, err := tasks[false].Resize(f.p.Side/2, f.p.Side/2, data.Bilinear)
		if err != nil {
			return err
		}
		if tasks[true], err = small.Resize(f.p.Side, f.p.Side, data.Bilinear); err != nil {
			return err
		}
	}
	return nil
}

// appoint trains the classifier whose features are looked at, on the target's half.
func (f *faces) appoint(ctx context.Context) (err error) {
	if f.judge, err = newJudge(ctx, f.dev, f.target, f.others, 3, f.p.Inception, f.c.Rand("judge")); err == nil {
		f.out.Floor = f.judge.Floor
	}
	return err
}

// learnScores sets up the exact score, fits the mixture, and trains the one score network of all plans.
func (f *faces) learnScores(ctx context.Context) (err error) {
	mixture := score.FitMixture{Parts: f.p.Parts, Axes: min(60, f.target.Len()/2), Steps: 10}
	if f.fields, err = scoresOf(ctx, f.target, f.p.Exact, mixture, f.c.Rand("scores")); err != nil {
		return err
	}
	if f.p.Nets.Depth == 0 {
		return nil
	}
	highest := 90.
	if f.p.F == fdiv.ChiSquare {
		highest = 9
	}
	if f.levels, err = score.Geometric(highest, facesLast, f.p.Nets.Levels); err != nil {
		return err
	}
	dir, err := f.c.Scratch()
	if err != nil {
		return err
	}
	_, c, h, w := f.target.Shape()
	f.fields[networkScore], err = dsm.Training{Sigmas: f.levels, Steps: f.p.Nets.Score, Batch: 128, Rate: 1e-4, Decay: .999, Path: dir + "/score.ckpt", Every: every,
		Trace: func(k int, _ float64) { f.c.Progress(k, f.p.Nets.Score) }}.
		Run(ctx, f.c.Rand("score"), f.dev, arch.NCSNv2{Channels: c, Features: f.p.Nets.Features, Sigmas: f.levels}.Net(), f.target.Mat(), []int{c, h, w})
	return err
}

// facesLast is the last noise level, and facesStep its step.
const facesLast, facesStep = .01, 5e-5

// facesPlan is a plan under way.
type facesPlan struct {
	*faces
	x    *mat.Dense // sources
	Plan FacesPlan
}

// width is that of the factor exp(−s·c) where s is the steepest slope of log M: 1/λ under KL, β under χ². Steps of σ²/2 there are as
// long as the factor bears.
func (f *facesPlan) width(k scones.Compatibility) float64 {
	lambda := k.Lambda
	if k.Beta > 0 {
		lambda = 1 / k.Beta
	}
	return math.Sqrt(lambda * float64(f.target.Dim()) / 2)
}

// sampler anneals from that width to the last level, each level two thirds of the one before. Under the mixture it ends at σ = 0.129,
// below which that knows no more of a picture, and the denoising step takes the rest off.
func (f *facesPlan) sampler(k scones.Compatibility, field string) (score.Langevin, error) {
	first, last, steps := f.width(k), facesLast, 5
	if field == mixtureScore {
		last, steps = .129, 6
	}
	first = max(first, last)
	levels, err := score.Geometric(first, last, 2+int(math.Ceil(math.Log(first/last)/math.Log(1.5))))
	return score.Langevin{Levels: levels, Steps: steps, Step: facesStep * math.Pow(last/facesLast, 2), Denoise: true}, err
}

// atoms is a plan between atoms, with its potentials off them.
type atoms struct {
	phi, psi scones.Potential
	from     interface {
		Barycentric(x *mat.Dense) *mat.Dense
		DrawPoints(rng *rand.Rand, x *mat.Dense) *mat.Dense
	}
	cost float64
}

// solve solves the discrete problem.
func (f *facesPlan) solve(ctx context.Context) (atoms, error) {
	p, lambda, rng := f.p, f.Plan.Lambda, f.c.Rand("atoms")
	source := f.source[f.Plan.Super]
	if p.F == fdiv.KL {
		fitted, err := scones.Fit{Lambda: lambda, Mean: true, MaxAtoms: p.Atoms}.Run(ctx, rng, source.Mat(), f.target.Mat())
		if err != nil {
			return atoms{}, err
		}
		return atoms{fitted.Phi, fitted.Psi, fitted.FromPhi, fitted.Plan.Sharp()}, nil
	}
	from, err := source.Pick(rng, min(p.Atoms, source.Len()))
	if err != nil {
		return atoms{}, err
	}
	to, err := f.target.Pick(rng, min(p.Atoms, f.target.Len()))
	if err != nil {
		return atoms{}, err
	}
	plan, phi, psi, err := scones.FitRegularised(ctx, scones.Compatibility{F: p.F, Lambda: lambda}, from.Mat(), to.Mat(), true)
	if err != nil {
		return atoms{}, err
	}
	if plan.Status != ot.Converged {
		return atoms{}, fmt.Errorf("the plan of atoms is %v, of marginal error %g", plan.Status, plan.MarginalL1)
	}
	return atoms{phi, psi, phi, plan.Sharp}, nil
}

// run takes potentials of atoms, with the scores that are known, and networks, if any.
func (f *facesPlan) run(ctx context.Context) error {
	plan, err := f.solve(ctx)
	if err != nil {
		return err
	}
	f.Plan.Cost = plan.cost
	mean := plan.from.Barycentric(f.x)
	random, err := f.target.Pick(f.c.Rand("random"), min(f.x.RawMatrix().Rows, f.target.Len()))
	if err != nil {
		return err
	}
	for _, m := range []struct {
		name string
		y    *mat.Dense
	}{{facesSource, f.x}, {facesProjection, mean}, {facesDraws, plan.from.DrawPoints(f.c.Rand("draws"), f.x)}, {facesRandom, random.Mat()}} {
		if err := f.add(ctx, m.name, m.y, 0); err != nil {
			return err
		}
	}
	for _, s := range f.samplings() {
		if f.fields[s.field] == nil {
			continue
		}
		l, err := f.sampler(s.k, s.field)
		if err != nil {
			return err
		}
		c := scones.Coupling{Compatibility: s.k, Phi: plan.phi, Psi: plan.psi, Target: f.fields[s.field], Mean: true}
		if err := f.sampled(ctx, s.name, c, l, mean); err != nil {
			return err
		}
	}
	if f.p.Nets.Depth > 0 {
		return f.networks(ctx)
	}
	return nil
}

// A sampling is what is sampled of a plan, and by which score.
type sampling struct {
	name, field string
	k           scones.Compatibility
}

// samplings are the plan itself under KL; under χ² with the soft-plus of the paper, with one as sharp as λ, and with the one that its
// code ran.
func (f *facesPlan) samplings() []sampling {
	k := f.p.compatibility(f.Plan.Lambda)
	if f.p.F == fdiv.KL {
		return []sampling{{facesExact, exactScore, k}, {facesMixture, mixtureScore, k}}
	}
	field, out := exactScore, []sampling{{facesExact, exactScore, k}}
	if f.fields[mixtureScore] != nil {
		field, out = mixtureScore, []sampling{{facesMixture, mixtureScore, k}}
	}
	if sharp := k; f.Plan.Lambda < 1./facesBeta {
		sharp.Beta = 1 / f.Plan.Lambda
		out = append(out, sampling{facesSharp, field, sharp})
	}
	k.Beta = 1
	return append(out, sampling{facesLoose, field, k})
}

// sampled adds chains from their start, which a killed run goes on with.
func (f *facesPlan) sampled(ctx context.Context, name string, c scones.Coupling, l score.Langevin, start *mat.Dense) error {
	y, seconds, err := chains(ctx, f.c, f.file(name), c, f.x, 1, l, start, f.c.Rand("chains"))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return f.add(ctx, name, y, seconds)
}

// file names what this plan stores on the way.
func (f *facesPlan) file(name string) string {
	return fmt.Sprintf("%s-%g-%s", task(f.Plan.Super), f.Plan.Lambda, strings.NewReplacer("/", " over ", " ", "-").Replace(name))
}

// networks is the paper's: critics and a projection of NCSNv2's architecture, with the score network of all plans.
func (f *facesPlan) networks(ctx context.Context) error {
	p, k, rng := f.p.Nets, f.p.compatibility(f.Plan.Lambda), f.c.Rand("networks")
	dir, err := f.c.Scratch()
	if err != nil {
		return err
	}
	_, c, h, w := f.target.Shape()
	from, to := scones.Cloud(f.source[f.Plan.Super].Mat()), scones.Cloud(f.target.Mat())
	critics, err := neural.Training{Ascent: scones.Ascent{Compatibility: scones.Compatibility{F: k.F, Lambda: k.Lambda}, Mean: true, Paired: true, Steps: p.Critic, Batch: 1000,
		Trace: func(k int, _ float64) { f.c.Progress(k, p.Critic) }}, Hidden: slices.Repeat([]int{p.Width}, p.Depth), Rate: 1e-5, Unscaled: true, Path: dir + "/" + f.file("potentials") + ".ckpt", Every: every}.
		Run(ctx, rng, f.dev, f.target.Dim(), from, to)
	if err != nil {
		return err
	}
	coupling := scones.Coupling{Compatibility: k, Phi: critics.Phi, Psi: critics.Psi, Target: f.fields[networkScore], Mean: true}
	project, err := neural.Projection{Coupling: coupling, Steps: p.Projection, Batch: 64, Rate: 1e-6, Schedule: train.Linear(p.Projection, .1), Path: dir + "/" + f.file("projection") + ".ckpt", Every: every}.
		Run(ctx, rng, f.dev, flat(arch.BarycentricImages{Channels: c, Features: max(p.Features*3/8, 2)}.Net(), c, h, w), from, to)
	if err != nil {
		return err
	}
	mean, err := project.Apply(f.x)
	if err != nil {
		return err
	}
	if err := f.add(ctx, facesNetProjection, mean, 0); err != nil {
		return err
	}
	first := f.width(k)
	l := score.Langevin{Levels: slices.DeleteFunc(slices.Clone(f.levels), func(s float64) bool { return s > first && s > facesLast }), Steps: 5, Step: 1.5e-6, Denoise: true}
	if k.F == fdiv.KL && k.Lambda < .01 {
		l.Steps, l.Step = 7, 1e-6
	}
	return f.sampled(ctx, facesNetwork, coupling, l, mean)
}

// facesShown is how many pictures of a method are kept.
const facesShown = 10

// add judges a method and keeps its first pictures.
func (f *facesPlan) add(ctx context.Context, name string, y *mat.Dense, seconds float64) error {
	n, d := y.Dims()
	m := FacesMethod{Name: name, Seconds: seconds}
	y = mat.DenseCopyOf(y)
	y.Apply(func(_, _ int, v float64) float64 { return min(max(v, 0), 1) }, y)
	var moved mat.Dense
	moved.Sub(y, f.x)
	m.Cost = mat.Norm(&moved, 2) * mat.Norm(&moved, 2) / float64(n*d)
	var err error
	if m.Own, err = own(ctx, y, f.x); err != nil {
		return err
	}
	v, err := f.judge.look(ctx, y, make([]int, n))
	if err != nil {
		return err
	}
	m.Frechet, m.KID = v.frechet, v.kid.Value
	f.Plan.Methods = append(f.Plan.Methods, m)
	return artifact.Write(f.c, facesFile(len(f.out.Plans), len(f.Plan.Methods)-1), mat.DenseCopyOf(y.Slice(0, min(facesShown, n), 0, d)))
}

// facesFile is the artifact of a method of a plan, by number.
func facesFile(plan, method int) string { return fmt.Sprintf("%d-%d.npy", plan, method) }

// flat lets a network of images take and give rows.
func flat(net nn.Layer, c, h, w int) nn.Layer {
	return nn.Seq(&nn.Reshape{Shape: []int{c, h, w}}, net, nn.Flatten())
}
