package scones

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"coupling/data/synth"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn/train"
	"coupling/ot"
	"coupling/ot/exact"
	"coupling/ot/fdiv"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
)

// Fig4 is Figure 4: from a Gaussian to the Swiss roll.
func Fig4() lab.Study[RollParams, RollOut] {
	return lab.Study[RollParams, RollOut]{
		Name:  "scones/fig4",
		Title: "Figure 4: from a Gaussian to the Swiss roll",
		Shows: "Where the entropic plan at λ = 2 sends sources of a unit Gaussian: the barycentric projection, " +
			"which lies between the turns of the " +
			"roll; SCONES with the exact score of the roll and Sinkhorn potentials off their points, by the " +
			"paper's annealed Langevin dynamics; " +
			"the same by Metropolis-adjusted steps from draws of the atoms; projection and SCONES by networks that " +
			"know samples alone, as the paper has them; " +
			"and the discrete plan, which is the truth that they are measured against.",
		Sizes: kit.ByPreset("150 atoms on each side, 10 sources × 10 samples, 30 steps a level, networks "+
			"of 10 steps", "1500 atoms on each side, 60 sources × 8 samples, 150 steps at each of the "+
			"paper's 10 levels; critics 3 × 64, score 4 × 64, 50 sources × 10 samples",
			"1500 atoms on each side, 200 sources × 20 samples, the paper's 10 levels × 300 steps; "+
				"critics 3 × 96, score 4 × 64, 50 sources × 20 samples", "1500 atoms on each side, 400 "+
				"sources × 100 samples, the paper's 10 levels × 300 steps; critics 3 × 4096, score 4 × 2048"),
		Seconds:    kit.ByPreset(2., 55, 250),
		Experiment: rollOf,
		Grid:       rollGrid,
		Also:       []lab.Cells{rollNets},
		Draw:       drawFig4,
		Claims:     claimFig4,
	}
}

// RollParams are a discrete plan from the Gaussian to the roll, and what is sampled of it.
type RollParams struct {
	Atoms   int     `json:"atoms" min:"1" doc:"points of each side of the plan"`
	Sources int     `json:"sources" min:"1" doc:"points that are transported"`
	Each    int     `json:"each" min:"1" doc:"samples of a source"`
	Steps   int     `json:"steps" min:"1" doc:"of Langevin dynamics at each of ten levels"`
	Lambda  float64 `json:"lambda" min:">0" doc:"λ"`
	Tests   int     `json:"tests" min:"1" doc:"sources whose conditional law is compared"`
}

func rollGrid(set lab.Setting) []RollParams {
	return []RollParams{lab.Pick(set.Preset,
		RollParams{150, 10, 10, 30, 2, 2},
		RollParams{1500, 60, 8, 150, 2, 3},
		RollParams{1500, 200, 20, 300, 2, 5},
		RollParams{1500, 400, 100, 300, 2, 5})}
}

// The garbage on which claims fail.
var (
	independentRoll = lab.Null{Name: "draws that ignore the source",
		Spoil: []lab.Spoiler{kit.Spoil(rollOf, ignoreSource), kit.Spoil(rollNetsOf, ignoreSourceNets)}}
	projectedRoll = lab.Null{Name: "the projection in place of samples", Spoil: []lab.Spoiler{
		kit.Spoil(rollOf, func(_ RollParams, v *RollOut) { v.FarS, v.FarMALA = v.FarBP, v.FarBP }),
		kit.Spoil(rollNetsOf, func(_ RollNetParams, v *RollNetOut) { v.FarS = v.FarBP }),
	}}
)

// ignoreSource is what y drawn from the roll whatever x is gives: E|x − y|² is the sum of the second moments, 2 and
// ((9π/2)³ − (3π/2)³)/9π + 2·0.25²; the projection is the roll's mean, (2, 0.2), which is far from all of the roll.
func ignoreSource(_ RollParams, v *RollOut) {
	v.Cost, v.FarBP, v.WS, v.WMALA = 98.4, 1, v.WTarget, v.WTarget
}

// ignoreSourceNets has the W₁ of such draws from the law at radius 1.2, some 10 at the plan of 1500 atoms.
func ignoreSourceNets(_ RollNetParams, v *RollNetOut) { v.WS, v.OffBP = 10, v.Spread }

// RollOut are measures of the samples. Artifacts: sources, target, and the pictures' points bp, scones, mala, atoms.
type RollOut struct {
	Cost    float64 `json:"cost"`   // E c under the discrete plan
	FarBP   float64 `json:"far_bp"` // share farther than 1 from the roll's points
	FarS    float64 `json:"far_scones"`
	FarMALA float64 `json:"far_mala"`
	// Wasserstein-1 distances of conditional laws from the discrete truth, means over test sources:
	// of samples, and of as many draws of the truth itself.
	WS       float64 `json:"w_scones"`
	WMALA    float64 `json:"w_mala"`
	WDraw    float64 `json:"w_draw"`
	WTarget  float64 `json:"w_target"` // of draws of the target that ignore the source
	Accepted float64 `json:"accepted"`
}

var rollOf = lab.Experiment[RollParams, RollOut]{Name: "scones/swissroll", Version: 1, Run: runRoll}

// roll is the Swiss roll as a field: its curve by the midpoint rule, smoothed by its own noise, which is exact to all
// digits since the points of the rule are closer than the noise is wide.
func roll() (*score.Empirical, error) {
	const n = 600
	curve := mat.NewDense(n, 2, nil)
	for i := range n {
		t := 1.5 * math.Pi * (1 + 2*(float64(i)+.5)/n)
		s, c := math.Sincos(t)
		curve.SetRow(i, []float64{t * c, t * s})
	}
	return score.NewEmpirical(curve, nil, rollNoise)
}

const rollNoise = .25

// swiss is the problem and its discrete solution.
type swiss struct {
	p        RollParams
	c        *lab.Cell
	x, y     *mat.Dense // atoms
	sources  *mat.Dense
	coupling scones.Coupling
	phi, psi *scones.Discrete // over the target's atoms, and over the source's
	plan     *ot.Plan
}

func newSwiss(ctx context.Context, c *lab.Cell, p RollParams) *swiss {
	rng := c.Rand("atoms")
	x, y := lab.Must(synth.Normal(rng, p.Atoms, 2)), lab.Must(synth.SwissRoll(rng, p.Atoms, rollNoise))
	sources := lab.Must(synth.Normal(c.Rand("sources"), p.Sources, 2))
	plan := lab.Must(ot.LBFGS{Eps: p.Lambda, Tol: 1e-8}.Solve(ctx,
		ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}))
	if plan.Status != ot.Converged {
		lab.Check(fmt.Errorf("the plan of %d atoms is %v, of marginal error %g", p.Atoms, plan.Status, plan.MarginalL1))
	}
	phi, psi, err := scones.FromPlan(plan, x, y, false)
	lab.Check(err)
	return &swiss{p: p, c: c, x: x, y: y, sources: sources, phi: phi, psi: psi, plan: plan, coupling: scones.Coupling{
		Compatibility: scones.Compatibility{F: fdiv.KL, Lambda: p.Lambda}, Phi: phi, Psi: psi, Target: lab.Must(roll()),
	}}
}

func runRoll(ctx context.Context, c *lab.Cell, p RollParams) (RollOut, error) {
	w := newSwiss(ctx, c, p)
	annealed := w.anneal(ctx, "sources", w.coupling, w.sources, p.Each)
	mala, accepted := w.adjusted(ctx, "sources", w.sources, p.Each)
	bp := w.phi.Barycentric(w.sources)
	atoms := w.phi.DrawPoints(c.Rand("draws"), score.RepeatRows(w.sources, p.Each))
	out := RollOut{
		Cost:     w.plan.Sharp(),
		Accepted: accepted,
		FarBP:    w.far(ctx, bp),
		FarS:     w.far(ctx, annealed),
		FarMALA:  w.far(ctx, mala),
	}
	w.compare(ctx, &out)
	return out, errors.Join(kit.Write(c, "sources.npy", w.sources), kit.Write(c, "target.npy", w.y),
		kit.Write(c, "bp.npy", bp),
		kit.Write(c, "scones.npy", annealed), kit.Write(c, "mala.npy", mala), kit.Write(c, "atoms.npy", atoms))
}

// anneal is the paper's sampler: ten levels from 3 to 0.01, a = 10⁻⁵(σ/0.01)², from the sources
// plus noise of the first, a denoising step. Chains are stored under a name on the way.
func (w *swiss) anneal(ctx context.Context, name string, coupling scones.Coupling, x *mat.Dense, each int) *mat.Dense {
	levels := lab.Must(score.Geometric(rollFirst, rollLast, rollLevels))
	return chains(ctx, w.c, name, coupling, x, each, score.Langevin{
		Levels:  levels,
		Steps:   w.p.Steps,
		Step:    1e-5,
		Denoise: true,
	}, nil, w.c.Rand("annealed"))
}

// The paper's noise levels.
const rollFirst, rollLast, rollLevels = 3, .01, 10

// adjusted begins at draws of the atoms and takes Metropolis-adjusted steps on the exact field, of
// which a share is accepted.
func (w *swiss) adjusted(ctx context.Context, name string, x *mat.Dense, each int) (y *mat.Dense, accepted float64) {
	rng := w.c.Rand("adjusted")
	xs := score.RepeatRows(x, each)
	f, dir := lab.Must(w.coupling.Given(xs)), lab.Must(w.c.Scratch())
	chain := score.Start(rng, w.phi.DrawPoints(rng, xs))
	accepted = lab.Must(score.MALA{
		Steps: 100,
		Step:  .03,
		Path:  dir + "/adjusted-" + name + ".ckpt",
		Every: every,
		Trace: heard(w.c),
	}.Run(ctx, f, chain))
	return chain.X, accepted
}

// tests are sources on a circle of radius 1.2 whose conditional laws are compared.
func (p RollParams) tests() *mat.Dense {
	tests := mat.NewDense(p.Tests, 2, nil)
	for i := range p.Tests {
		s, cos := math.Sincos(2 * math.Pi * (float64(i) + .3) / float64(p.Tests))
		tests.SetRow(i, []float64{1.2 * cos, 1.2 * s})
	}
	return tests
}

// perTest is how many samples of a test source are compared.
const perTest = 200

// off is the mean, over test sources, of the W₁ of samples, perTest of each, from the discrete plan's conditional law.
func (w *swiss) off(ctx context.Context, y *mat.Dense) (off float64) {
	law := w.phi.Conditional(w.p.tests())
	for i := range w.p.Tests {
		off += wasserstein(ctx, y.Slice(i*perTest, (i+1)*perTest, 0, 2).(*mat.Dense), w.y, law.RawRowView(i)) /
			float64(w.p.Tests)
	}
	return off
}

// compare measures conditional laws at test sources against the weights of the discrete plan.
func (w *swiss) compare(ctx context.Context, out *RollOut) {
	tests, rng := w.p.tests(), w.c.Rand("tests")
	mala, _ := w.adjusted(ctx, "tests", tests, perTest)
	out.WS, out.WMALA = w.off(ctx, w.anneal(ctx, "tests", w.coupling, tests, perTest)), w.off(ctx, mala)
	out.WDraw = w.off(ctx, w.phi.DrawPoints(rng, score.RepeatRows(tests, perTest)))
	out.WTarget = w.off(ctx, lab.Must(synth.SwissRoll(rng, w.p.Tests*perTest, rollNoise)))
}

// wasserstein is the exact W₁ of equally weighted points from weighted atoms, those of next to no weight left out.
func wasserstein(ctx context.Context, x, y *mat.Dense, weights []float64) float64 {
	var kept []float64
	var rows []int
	for j, v := range weights {
		if v > 1e-7 {
			kept, rows = append(kept, v), append(rows, j)
		}
	}
	floats.Scale(1/floats.Sum(kept), kept)
	n, _ := x.Dims()
	cost := mat.NewDense(n, len(rows), nil)
	cost.Apply(func(i, k int, _ float64) float64 { return floats.Distance(x.RawRowView(i), y.RawRowView(rows[k]), 2) },
		cost)
	return lab.Must(exact.Simplex{}.Solve(ctx, ot.Problem{Geometry: ot.Dense(cost), B: kept})).Value
}

// far is the share of points that are farther than 1 from every atom of the target.
func (w *swiss) far(ctx context.Context, x *mat.Dense) float64 {
	return share(neighbours(ctx, x, w.y).Square, func(_ int, square float64) bool { return square > 1 })
}

func drawFig4(v lab.View[RollParams, RollOut]) (lab.Exhibit, error) {
	nets := rollNets.View(v.Source)
	c, n := v.Cells[0], nets.Cells[0]
	p := c.Params
	target := kit.Matrix(c.Open, "target.npy")
	panels := style.Panels{Columns: 3, ShareX: true, ShareY: true, Letters: true}
	for k, item := range []struct {
		title, name string
		open        func(string) (*os.File, error)
	}{
		{fmt.Sprintf("projection, exact: %.0f %% far", 100*c.Value.FarBP), "bp", c.Open},
		{fmt.Sprintf("SCONES, exact: %.1f %% far", 100*c.Value.FarS), "scones", c.Open},
		{fmt.Sprintf("Metropolis, exact: %.1f %% far", 100*c.Value.FarMALA), "mala", c.Open},
		{fmt.Sprintf("projection, networks: %.0f %% far", 100*n.Value.FarBP), "bp", n.Open},
		{fmt.Sprintf("SCONES, networks: %.1f %% far", 100*n.Value.FarS), "scones", n.Open},
		{"draws of the discrete plan", "atoms", c.Open},
	} {
		panels.Items = append(panels.Items, rollPanel(item.title, item.name, item.open, target, k+1))
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels,
			v.Badge(fmt.Sprintf("critics 3 × %d, %d sources × %d samples", n.Params.Width, p.Sources, p.Each)),
			fmt.Sprintf(
				"The plan from N(0, I) (dark grey) to the Swiss roll (light grey) at λ = %g. “Far” is farther than "+
					"1 from every target. Exact: potentials of discrete Sinkhorn (%d × %d), off their points by "+
					"softmin, and the roll's own score. Networks: potentials, score and projection learnt from "+
					"samples.",
				p.Lambda, p.Atoms, p.Atoms)),
		Tables: []lab.Table{rollTable(p, c.Value, n.Value)},
		Notes: []string{"Exact rows show the plan and the sampler alone; what networks add to that is their own error.",
			fmt.Sprintf(
				"The networks' projection is %.2f from the discrete plan's, root mean square; that one's own "+
					"spread is %.2f.", n.Value.OffBP, n.Value.Spread)},
	}, nil
}

// rollPanel is points over the target and the sources.
func rollPanel(title, name string, open func(string) (*os.File, error), roll *mat.Dense, series int) style.Plot {
	target, points, source := style.Cloud("target", roll, 0), style.Cloud(title, kit.Matrix(open, name+".npy"), series),
		style.Cloud("sources", kit.Matrix(open, "sources.npy"), 0)
	target.Color, target.Radius, target.Opacity = style.LightGrey, 1, 1
	points.Radius, points.Opacity = 1.1, .6
	source.Color, source.Radius, source.Opacity = style.DarkGrey, .8, .6
	return style.Plot{
		Title:    title,
		X:        style.Axis{Min: -12, Max: 16},
		Y:        style.Axis{Min: -15, Max: 16},
		Square:   true,
		Aspect:   1.1,
		NoLegend: true,
		Items:    []plot.Plotter{target, source, points},
	}
}

// rollTable is what samplers are worth.
func rollTable(p RollParams, v RollOut, n RollNetOut) lab.Table {
	share := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
	return lab.Table{
		Name: "conditional",
		Caption: fmt.Sprintf(
			"Share farther than 1 from every target; W₁ between %d samples of y given x and the discrete plan's "+
				"conditional law, mean of %d sources at radius 1.2", perTest, p.Tests),
		Header: []string{"method", "far", "W₁"},
		Rows: [][]string{
			{"barycentric projection, exact", share(v.FarBP), "–"},
			{"SCONES, exact, the paper's annealed steps", share(v.FarS), fmt.Sprintf("%.2f", v.WS)},
			{"atoms and 100 Metropolis steps, exact", share(v.FarMALA), fmt.Sprintf("%.2f", v.WMALA)},
			{"barycentric projection, network", share(n.FarBP), "–"},
			{"SCONES, networks, the paper's annealed steps", share(n.FarS), fmt.Sprintf("%.2f", n.WS)},
			{"draws of the discrete plan itself", "0.0 %", fmt.Sprintf("%.2f", v.WDraw)},
			{"draws of the target, whatever x", "–", fmt.Sprintf("%.2f", v.WTarget)},
		},
	}
}

func claimFig4(view lab.View[RollParams, RollOut]) ([]lab.Claim, error) {
	nets := rollNets.View(view.Source)
	v, n := view.Cells[0].Value, nets.Cells[0].Value
	small := lab.Pick(view.Preset, "150 atoms and a tenth of the steps", "", "", "")
	const noise = "the roll's own noise is .25"
	return []lab.Claim{
		kit.AtMostUnless(small, "share of networks' SCONES samples far from the target", "Figure 4",
			n.FarS, .05, noise, projectedRoll),
		kit.AtMostUnless(small, "W₁ of networks' SCONES samples from the conditional truth",
			"draws of it", n.WS, v.WDraw+.2*(v.WTarget-v.WDraw), "networks that were trained for "+
				"minutes: a fifth of the way to draws that ignore the source", independentRoll),
		kit.AtMostUnless(small, "the network's projection from the discrete plan's, over that one's "+
			"spread", "it is that projection that is learnt", n.OffBP/n.Spread, .2,
			"networks that were trained for minutes", independentRoll),
		{
			What:       "share of barycentric projections far from the target",
			Source:     "Figure 4, discrete truth",
			Got:        v.FarBP,
			Want:       .24,
			AbsTol:     .1,
			Why:        "60 sources: a standard error of .055",
			SkipReason: small,
			Null:       independentRoll,
		},
		kit.AtMost("share of SCONES samples far from the target", "Figure 4", v.FarS,
			lab.Pick(view.Preset, .2, .05, .05, .05), noise, projectedRoll),
		kit.AtMostUnless(small, "share of Metropolis samples far from the target", "Figure 4",
			v.FarMALA, .05, noise, projectedRoll),
		{
			What:       "mean cost of the plan",
			Source:     "discrete truth of 1500 atoms",
			Got:        v.Cost,
			Want:       74.5,
			RelTol:     .05,
			Why:        "other atoms",
			SkipReason: small,
			Null:       independentRoll,
		},
		kit.AtMostUnless(small, "W₁ of Metropolis samples from the conditional truth, over that of "+
			"draws of it", "law of the sampler", v.WMALA/v.WDraw, 1.25,
			"200 samples a source; the truth has atoms where the target has a density", independentRoll),
		kit.AtMost("W₁ of SCONES samples from the conditional truth", "it is that law that is sampled",
			v.WS, v.WDraw+lab.Pick(view.Preset, .2, .03, .03, .03)*(v.WTarget-v.WDraw),
			"200 samples a source, and annealing that smooths the target but not the plan's factor, so "+
				"that shares of the turns are a little off: by .03 of what draws that ignore the source are",
			independentRoll),
	}, nil
}

// RollNetParams are the roll with networks for potentials, score and projection.
type RollNetParams struct {
	Problem    RollParams `json:"problem"`
	Width      int        `json:"width" min:"1" doc:"of three hidden layers of a potential, two of the projection"`
	Steps      int        `json:"steps" min:"2" doc:"of the potentials; the projection takes half as many"`
	Batch      int        `json:"batch" min:"1" doc:"points of a step"`
	Rate       float64    `json:"rate" min:">0" doc:"learning rate of potentials and projection"`
	ScoreWidth int        `json:"score_width" min:"1" doc:"of the score's residual blocks"`
	ScoreFor   int        `json:"score_for" min:"1" doc:"steps of the score"`
	ScoreRate  float64    `json:"score_rate" min:">0" doc:"learning rate of the score"`
	Device     string     `json:"device" doc:"cpu, cuda:0 or cuda:0,tf32"`
}

// rollNets are sized for minutes at quick; the atoms are rollGrid's, whose plan is the truth.
var rollNets = lab.Part[RollNetParams, RollNetOut]{Experiment: rollNetsOf, Grid: func(set lab.Setting) []RollNetParams {
	p, problem := set.Preset, rollGrid(set)[0]
	problem.Sources, problem.Each = lab.Pick(p, 10, 50, 50, 400), lab.Pick(p, 10, 10, 20, 100)
	return []RollNetParams{{
		Problem:    problem,
		Width:      lab.Pick(p, 8, 64, 96, 4096),
		Steps:      lab.Pick(p, 10, 3000, 4000, 5000),
		Batch:      lab.Pick(p, 32, 256, 256, 500),
		Rate:       lab.Pick(p, 1e-3, 1e-3, 1e-3, 1e-5),
		ScoreWidth: lab.Pick(p, 8, 64, 64, 2048),
		ScoreFor:   lab.Pick(p, 10, 5000, 5000, 10000),
		ScoreRate:  lab.Pick(p, 1e-3, 1e-3, 1e-3, 1e-4),
		Device:     set.Device,
	}}
}}

// RollNetOut are measures as in RollOut. Artifacts: sources, bp and scones.
type RollNetOut struct {
	FarBP  float64 `json:"far_bp"`
	FarS   float64 `json:"far_scones"`
	WS     float64 `json:"w_scones"`
	OffBP  float64 `json:"off_bp"` // root mean square of the network's projection less the discrete plan's
	Spread float64 `json:"spread"` // of the latter about its mean
}

var rollNetsOf = lab.Experiment[RollNetParams, RollNetOut]{
	Name:    "scones/swissroll-networks",
	Version: 1,
	Run:     runRollNets,
	Work:    RollNetParams.work,
}

func runRollNets(ctx context.Context, c *lab.Cell, p RollNetParams) (out RollNetOut, err error) {
	w := newSwiss(ctx, c, p.Problem)
	coupling, projection := p.learn(ctx, c, lab.Must(c.Device(p.Device)))
	exact, bp := w.phi.Barycentric(w.sources), lab.Must(projection.Apply(w.sources))
	y := w.anneal(ctx, "networks", coupling, w.sources, p.Problem.Each)
	tests := w.anneal(ctx, "networks-tests", coupling, p.Problem.tests(), perTest)
	out.FarBP, out.FarS, out.WS = w.far(ctx, bp), w.far(ctx, y), w.off(ctx, tests)
	out.OffBP, out.Spread = math.Sqrt(2*moved(bp, exact)),
		math.Sqrt(stat.PopVariance(mat.Col(nil, 0, exact), nil)+stat.PopVariance(mat.Col(nil, 1, exact), nil))
	return out, errors.Join(kit.Write(c, "sources.npy", w.sources), kit.Write(c, "bp.npy", bp),
		kit.Write(c, "scones.npy", y))
}

func (p RollNetParams) learner() learner {
	return ofPoints(2, p.Problem.Lambda, p.Width, p.Steps, p.Batch, p.Rate)
}

// learn is the paper's method from samples alone: score, potentials, projection. A killed run goes on.
func (p RollNetParams) learn(ctx context.Context, c *lab.Cell,
	dev *device.Device) (coupling scones.Coupling, projection *neural.Map) {
	rng := c.Rand("networks")
	x := func(rng *rand.Rand, n int) (*mat.Dense, error) { return synth.Normal(rng, n, 2) }
	y := func(rng *rand.Rand, n int) (*mat.Dense, error) { return synth.SwissRoll(rng, n, rollNoise) }
	levels, points := lab.Must(score.Geometric(rollFirst, rollLast, rollLevels)), lab.Must(y(rng, 20000))
	mean, spread := moments(points)
	target := trainScore(ctx, c, dev, dsm.Training{
		Sigmas:   levels,
		Steps:    p.ScoreFor,
		Batch:    4 * p.Batch,
		Rate:     p.ScoreRate,
		Schedule: train.Linear(p.ScoreFor, .02),
		Decay:    .99,
	},
		dsm.DenoisingMLP(mean, spread, levels, p.ScoreWidth, 2), rng, points, nil)
	coupling, projection = p.learner().run(ctx, c, dev, "networks", rng, x, y)
	coupling.Target = target
	return coupling, projection
}
