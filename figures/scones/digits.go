package scones

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"coupling/data"
	"coupling/figures/artifact"
	"coupling/figures/style"
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

const pixels = 16 * 16

// Digits is Figure 3: USPS digits to MNIST digits and back.
func Digits() lab.Figure {
	return lab.Figure{
		Name:  "scones/digits",
		Title: "Figure 3: transport between USPS and MNIST digits",
		Shows: "Handwritten digits of one set, and where entropic plans send them: on average (barycentric projection) and by samples. Potentials are " +
			"the paper's (χ² at λ = 0.001, networks), with the soft-plus at the sharpness that the paper states and at the one that its code ran, or those of " +
			"the KL plan between 2000 atoms. Scores are a network's, which was trained for minutes at quick, and the exact score of the noised training digits, which a " +
			"network approaches as it grows, and by which samples come to lie on training digits. A classifier of the target's digits says what they are worth.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "300 digits a set, every network trained for 20 steps",
			lab.Quick: "critics 2 × 256, 2000 steps; score a U-Net of width 16, 1500 steps; 250 sources; exact score of at most 7291 digits",
			lab.Paper: "critics 2 × 1024, 5000 steps, batch 1000; score the paper's NCSN of 64 features, 40,000 steps; 4000 sources; exact score of all digits",
		},
		Decoders: []lab.Decoder{digitsOf.Decoder()},
		Jobs: func(set lab.Setting) ([]lab.Job, error) {
			return digitsOf.Jobs(set.Seed, digitsGrid(set)...), nil
		},
		Draw:   drawDigits,
		Claims: claimDigits,
	}
}

// digitsParams is one direction.
type digitsParams struct {
	ToMNIST  bool    `json:"to_mnist"`
	Most     int     `json:"most"`  // training digits of each set; 0: all
	Exact    int     `json:"exact"` // of which the exact score is; 0: all
	Lambda   float64 `json:"lambda"`
	Critic   int     `json:"critic"` // width of two hidden layers
	Steps    int     `json:"steps"`
	Batch    int     `json:"batch"`
	Rate     float64 `json:"rate"`
	NCSN     bool    `json:"ncsn"` // the paper's score network, else a preconditioned U-Net
	Width    int     `json:"width"`
	ScoreFor int     `json:"score_for"` // its steps
	ProjFor  int     `json:"projection_for"`
	Epochs   int     `json:"epochs"` // of the judge
	Sources  int     `json:"sources"`
	Device   string  `json:"device"`
}

func digitsGrid(set lab.Setting) []digitsParams {
	p := set.Preset
	base := digitsParams{
		Most: pick(p, 300, 0, 0), Exact: pick(p, 300, 7291, 0), Lambda: .001, Critic: pick(p, 32, 256, 1024), Steps: pick(p, 20, 2000, 5000), Batch: pick(p, 64, 256, 1000),
		Rate: pick(p, 1e-4, 1e-4, 1e-5), NCSN: p == lab.Paper, Width: pick(p, 2, 16, 64), ScoreFor: pick(p, 20, 1500, 40000),
		ProjFor: pick(p, 20, 1000, 20000), Epochs: pick(p, 1, 2, 5), Sources: pick(p, 40, 250, 4000), Device: set.Device,
	}
	return lab.Grid(base, lab.Vary(func(p *digitsParams, v bool) { p.ToMNIST = v }, false, true))
}

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

var digitsOf = lab.Experiment[digitsParams, digitsOut]{Name: "scones/digits", Version: 2, Run: runDigits}

// cloud is digits as rows in [0, 1], and as images.
type cloud struct {
	x      *mat.Dense
	images *data.Images
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
	if t.dev, err = device.Open(p.Device); err != nil {
		return t.out, err
	}
	defer func() { _ = t.dev.Close() }() // frees the networks
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
	rng := t.c.Rand("digits")
	var errs [4]error
	t.source, errs[0] = loadDigits(ctx, from, data.Train, t.p.Most, rng)
	t.target, errs[1] = loadDigits(ctx, to, data.Train, t.p.Most, rng)
	t.sources, errs[2] = loadDigits(ctx, from, data.Test, t.p.Sources, rng)
	t.test, errs[3] = loadDigits(ctx, to, data.Test, t.p.Sources, rng)
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
		Path: dir + "/score.ckpt", Every: 250, Trace: func(k int, _ float64) { t.c.Progress(k, p.ScoreFor) }}.
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
		Hidden: []int{p.Critic, p.Critic}, Rate: p.Rate, Unscaled: true, Path: dir + "/potentials.ckpt",
	}.Run(ctx, t.dev, pixels, scones.Cloud(t.source.x), scones.Cloud(t.target.x), rng)
	if err != nil {
		return err
	}
	k.Beta = 1000
	t.coupling = scones.Coupling{Compatibility: k, Phi: potentials.Phi, Psi: potentials.Psi, Mean: true}
	t.projection, err = neural.Projection{Coupling: t.coupling, Steps: p.ProjFor, Batch: p.Batch, Schedule: train.Linear(p.ProjFor, 0), Path: dir + "/projection.ckpt"}.
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
	sample := func(c scones.Coupling, target score.Field, from *mat.Dense) func() (*mat.Dense, error) {
		c.Target = target
		return func() (*mat.Dense, error) {
			y, err := c.Sample(ctx, t.sources.x, 1, t.sampler, from, t.c.Rand("chains"))
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
		if err := t.add(ctx, m.name, m.make); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// shown is how many digits a picture has.
const shown = 20

func (t *transport) add(ctx context.Context, name string, make func() (*mat.Dense, error)) error {
	begin := time.Now()
	y, err := make()
	if err != nil {
		return err
	}
	n, _ := y.Dims()
	m := method{Name: name, Seconds: time.Since(begin).Seconds() / float64(n), Near: nearest(y, t.target.x)}
	if m.Same, m.Frechet, err = t.judge.look(ctx, y, t.sources.images.Labels); err != nil {
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
	panels := style.Panels{Columns: 1}
	table := lab.Table{Name: "judged", Caption: "What a LeNet that was trained on the target's digits says; Fréchet distances in its 84 features, of equal numbers of images",
		Header: []string{"direction", "method", "Fréchet distance", "taken for the source's digit", "moved", "to the nearest training digit", "samples a second"}}
	for _, c := range cells {
		title := "MNIST to USPS"
		if c.Params.ToMNIST {
			title = "USPS to MNIST"
		}
		grid := style.ImageGrid{C: 1, H: 16, W: 16, Columns: shown, Title: title, Invert: true}
		for k, m := range c.Value.Methods {
			y, err := artifact.Read(c.Open, fmt.Sprintf("%d.npy", k))
			if err != nil {
				return lab.Exhibit{}, err
			}
			rows := style.Rows(y)
			for len(rows) < shown {
				rows = append(rows, nil)
			}
			grid.Images = append(grid.Images, rows...)
			grid.RowLabels = append(grid.RowLabels, m.Name)
			table.Rows = append(table.Rows, []string{title, m.Name, number3(m.Frechet), percent(m.Same), number3(m.Moved), number3(m.Near), perSecond(m.Seconds)})
		}
		table.Rows = append(table.Rows, []string{title, "other digits of the target", number3(c.Value.Floor), fmt.Sprintf("(classifier right: %s)", percent(c.Value.Accuracy)), "", number3(c.Value.Fresh), ""})
		panels.Items = append(panels.Items, grid)
	}
	p := cells[0].Params
	net := fmt.Sprintf("score network of width %d, %d steps", p.Width, p.ScoreFor)
	return lab.Exhibit{
		Pictures: []lab.Picture{{
			Caption: "Test digits at 16 × 16, the same in each column. Chains of SCONES begin at the projection above them plus noise of σ = 0.2154. “Exact” is " +
				"the score of the noised training digits themselves. β = 1 is what the paper's code ran.",
			Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, net)},
		}},
		Tables: []lab.Table{table},
		Notes: []string{"The paper shows this figure and gives no numbers for it.",
			"Samples under the exact score lie nearer to training digits than test digits do: they are copies with little noise. A network that has learnt for long comes near to them, one that has learnt for minutes interpolates."},
	}, nil
}

func number3(v float64) string { return fmt.Sprintf("%.3g", v) }

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

// perSecond writes samples a second; less than a microsecond is not sampling.
func perSecond(seconds float64) string {
	if !(seconds > 1e-6) {
		return "–"
	}
	return number3(1 / seconds)
}

func claimDigits(s *lab.Store, set lab.Setting) (out []lab.Claim, err error) {
	cells, err := lab.RecallAll(s, digitsOf, set.Seed, digitsGrid(set))
	if err != nil {
		return nil, err
	}
	small := ""
	if set.Preset == lab.Smoke {
		small = "networks of 20 steps"
	}
	for _, c := range cells {
		to := "USPS"
		if c.Params.ToMNIST {
			to = "MNIST"
		}
		m := c.Value.Methods
		over := func(a, b int) float64 { return m[a].Frechet / m[b].Frechet }
		const kept = "half of the mass stays in its class in tour/digits"
		out = append(out,
			lab.Claim{What: "classifier of " + to + " on its test digits", Source: "a sound judge", Got: c.Value.Accuracy, Relation: lab.AtLeast, Want: .9, Why: "a LeNet of few epochs; USPS's test digits are hard", NotHere: small},
			lab.Claim{What: "to " + to + ": Fréchet distance of χ² SCONES, network score, over the projection's", Source: "Figure 3: sharper", Got: over(ofNet, ofProjection), Relation: lab.AtMost, Want: 1, Why: "a comparison", NotHere: small},
			lab.Claim{What: "to " + to + ": of χ² SCONES, exact score, over the projection's", Source: "Figure 3: sharper", Got: over(ofExact, ofProjection), Relation: lab.AtMost, Want: .5, Why: "a comparison", NotHere: small},
			lab.Claim{What: "to " + to + ": of KL SCONES, network score, over the projection's", Source: "Figure 3: sharper", Got: over(ofAtomsNet, ofAtoms), Relation: lab.AtMost, Want: .5, Why: "a comparison", NotHere: small},
			lab.Claim{What: "to " + to + ": of KL SCONES, exact score, over the projection's", Source: "Figure 3: sharper", Got: over(ofAtomsExact, ofAtoms), Relation: lab.AtMost, Want: .25, Why: "a comparison", NotHere: small},
			lab.Claim{What: "to " + to + ": share of KL samples, network score, taken for their source's digit", Source: "chance is 0.1", Got: m[ofAtomsNet].Same, Relation: lab.AtLeast, Want: .3, Why: kept, NotHere: small},
			lab.Claim{What: "to " + to + ": the same, exact score", Source: "chance is 0.1", Got: m[ofAtomsExact].Same, Relation: lab.AtLeast, Want: .3, Why: kept, NotHere: small},
			lab.Claim{What: "to " + to + ": Fréchet distance of the plan's own draws over its projection's", Source: "Figure 3: sharper", Got: over(ofDraws, ofAtoms), Relation: lab.AtMost, Want: .25, Why: "a comparison", NotHere: small})
	}
	return out, nil
}
