package scones

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"coupling/data"
	"coupling/figures/artifact"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/ot/fdiv"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
)

const pixels = 16 * 16

// Digits is Figure 3: USPS digits to MNIST digits and back.
func Digits() lab.Figure {
	return lab.Figure{
		Name:  "scones/digits",
		Title: "Figure 3: transport between USPS and MNIST digits",
		Shows: "Handwritten digits of one set, and where the χ²-regularised plan at λ = 0.001 sends them: on average (barycentric projection) and by " +
			"samples, with the soft-plus at the sharpness that the paper states and at the one that its code ran, at which the plan's factor is all but " +
			"gone. Below, the KL plan of 2000 atoms with the same score, and draws of that plan itself: what a sampler with a good score would " +
			"look like. At quick the score is a dense network that trained for minutes, which does not draw digits: its rows show the method, not what it can do.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "300 digits a set, every network trained for 20 steps",
			lab.Quick: "dense networks: critics 2 × 256, 3000 steps; score 2 × 768, 8000 steps; 500 sources",
			lab.Paper: "critics 2 × 1024, 5000 steps, batch 1000; NCSN of 64 features, 40,000 steps; 4000 sources",
		},
		Decoders: []lab.Decoder{digitsOf.Decoder(), digitsPlanOf.Decoder()},
		Jobs: func(set lab.Setting) ([]lab.Job, error) {
			return append(digitsOf.Jobs(set.Seed, digitsGrid(set)...), digitsPlanOf.Jobs(set.Seed, digitsGrid(set)...)...), nil
		},
		Draw:   drawDigits,
		Claims: claimDigits,
	}
}

// digitsParams is one direction.
type digitsParams struct {
	ToMNIST  bool    `json:"to_mnist"`
	Most     int     `json:"most"` // training digits of each set; 0: all
	Lambda   float64 `json:"lambda"`
	Critic   int     `json:"critic"` // width of two hidden layers
	Steps    int     `json:"steps"`
	Batch    int     `json:"batch"`
	Rate     float64 `json:"rate"`
	NCSN     bool    `json:"ncsn"` // the paper's score network, else a dense one
	Width    int     `json:"width"`
	ScoreFor int     `json:"score_for"` // its steps
	ProjFor  int     `json:"projection_for"`
	Sources  int     `json:"sources"`
	Device   string  `json:"device"`
}

func digitsGrid(set lab.Setting) []digitsParams {
	p := set.Preset
	base := digitsParams{
		Most: pick(p, 300, 0, 0), Lambda: .001, Critic: pick(p, 32, 256, 1024), Steps: pick(p, 20, 3000, 5000), Batch: pick(p, 64, 256, 1000),
		Rate: pick(p, 1e-4, 1e-4, 1e-5), NCSN: p == lab.Paper, Width: pick(p, 32, 768, 64), ScoreFor: pick(p, 20, 8000, 40000),
		ProjFor: pick(p, 20, 1500, 20000), Sources: pick(p, 40, 500, 4000), Device: set.Device,
	}
	return lab.Grid(base, lab.Vary(func(p *digitsParams, v bool) { p.ToMNIST = v }, false, true))
}

// method is one way to transport, and what a classifier of the target says of its results.
type method struct {
	Name    string  `json:"name"`
	Frechet float64 `json:"frechet"` // of features, from test digits of the target
	Same    float64 `json:"same"`    // share that is taken for the digit of its source
	Moved   float64 `json:"moved"`   // mean square of y − x over pixels
	Seconds float64 `json:"seconds"` // a sample
}

// digitsOut. Artifacts: sources.npy and one for each method by number, the first rows only.
type digitsOut struct {
	Methods  []method `json:"methods"`
	Accuracy float64  `json:"accuracy"` // of the classifier on test digits of the target
	Floor    float64  `json:"floor"`    // Fréchet distance of as many training digits of the target
	Training float64  `json:"training"` // seconds
}

var digitsOf = lab.Experiment[digitsParams, digitsOut]{Name: "scones/digits", Version: 1, Run: runDigits}

// digitsPlanOf is the discrete KL plan alone, judged by the same classifier. It has one method.
var digitsPlanOf = lab.Experiment[digitsParams, digitsOut]{Name: "scones/digits-plan", Version: 1, Run: runDigitsPlan}

// cloud is digits as rows in [0, 1].
type cloud struct {
	x      *mat.Dense
	labels []int
}

func loadDigits(ctx context.Context, load func(context.Context, data.From, data.Split) (*data.Images, error), split data.Split, most int, rng *rand.Rand) (cloud, error) {
	m, err := load(ctx, data.From{}, split)
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
	return cloud{x: m.Mat(), labels: m.Labels}, nil
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
	judge          *classifier
	features       *mat.Dense // of the target's test digits
	score          score.Field
	coupling       scones.Coupling
	projection     *neural.Map
	sampler        score.Langevin
	out            digitsOut
}

func runDigits(ctx context.Context, c *lab.Cell, p digitsParams) (digitsOut, error) {
	t := &transport{p: p, c: c}
	var err error
	if t.dev, err = device.Open(p.Device); err != nil {
		return t.out, err
	}
	defer func() { _ = t.dev.Close() }() // frees the networks
	for _, step := range []func(context.Context) error{t.load, t.train, t.transport} {
		if err := step(ctx); err != nil {
			return t.out, err
		}
	}
	return t.out, nil
}

func runDigitsPlan(ctx context.Context, c *lab.Cell, p digitsParams) (digitsOut, error) {
	t := &transport{p: p, c: c}
	var err error
	if t.dev, err = device.Open(p.Device); err != nil {
		return t.out, err
	}
	defer func() { _ = t.dev.Close() }() // frees the networks
	if err := t.load(ctx); err != nil {
		return t.out, err
	}
	if err := t.teach(c.Rand("networks")); err != nil {
		return t.out, err
	}
	if t.features, _, err = t.judge.judge(t.test.x); err != nil {
		return t.out, err
	}
	kl, err := scones.Fit{Lambda: .005, Mean: true}.Run(ctx, t.source.x, t.target.x, c.Rand("atoms"))
	if err != nil {
		return t.out, err
	}
	return t.out, t.add("KL of atoms, the plan itself", func() (*mat.Dense, error) { return kl.FromPhi.DrawPoints(t.sources.x, c.Rand("draws")), nil })
}

// teach trains the classifier: first of all networks, so that it is the same in both experiments.
func (t *transport) teach(rng *rand.Rand) (err error) {
	t.judge, err = trainClassifier(t.dev, t.target.x, t.target.labels, max(t.p.Steps/2, 20), rng)
	return err
}

func (t *transport) load(ctx context.Context) error {
	from, to := data.MNIST, data.USPS
	if t.p.ToMNIST {
		from, to = to, from
	}
	rng := t.c.Rand("digits")
	var errs [4]error
	t.source, errs[0] = loadDigits(ctx, from, data.Train, t.p.Most, rng)
	t.target, errs[1] = loadDigits(ctx, to, data.Train, t.p.Most, rng)
	t.sources, errs[2] = loadDigits(ctx, from, data.Test, t.p.Sources, rng)
	t.test, errs[3] = loadDigits(ctx, to, data.Test, t.p.Sources, rng)
	return errors.Join(errs[:]...)
}

// train trains the classifier, the score, the potentials and the projection.
func (t *transport) train(ctx context.Context) error {
	begin := time.Now()
	p, rng := t.p, t.c.Rand("networks")
	dir, err := t.c.Scratch()
	if err != nil {
		return err
	}
	if err := t.teach(rng); err != nil {
		return err
	}
	levels, err := score.Geometric(1, .01, 10)
	if err != nil {
		return err
	}
	shape := []int{pixels}
	scoreNet := dsm.MLP(pixels, levels, p.Width, p.Width)
	if p.NCSN {
		scoreNet, shape = arch.NCSN{Channels: 1, Features: p.Width, Levels: len(levels)}.Net(), []int{1, 16, 16}
	}
	t.score, err = dsm.Training{Sigmas: levels, Steps: p.ScoreFor, Batch: 128, Schedule: train.Linear(p.ScoreFor, .05), Path: dir + "/score.ckpt",
		Trace: func(k int, _ float64) { t.c.Progress(k, p.ScoreFor) }}.Run(ctx, t.dev, scoreNet, t.target.x, shape, rng)
	if err != nil {
		return err
	}
	potentials, err := neural.Training{
		Ascent: scones.Ascent{Compatibility: scones.Compatibility{F: fdiv.ChiSquare, Lambda: p.Lambda}, Mean: true, Steps: p.Steps, Batch: p.Batch,
			Schedule: train.Linear(p.Steps, 0), Trace: func(k int, _ float64) { t.c.Progress(k, p.Steps) }},
		Hidden: []int{p.Critic, p.Critic}, Rate: p.Rate, Unscaled: true, Path: dir + "/potentials.ckpt",
	}.Run(ctx, t.dev, pixels, scones.Cloud(t.source.x), scones.Cloud(t.target.x), rng)
	if err != nil {
		return err
	}
	t.coupling = scones.Coupling{Compatibility: scones.Compatibility{F: fdiv.ChiSquare, Lambda: p.Lambda, Beta: 1000}, Phi: potentials.Phi, Psi: potentials.Psi, Target: t.score, Mean: true}
	t.projection, err = neural.Projection{Coupling: t.coupling, Steps: p.ProjFor, Batch: p.Batch, Schedule: train.Linear(p.ProjFor, 0)}.
		Run(ctx, t.dev, arch.BarycentricPixels(pixels, pixels, p.Critic, p.Critic), scones.Cloud(t.source.x), scones.Cloud(t.target.x), rng)
	t.sampler = score.Langevin{Levels: levels[3:], Steps: 10, Step: 5e-5, Denoise: true} // .2154 to .01, as in the code
	t.out.Training = time.Since(begin).Seconds()
	return err
}

// transport makes and judges the results of all methods.
func (t *transport) transport(ctx context.Context) error {
	var digits []int
	var err error
	if t.features, digits, err = t.judge.judge(t.test.x); err != nil {
		return err
	}
	t.out.Accuracy = agree(digits, t.test.labels)
	rng := t.c.Rand("floor")
	n, _ := t.test.x.Dims()
	train, _, err := t.judge.judge(rowsOf(t.target.x, rng.Perm(len(t.target.labels))[:min(n, len(t.target.labels))]))
	if err != nil {
		return err
	}
	if t.out.Floor, err = frechet(train, t.features); err != nil {
		return err
	}
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
	kl.Target = t.score
	sample := func(c scones.Coupling, from *mat.Dense) func() (*mat.Dense, error) {
		return func() (*mat.Dense, error) {
			y, err := c.Sample(ctx, t.sources.x, 1, t.sampler, from, t.c.Rand("chains"))
			if err == nil {
				y.Apply(func(_, _ int, v float64) float64 { return min(max(v, 0), 1) }, y)
			}
			return y, err
		}
	}
	return errors.Join(
		t.add("source", func() (*mat.Dense, error) { return t.sources.x, nil }),
		t.add("χ², projection", func() (*mat.Dense, error) { return start, nil }),
		t.add("χ², SCONES, β = 1000", sample(t.coupling, start)),
		t.add("χ², SCONES, β = 1", sample(loose, start)),
		t.add("KL of atoms, projection", func() (*mat.Dense, error) { return kl.FromPhi.Barycentric(t.sources.x), nil }),
		t.add("KL of atoms, SCONES", sample(kl.Coupling, kl.FromPhi.Barycentric(t.sources.x))),
	)
}

// shown is how many digits a picture has.
const shown = 20

func (t *transport) add(name string, make func() (*mat.Dense, error)) error {
	begin := time.Now()
	y, err := make()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	n, _ := y.Dims()
	m := method{Name: name, Seconds: time.Since(begin).Seconds() / float64(n)}
	f, digits, err := t.judge.judge(y)
	if err != nil {
		return err
	}
	m.Same = agree(digits, t.sources.labels)
	if m.Frechet, err = frechet(f, t.features); err != nil {
		return err
	}
	var d mat.Dense
	d.Sub(y, t.sources.x)
	m.Moved = mat.Norm(&d, 2) * mat.Norm(&d, 2) / float64(n*pixels)
	t.out.Methods = append(t.out.Methods, m)
	return artifact.Write(t.c, fmt.Sprintf("%d.npy", len(t.out.Methods)-1), mat.DenseCopyOf(y.Slice(0, min(shown, n), 0, pixels)))
}

func drawDigits(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
	cells, err := lab.RecallAll(s, digitsOf, set.Seed, digitsGrid(set))
	if err != nil {
		return lab.Exhibit{}, err
	}
	plans, err := lab.RecallAll(s, digitsPlanOf, set.Seed, digitsGrid(set))
	if err != nil {
		return lab.Exhibit{}, err
	}
	panels := style.Panels{Columns: 1}
	table := lab.Table{Name: "judged", Caption: "What a classifier of the target's digits says", Header: []string{"direction", "method", "Fréchet distance", "taken for the source's digit", "moved", "ms a sample"}}
	for i, c := range cells {
		title := "MNIST to USPS"
		if c.Params.ToMNIST {
			title = "USPS to MNIST"
		}
		grid := style.ImageGrid{C: 1, H: 16, W: 16, Columns: shown, Title: title, Invert: true}
		for k, m := range append(slices.Clone(c.Value.Methods), plans[i].Value.Methods...) {
			from, name := c, fmt.Sprintf("%d.npy", k)
			if k == len(c.Value.Methods) {
				from, name = plans[i], "0.npy"
			}
			y, err := artifact.Read(from.Open, name)
			if err != nil {
				return lab.Exhibit{}, err
			}
			rows := style.Rows(y)
			for len(rows) < shown {
				rows = append(rows, nil)
			}
			grid.Images = append(grid.Images, rows...)
			grid.RowLabels = append(grid.RowLabels, m.Name)
			table.Rows = append(table.Rows, []string{title, m.Name, number3(m.Frechet), fmt.Sprintf("%.0f %%", 100*m.Same), fmt.Sprintf("%.3f", m.Moved), fmt.Sprintf("%.2g", 1e3*m.Seconds)})
		}
		table.Rows = append(table.Rows, []string{title, "target's own training digits", number3(c.Value.Floor), fmt.Sprintf("(classifier right: %.0f %%)", 100*c.Value.Accuracy), "", ""})
		panels.Items = append(panels.Items, grid)
	}
	return lab.Exhibit{
		Pictures: []lab.Picture{{
			Caption: "Test digits at 16 × 16, the same in each column. Chains of SCONES begin at the projection above them plus noise of σ = 0.2154.",
			Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, "dense score network")},
		}},
		Tables: []lab.Table{table},
		Notes:  []string{"The paper shows this figure and gives no numbers for it."},
	}, nil
}

func number3(v float64) string { return fmt.Sprintf("%.3g", v) }

func claimDigits(s *lab.Store, set lab.Setting) (out []lab.Claim, err error) {
	cells, err := lab.RecallAll(s, digitsOf, set.Seed, digitsGrid(set))
	if err != nil {
		return nil, err
	}
	small := ""
	if set.Preset == lab.Smoke {
		small = "networks of 20 steps"
	}
	plans, err := lab.RecallAll(s, digitsPlanOf, set.Seed, digitsGrid(set))
	if err != nil {
		return nil, err
	}
	weak := small
	if set.Preset == lab.Quick {
		weak = "a dense score network trained for minutes does not draw digits"
	}
	for i, c := range cells {
		to := "USPS"
		if c.Params.ToMNIST {
			to = "MNIST"
		}
		m := c.Value.Methods
		out = append(out,
			lab.Claim{What: "classifier of " + to + " on its test digits", Source: "a sound judge", Got: c.Value.Accuracy, Relation: lab.AtLeast, Want: .88, Why: "a small dense network; USPS's test digits are hard", NotHere: small},
			lab.Claim{What: "to " + to + ": Fréchet distance of SCONES over the projection's", Source: "Figure 3: sharper", Got: m[2].Frechet / m[1].Frechet, Relation: lab.AtMost, Want: 1, Why: "a comparison", NotHere: small},
			lab.Claim{What: "to " + to + ": the same under KL", Source: "Figure 3: sharper", Got: m[5].Frechet / m[4].Frechet, Relation: lab.AtMost, Want: 1, Why: "a comparison", NotHere: weak},
			lab.Claim{What: "to " + to + ": share of samples under KL taken for their source's digit", Source: "chance is 0.1", Got: m[5].Same, Relation: lab.AtLeast, Want: .3, Why: "half of the mass stays in its class in tour/digits", NotHere: weak},
			lab.Claim{What: "to " + to + ": Fréchet distance of the plan's own draws over its projection's", Source: "Figure 3: sharper", Got: plans[i].Value.Methods[0].Frechet / m[4].Frechet, Relation: lab.AtMost, Want: 1, Why: "a comparison", NotHere: small})
	}
	return out, nil
}
