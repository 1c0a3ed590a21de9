package scones

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/internal/kit"
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

// Fig3 is Figure 3: USPS digits to MNIST digits and back.
func Fig3() lab.Study[DigitsParams, DigitsOut] {
	return lab.Study[DigitsParams, DigitsOut]{
		Name:  "scones/fig3",
		Title: "Figure 3: transport between USPS and MNIST digits",
		Shows: "Handwritten digits of one set, and where entropic plans send them: on average (barycentric " +
			"projection) and by samples. Potentials are " +
			"the paper's (χ² at λ = 0.001, networks), with the soft-plus at the sharpness that the paper states " +
			"and at the one that its code ran, or those of " +
			"the KL plan between atoms. Scores are that of a mixture of Gaussians, fitted in seconds, a network's " +
			"where one is trained, and the exact score of the noised training digits, which a " +
			"network approaches as it grows, and by which samples come to lie on training digits. A classifier of " +
			"the target's digits says what they are worth.",
		Sizes: kit.ByPreset("300 digits a set, every network trained for 20 steps",
			"8000 digits a set; critics 2 × 128, 1500 steps; score a mixture of 100 Gaussians; 200 "+
				"sources, 800 atoms; exact score of 1000 digits", "all digits; critics 2 × 256, 3000 "+
				"steps; scores a mixture of 120 Gaussians, and a U-Net of width 16 that learns what it "+
				"lacks below σ = 0.2, 2000 steps; 250 sources, 2000 atoms; exact score of at most 7291 digits",
			"all digits; critics 2 × 1024, 5000 steps, batch 1000; scores a mixture of 150 Gaussians "+
				"and the paper's NCSN of 64 features, 40,000 steps; 4000 sources, 2000 atoms; exact score "+
				"of all digits"),
		Seconds:    kit.ByPreset(4., 52, 900),
		Experiment: digitsOf,
		Grid:       digitsGrid,
		Draw:       drawFig3,
		Claims:     claimFig3,
	}
}

// The garbage on which claims fail.
var (
	averages = digitsNull("averages in place of samples", func(m *DigitsMethod, o *DigitsOut) {
		p, _ := o.method(ofProjection)
		if strings.HasPrefix(m.Name, "KL") {
			p, _ = o.method(ofAtoms)
		}
		m.Frechet = p.Frechet
	})
	otherDigits  = digitsNull("digits that ignore their source", func(m *DigitsMethod, _ *DigitsOut) { m.Same = .1 })
	storedDigits = digitsNull("stored training digits", func(m *DigitsMethod, o *DigitsOut) {
		d, _ := o.method(ofDraws)
		m.Copies = d.Copies
	})
	guesses = digitsNull("pictures on which the judge guesses",
		func(m *DigitsMethod, o *DigitsOut) { m.Sure, o.Accuracy, o.Sure = .1, .1, 1 })
)

// digitsNull is the null in which each method of a cell is changed; the cell's own methods stay as they were meanwhile.
func digitsNull(name string, change func(*DigitsMethod, *DigitsOut)) lab.Null {
	return kit.Null(name, digitsOf, func(_ DigitsParams, v *DigitsOut) {
		methods := slices.Clone(v.Methods)
		for k := range methods {
			change(&methods[k], v)
		}
		v.Methods = methods
	})
}

// DigitsParams are one direction.
type DigitsParams struct {
	ToMNIST  bool        `json:"to_mnist" doc:"from USPS to MNIST, else from MNIST to USPS"`
	Most     int         `json:"most" min:"0" doc:"training digits of each set; 0: all"`
	Exact    int         `json:"exact" min:"0" doc:"training digits of the exact score; 0: all"`
	Lambda   float64     `json:"lambda" min:">0" doc:"λ of χ² over the mean cost"`
	Critic   int         `json:"critic" min:"1" doc:"width of the two hidden layers of a critic"`
	Steps    int         `json:"steps" min:"1" doc:"of the critics"`
	Batch    int         `json:"batch" min:"1" doc:"digits of a step"`
	Rate     float64     `json:"rate" min:">0" doc:"learning rate of the critics"`
	Parts    int         `json:"parts" min:"1" doc:"Gaussians of the mixture score"`
	Atoms    int         `json:"atoms" min:"1" doc:"points of each side of the KL plan"`
	NCSN     bool        `json:"ncsn" doc:"the paper's score network, else a preconditioned U-Net"`
	Width    int         `json:"width" min:"1" doc:"channels of the score network"`
	ScoreFor int         `json:"score_for" min:"0" doc:"steps of the score network; 0: none is trained"`
	ProjFor  int         `json:"projection_for" min:"0" doc:"steps of the barycentric projection"`
	Epochs   int         `json:"epochs" min:"1" doc:"of the judge"`
	Sources  int         `json:"sources" min:"1" doc:"test digits that are transported"`
	Device   string      `json:"device" doc:"cpu, cuda:0 or cuda:0,tf32"`
	Data     data.Origin `json:"data,omitzero" enum:",subset,sample" doc:"files; empty: the official ones"`
}

func digitsGrid(set lab.Setting) []DigitsParams {
	p := set.Preset
	base := DigitsParams{
		Most:     lab.Pick(p, 300, 8000, 0, 0),
		Exact:    lab.Pick(p, 300, 1000, 7291, 0),
		Lambda:   .001,
		Critic:   lab.Pick(p, 32, 128, 256, 1024),
		Steps:    lab.Pick(p, 20, 1500, 3000, 5000),
		Batch:    lab.Pick(p, 64, 128, 256, 1000),
		Rate:     lab.Pick(p, 1e-4, 3e-4, 1e-4, 1e-5),
		Parts:    lab.Pick(p, 5, 100, 120, 150),
		Atoms:    lab.Pick(p, 300, 800, 2000, 2000),
		NCSN:     p == lab.Paper,
		Width:    lab.Pick(p, 2, 16, 16, 64),
		ScoreFor: lab.Pick(p, 20, 0, 2000, 40000),
		ProjFor:  lab.Pick(p, 20, 1000, 1500, 20000),
		Epochs:   lab.Pick(p, 1, 10, 4, 5),
		Sources:  lab.Pick(p, 24, 200, 250, 4000),
		Device:   set.Device,
		Data:     data.Choose("usps", "mnist"),
	}
	return lab.Grid(base, lab.Vary(func(p *DigitsParams, v bool) { p.ToMNIST = v }, false, true))
}

// direction is how a picture calls a cell.
func (p DigitsParams) direction() string {
	if p.ToMNIST {
		return "USPS to MNIST"
	}
	return "MNIST to USPS"
}

func drawFig3(v lab.View[DigitsParams, DigitsOut]) (lab.Exhibit, error) {
	panels := style.Panels{Columns: 1}
	table := lab.Table{Name: "judged",
		Caption: "What a LeNet that was trained on the target's digits says; Fréchet distances in its 84 features, " +
			"of equal numbers of images",
		Header: []string{"direction", "method", "Fréchet distance", "taken for the source's digit",
			"for a digit with p > 0.9", "copies of training digits", "moved", "to the nearest training digit"}}
	for _, c := range v.Cells {
		title := c.Params.direction()
		grid := style.ImageGrid{C: 1, H: 16, W: 16, Columns: shown, Title: title, Invert: true}
		for k, m := range c.Value.Methods {
			table.Rows = append(table.Rows, []string{title, m.Name, number3(m.Frechet), percent(m.Same),
				percent(m.Sure), percent(m.Copies), number3(m.Moved), number3(m.Near)})
			if m.Name == ofNoise {
				continue
			}
			y := kit.Matrix(c.Open, fmt.Sprintf("%d.npy", k))
			rows := style.Rows(y)
			for len(rows) < shown {
				rows = append(rows, nil)
			}
			grid.Images, grid.RowLabels = append(grid.Images, rows...), append(grid.RowLabels, m.Name)
		}
		table.Rows = append(table.Rows, []string{title, "other digits of the target", number3(c.Value.Floor),
			fmt.Sprintf("(classifier right: %s)", percent(c.Value.Accuracy)), percent(c.Value.Sure),
			percent(c.Value.Close), "", number3(c.Value.Fresh)})
		panels.Items = append(panels.Items, grid)
	}
	p := v.Cells[0].Params
	net := fmt.Sprintf("critics 2 × %d, mixture of %d Gaussians", p.Critic, p.Parts)
	if p.ScoreFor > 0 {
		net += fmt.Sprintf(", score network of width %d, %d steps", p.Width, p.ScoreFor)
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, v.Badge(net, sample.Note(p.Data, "mnist")),
			"Test digits at 16 × 16, the same in each column. Chains of SCONES begin at the projection above them "+
				"plus noise. “Exact” is "+
				"the score of the noised training digits themselves. β = 1 is what the paper's code ran."),
		Tables: []lab.Table{table, p.settings()},
		Notes: []string{"The paper shows this figure and gives no numbers for it.",
			"Samples under the exact score lie nearer to training digits than test digits do: they are copies with " +
				"little noise. The mixture draws digits of its own.",
			"The mixture's size, the last noise level and the classifier were chosen with one seed on these test " +
				"digits: their shares flatter them a little."},
	}, nil
}

// settings is the paper's Table 4 beside what its code does and what ran here.
func (p DigitsParams) settings() lab.Table {
	network, trained := "none", "–"
	if p.ScoreFor > 0 {
		network, trained = fmt.Sprintf("U-Net of width %d", p.Width),
			fmt.Sprintf("rate %g falling, %d steps, batch %d, average of weights %g", digitsScoreRate, p.ScoreFor,
				p.scoreBatch(), digitsDecay)
		if p.NCSN {
			network = fmt.Sprintf("NCSN, %d features", p.Width)
		}
	}
	return lab.Table{
		Name:    "settings",
		Caption: "Table 4 of the paper, its code, and what ran",
		Header:  []string{"setting", "paper", "its code", "here"},
		Rows: [][]string{
			{"resize to 16 × 16", "nearest neighbour", "bilinear", "bilinear"},
			{"score", "NCSN, 64 features", "NCSN, 64 features",
				fmt.Sprintf("mixture of %d Gaussians; network: %s", p.Parts, network)},
			{"its training", "rate 1e-4, 40,000 steps, batch 128, no average",
				"rate 1e-3, 40,001 steps, batch 128, no average", trained},
			{"potentials", "256–1024–1024–1", "256–1024–1024–1", fmt.Sprintf("256–%d–%d–1", p.Critic, p.Critic)},
			{"regularisation", "χ², λ = 0.001", "χ², λ = 0.001", fmt.Sprintf("χ², λ = %g", p.Lambda)},
			{"their training", "rate 1e-6, 5000 steps, batch 1000", "rate 1e-5, 5001 steps, batch 1000",
				fmt.Sprintf("rate %g falling to 0, %d steps, batch %d", p.Rate, p.Steps, p.Batch)},
			{"projection", "256–1024–1024–256", "256–2048–2048–2048–2048–256",
				fmt.Sprintf("256–%d–%d–256", p.Critic, p.Critic)},
			{"its training", "rate 1e-6, 5000 steps", "rate 1e-5, 20,001 steps",
				fmt.Sprintf("rate 1e-3 falling to 0, %d steps, batch %d", p.ProjFor, p.Batch)},
			{"noise levels of chains", "7, 0.2154 to 0.01", "7, 0.2154 to 0.01",
				fmt.Sprintf("%d, 0.2154 to %g; mixture: 0.2154, χ² at β = 1000: 0.129 too", digitsLevels-digitsSkipped,
					digitsLast)},
			{"step ε, steps a level", "5e-6, 20", "5e-5, 10", "5e-5 at 0.01, 10; mixture: 40 in all"},
			{"sharpness β of the soft-plus", "1000", "1 (1000 is read from the wrong place)", "1000, and 1"},
		},
	}
}

func number3(v float64) string { return fmt.Sprintf("%.3g", v) }

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func claimFig3(v lab.View[DigitsParams, DigitsOut]) (out []lab.Claim, err error) {
	small := lab.Pick(v.Preset, "networks of 20 steps", "", "", "")
	for _, c := range v.Cells {
		at := c.Params.direction()
		out = append(out, kit.AtLeastUnless(small, at+": classifier on test digits of the target", "a sound judge",
			c.Value.Accuracy, .88, "a LeNet of few epochs on 4000 digits; USPS's test digits are hard",
			guesses))
		for _, pair := range []struct {
			sampled, averaged string
			sure, sharper     float64
			why               string
		}{
			{ofMixture, ofProjection, .5, .75,
				"potentials that were trained for seconds, and chains that begin at their blurred projection"},
			{ofNet, ofProjection, .5, .75,
				"potentials that were trained for minutes, and chains that begin at their blurred projection"},
			{ofAtomsMixture, ofAtoms, .75, .95, "three of four; between few atoms averages are sharp themselves"},
			{ofAtomsNet, ofAtoms, .5, .95,
				"a network that was trained for minutes; between few atoms averages are sharp themselves"},
		} {
			m, ok := c.Value.method(pair.sampled)
			if !ok {
				continue
			}
			average, _ := c.Value.method(pair.averaged)
			name := at + ", " + m.Name + ": "
			out = append(out,
				lab.Claim{
					What: fmt.Sprintf("%sshare taken for a digit with p > 0.9 (test digits: %s)", name,
						percent(c.Value.Sure)),
					Source:     "Figure 3: digits",
					Got:        m.Sure,
					Relation:   lab.AtLeast,
					Want:       pair.sure,
					AbsTol:     .06,
					Why:        pair.why + "; two standard errors of 200 samples",
					SkipReason: small,
					Null:       guesses,
				},
				kit.AtMostUnless(small, name+"Fréchet distance over the projection's", "Figure 3: sharper",
					m.Frechet/average.Frechet, pair.sharper, pair.why, averages),
				lab.Claim{
					What:       name + "copies of training digits",
					Source:     "samples, not stored digits",
					Got:        m.Copies,
					Relation:   lab.AtMost,
					Want:       c.Value.Close,
					AbsTol:     .05,
					Why:        "the share of test digits that are as near, and two standard errors of 200",
					SkipReason: small,
					Null:       storedDigits,
				},
				kit.AtLeastUnless(small, name+"share taken for the source's digit", "chance is 0.1", m.Same,
					.3, "half of the mass stays in its class in tour/digits", otherDigits))
		}
	}
	return out, nil
}

// DigitsMethod is one way to transport, and what is made of its results.
type DigitsMethod struct {
	Name    string  `json:"name"`
	Frechet float64 `json:"frechet"` // of features, from test digits of the target
	Same    float64 `json:"same"`    // share that is taken for the digit of its source
	Sure    float64 `json:"sure"`    // share that is taken for a digit with a probability above .9
	// share that is nearer to a training digit than half of what test digits are on average
	Copies float64 `json:"copies"`
	Moved  float64 `json:"moved"` // mean square of y − x over pixels
	Near   float64 `json:"near"`  // root mean square difference to the nearest training digit, a mean
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
	Close    float64        `json:"close"`    // the share of test digits that would count as copies
	// root mean square difference of test digits of the target to the nearest training digit
	Fresh float64 `json:"fresh"`
}

// method returns what was measured of one, and whether it is there.
func (o DigitsOut) method(name string) (m DigitsMethod, ok bool) {
	if i := slices.IndexFunc(o.Methods, func(m DigitsMethod) bool { return m.Name == name }); i >= 0 {
		return o.Methods[i], true
	}
	return m, false
}

var digitsOf = lab.Experiment[DigitsParams, DigitsOut]{
	Name:    "scones/digits",
	Version: 8,
	Run:     runDigits,
	Work:    DigitsParams.work,
}

func loadDigits(ctx context.Context, files data.From,
	load func(context.Context, data.From, data.Split) (*data.Images, error), split data.Split, most int,
	rng *rand.Rand) *data.Images {
	m := lab.Must(load(ctx, files, split))
	m = lab.Must(m.Pick(rng, pickMost(m.Len(), most)))
	return lab.Must(lab.Must(m.Scale(0, 1)).Resize(16, 16, data.Bilinear))
}

func pickMost(n, most int) int { return min(n, cmp.Or(most, n)) }

// transport is a direction under way.
type transport struct {
	p              DigitsParams
	c              *lab.Cell
	dev            *device.Device
	source, target *data.Images // training digits
	sources, test  *data.Images // test digits
	from           *mat.Dense   // the sources as rows
	judge          *judge
	fields         map[string]score.Field // scores of the target, by the names of their methods' ends
	coupling       scones.Coupling
	projection     *neural.Map
	sampler        score.Langevin
	out            DigitsOut
}

func runDigits(ctx context.Context, c *lab.Cell, p DigitsParams) (DigitsOut, error) {
	t := &transport{p: p, c: c}
	for _, step := range []func(context.Context){t.load, t.learnScore, t.learnPlan, t.transport} {
		step(ctx)
	}
	return t.out, nil
}

// load opens the device, reads the digits and trains the judge.
func (t *transport) load(ctx context.Context) {
	from, to := data.MNIST, data.USPS
	if t.p.ToMNIST {
		from, to = to, from
	}
	rng, files := t.c.Rand("digits"), sample.From(t.p.Data)
	t.source = loadDigits(ctx, files, from, data.Train, t.p.Most, rng)
	t.target = loadDigits(ctx, files, to, data.Train, t.p.Most, rng)
	t.sources = loadDigits(ctx, files, from, data.Test, t.p.Sources, rng)
	t.test = loadDigits(ctx, files, to, data.Test, t.p.Sources, rng)
	t.dev = lab.Must(t.c.Device(t.p.Device))
	t.from = t.sources.Mat()
	t.judge = newJudge(ctx, t.dev, t.target, t.test, t.p.Epochs, "", t.c.Rand("judge"))
	t.out.Accuracy, t.out.Sure, t.out.Floor = t.judge.Accuracy, t.judge.Sure, t.judge.Floor
	off := nearest(ctx, t.test.Mat(), t.target.Mat())
	t.out.Fresh = stat.Mean(off, nil)
	t.out.Close = t.copies(off)
}

// copies is the share of pictures that are nearer to a training digit than half of what test digits are on average.
func (t *transport) copies(off []float64) float64 {
	return share(off, func(_ int, v float64) bool { return v < t.out.Fresh/2 })
}

// digitsLevels are the code's noise levels, of which chains take .2154 to .01.
const digitsFirst, digitsLast, digitsLevels, digitsSkipped = 1, .01, 10, 3

// learnScore fits the mixture, trains the score network, if any, and sets up the exact score and the sampler.
func (t *transport) learnScore(ctx context.Context) {
	p, rng := t.p, t.c.Rand("score")
	levels := lab.Must(score.Geometric(digitsFirst, digitsLast, digitsLevels))
	t.sampler = score.Langevin{Levels: levels[digitsSkipped:], Steps: 10, Step: 5e-5, Denoise: true}
	t.fields = scoresOf(ctx, t.dev, t.target, p.Exact, score.FitMixture{Parts: p.Parts, Axes: 50, Steps: 6}, rng)
	if p.ScoreFor > 0 {
		// the paper's network stands alone, and is asked at all levels; ours at those of chains,
		// but the first
		var base score.Field
		if !p.NCSN {
			base, levels = t.fields[mixtureScore], levels[digitsSkipped+1:]
		}
		x := t.target.Mat()
		mean, spread := moments(x)
		t.fields[networkScore] = trainScore(ctx, t.c, t.dev, dsm.Training{
			Sigmas:   levels,
			Base:     base,
			Steps:    p.ScoreFor,
			Batch:    p.scoreBatch(),
			Rate:     digitsScoreRate,
			Decay:    digitsDecay,
			Schedule: train.Linear(p.ScoreFor, .05),
		},
			p.scoreNet(mean, spread, levels), rng, x, []int{1, 16, 16})
	}
}

// scoreNet is the score network of digits with such moments.
func (p DigitsParams) scoreNet(mean []float64, spread float64, levels []float64) nn.Layer {
	if p.NCSN {
		return arch.NCSN{Channels: 1, Features: p.Width, Levels: len(levels)}.Net()
	}
	net := dsm.DenoisingUNet(mean, spread, levels, 1, p.Width)
	net.OnBase = true
	return net
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

// learner are the potentials and the projection.
func (p DigitsParams) learner() learner {
	return learner{
		dim: pixels,
		potentials: neural.Training{
			Ascent: scones.Ascent{
				Compatibility: scones.Compatibility{F: fdiv.ChiSquare, Lambda: p.Lambda},
				Mean:          true,
				Steps:         p.Steps,
				Batch:         p.Batch,
				Schedule:      train.Linear(p.Steps, 0),
			},
			Hidden: []int{p.Critic, p.Critic}, Rate: p.Rate, Unscaled: true,
		},
		beta:       1000,
		projection: neural.Projection{Steps: p.ProjFor, Batch: p.Batch, Schedule: train.Linear(p.ProjFor, 0)},
		net:        arch.BarycentricPixels(pixels, pixels, p.Critic, p.Critic),
	}
}

func (t *transport) learnPlan(ctx context.Context) {
	t.coupling, t.projection = t.p.learner().run(ctx, t.c, t.dev, "networks", t.c.Rand("networks"),
		scones.Cloud(t.source.Mat()), scones.Cloud(t.target.Mat()))
}

// transport makes and judges the results of all methods.
func (t *transport) transport(ctx context.Context) {
	start := lab.Must(t.projection.Apply(t.from))
	kl := lab.Must(scones.Fit{Lambda: .005, Mean: true, MaxAtoms: t.p.Atoms}.Run(ctx, t.c.Rand("atoms"), t.source.Mat(),
		t.target.Mat()))
	loose := t.coupling
	loose.Beta = 1
	mean, rng := kl.FromPhi.Barycentric(t.from), t.c.Rand("garbage")
	noise := mat.DenseCopyOf(t.from)
	noise.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, noise)
	for _, m := range []struct {
		name     string
		rows     *mat.Dense // of what is not sampled
		coupling scones.Coupling
		score    string
	}{
		{name: ofSource, rows: t.from},
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
		{name: ofDraws, rows: kl.FromPhi.DrawPoints(t.c.Rand("draws"), t.from)},
		{name: ofNoise, rows: noise},
	} {
		y := m.rows
		if m.score != "" {
			if t.fields[m.score] == nil {
				continue
			}
			m.coupling.Target = t.fields[m.score]
			y = t.sample(ctx, m.coupling, m.score, m.rows)
		}
		t.add(ctx, m.name, y)
	}
}

// sample runs chains from a start. Those of the mixture stay at the first level, σ = 0.2154: below
// it the mixture draws a digit's specks as a Gaussian does, independent of its strokes, so that the
// denoising step takes the rest off. Those of χ² with a sharp soft-plus, whose slope that step
// lengthens σ² times, go on to 0.129.
func (t *transport) sample(ctx context.Context, c scones.Coupling, field string, start *mat.Dense) *mat.Dense {
	l := t.sampler
	if field == mixtureScore {
		n := 1
		if c.Beta > 1 {
			n = 2
		}
		l.Levels, l.Steps, l.Step = l.Levels[:n], 40/n, l.Step*math.Pow(l.Levels[n-1]/digitsLast, 2)
	}
	return clamped(chains(ctx, t.c, fmt.Sprint(len(t.out.Methods)), c, t.from, 1, l, start, t.c.Rand("chains")))
}

// shown is how many digits a picture has.
const shown = 20

// add judges a method.
func (t *transport) add(ctx context.Context, name string, y *mat.Dense) {
	off, v := nearest(ctx, y, t.target.Mat()), t.judge.look(ctx, y, t.sources.Labels)
	m := DigitsMethod{
		Name:    name,
		Frechet: v.frechet,
		Same:    v.right,
		Sure:    v.sure,
		Copies:  t.copies(off),
		Moved:   moved(y, t.from),
		Near:    stat.Mean(off, nil),
	}
	t.out.Methods = append(t.out.Methods, m)
	lab.Check(kit.Write(t.c, fmt.Sprintf("%d.npy", len(t.out.Methods)-1), y.Slice(0, min(shown, len(off)), 0, pixels)))
}
