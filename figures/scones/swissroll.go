package scones

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"coupling/data/synth"
	"coupling/figures/artifact"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"
	"coupling/ot/exact"
	"coupling/ot/fdiv"
	"coupling/score"
	"coupling/score/scones"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
)

// SwissRoll is Figure 4: from a Gaussian to the Swiss roll.
func SwissRoll() lab.Figure {
	return lab.Figure{
		Name:  "scones/swissroll",
		Title: "Figure 4: from a Gaussian to the Swiss roll",
		Shows: "Where the entropic plan at λ = 2 sends sources of a unit Gaussian: the barycentric projection, which lies between the turns of the " +
			"roll; SCONES with the exact score of the roll and Sinkhorn potentials off their points, by the paper's annealed Langevin dynamics; " +
			"the same by Metropolis-adjusted steps from draws of the atoms; and the discrete plan, which is the truth that they are measured against.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "150 atoms on each side, 10 sources × 10 samples, 30 steps a level",
			lab.Quick: "1500 atoms on each side, 100 sources × 10 samples, the paper's 10 levels × 300 steps",
			lab.Paper: "1500 atoms on each side, 400 sources × 100 samples, the paper's 10 levels × 300 steps",
		},
		Decoders: []lab.Decoder{swissOf.Decoder()},
		Jobs: func(set lab.Setting) ([]lab.Job, error) {
			return swissOf.Jobs(set.Seed, swissSize(set.Preset)), nil
		},
		Draw:   drawSwiss,
		Claims: claimSwiss,
	}
}

type swissParams struct {
	Atoms   int     `json:"atoms"`
	Sources int     `json:"sources"`
	Each    int     `json:"each"`  // samples of a source
	Steps   int     `json:"steps"` // at each of ten levels
	Lambda  float64 `json:"lambda"`
	Tests   int     `json:"tests"` // sources whose conditional law is compared
}

func swissSize(p lab.Preset) swissParams {
	return pick(p,
		swissParams{150, 10, 10, 30, 2, 2},
		swissParams{1500, 100, 10, 300, 2, 5},
		swissParams{1500, 400, 100, 300, 2, 5})
}

// swissOut are measures of the samples. Artifacts: sources, target, and the pictures' points bp, scones, mala, atoms.
type swissOut struct {
	Status  string  `json:"status"`
	Cost    float64 `json:"cost"`   // E c under the discrete plan
	Effect  float64 `json:"effect"` // perplexity of a row
	FarBP   float64 `json:"far_bp"` // share farther than 1 from the roll's points
	FarS    float64 `json:"far_scones"`
	FarMALA float64 `json:"far_mala"`
	// Wasserstein-1 distances of conditional laws from the discrete truth, means over test sources: of samples, and of as
	// many draws of the truth itself.
	WS       float64 `json:"w_scones"`
	WMALA    float64 `json:"w_mala"`
	WDraw    float64 `json:"w_draw"`
	WTarget  float64 `json:"w_target"` // of draws of the target that ignore the source
	Accepted float64 `json:"accepted"`
	Seconds  float64 `json:"seconds"` // a sample, annealed
	SecondsM float64 `json:"seconds_mala"`
}

var swissOf = lab.Experiment[swissParams, swissOut]{Name: "scones/swissroll", Version: 1, Run: runSwiss}

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
	p        swissParams
	x, y     *mat.Dense // atoms
	sources  *mat.Dense
	coupling scones.Coupling
	phi      *scones.Discrete // over the target's atoms
	plan     *ot.Plan
}

func newSwiss(ctx context.Context, c *lab.Cell, p swissParams) (*swiss, error) {
	rng := c.Rand("atoms")
	x, err := synth.Normal(rng, p.Atoms, 2)
	if err != nil {
		return nil, err
	}
	y, err := synth.SwissRoll(rng, p.Atoms, rollNoise)
	if err != nil {
		return nil, err
	}
	sources, err := synth.Normal(c.Rand("sources"), p.Sources, 2)
	if err != nil {
		return nil, err
	}
	plan, err := ot.LBFGS{Eps: p.Lambda, Tol: 1e-8}.Solve(ctx, ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)})
	if err != nil {
		return nil, err
	}
	phi, psi, err := scones.FromPlan(plan, x, y, false)
	if err != nil {
		return nil, err
	}
	target, err := roll()
	return &swiss{p: p, x: x, y: y, sources: sources, phi: phi, plan: plan, coupling: scones.Coupling{
		Compatibility: scones.Compatibility{F: fdiv.KL, Lambda: p.Lambda}, Phi: phi, Psi: psi, Target: target,
	}}, err
}

func runSwiss(ctx context.Context, c *lab.Cell, p swissParams) (swissOut, error) {
	w, err := newSwiss(ctx, c, p)
	if err != nil {
		return swissOut{}, err
	}
	out := swissOut{Status: w.plan.Status.String(), Cost: w.plan.Sharp()}
	weights := w.phi.Conditional(w.sources)
	for i := range p.Sources {
		h := 0.
		for _, v := range weights.RawRowView(i) {
			if v > 0 {
				h -= v * math.Log(v)
			}
		}
		out.Effect += math.Exp(h) / float64(p.Sources)
	}
	annealed, err := w.anneal(ctx, c, w.sources, p.Each, &out)
	if err != nil {
		return out, err
	}
	mala, err := w.adjusted(ctx, c, w.sources, p.Each, &out)
	if err != nil {
		return out, err
	}
	bp := w.phi.Barycentric(w.sources)
	atoms := rowsOf(w.y, w.phi.Draw(score.RepeatRows(w.sources, p.Each), c.Rand("draws")))
	out.FarBP, out.FarS, out.FarMALA = far(bp, w.y), far(annealed, w.y), far(mala, w.y)
	if err := w.compare(ctx, c, &out); err != nil {
		return out, err
	}
	return out, errors.Join(artifact.Write(c, "sources.npy", w.sources), artifact.Write(c, "target.npy", w.y), artifact.Write(c, "bp.npy", bp),
		artifact.Write(c, "scones.npy", annealed), artifact.Write(c, "mala.npy", mala), artifact.Write(c, "atoms.npy", atoms))
}

// anneal is the paper's sampler: ten levels from 3 to 0.01, a = 10⁻⁵(σ/0.01)², from the sources, a denoising step.
func (w *swiss) anneal(ctx context.Context, c *lab.Cell, x *mat.Dense, each int, out *swissOut) (*mat.Dense, error) {
	levels, err := score.Geometric(3, .01, 10)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	y, err := w.coupling.Sample(ctx, x, each, score.Langevin{Levels: levels, Steps: w.p.Steps, Step: 1e-5, Denoise: true,
		Trace: func(s score.Progress) { c.Progress(s.Done, s.Total) }}, nil, c.Rand("annealed"))
	n, _ := x.Dims()
	out.Seconds = time.Since(begin).Seconds() / float64(n*each)
	return y, err
}

// adjusted begins at draws of the atoms and takes Metropolis-adjusted steps on the exact field.
func (w *swiss) adjusted(ctx context.Context, c *lab.Cell, x *mat.Dense, each int, out *swissOut) (*mat.Dense, error) {
	rng := c.Rand("adjusted")
	xs := score.RepeatRows(x, each)
	f, err := w.coupling.Given(xs)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	chain := score.Start(rowsOf(w.y, w.phi.Draw(xs, rng)), rng)
	out.Accepted, err = score.MALA{Steps: 100, Step: .03}.Run(ctx, f, chain)
	n, _ := xs.Dims()
	out.SecondsM = time.Since(begin).Seconds() / float64(n)
	return chain.X, err
}

// compare measures conditional laws at test sources, on a circle of radius 1.2, against the weights of the discrete plan.
func (w *swiss) compare(ctx context.Context, c *lab.Cell, out *swissOut) error {
	const each = 200
	tests := mat.NewDense(w.p.Tests, 2, nil)
	for i := range w.p.Tests {
		s, cos := math.Sincos(2 * math.Pi * (float64(i) + .3) / float64(w.p.Tests))
		tests.SetRow(i, []float64{1.2 * cos, 1.2 * s})
	}
	var scratch swissOut
	a, err := w.anneal(ctx, c, tests, each, &scratch)
	if err != nil {
		return err
	}
	m, err := w.adjusted(ctx, c, tests, each, &scratch)
	if err != nil {
		return err
	}
	rng := c.Rand("tests")
	draws := rowsOf(w.y, w.phi.Draw(score.RepeatRows(tests, each), rng))
	any, err := synth.SwissRoll(rng, w.p.Tests*each, rollNoise)
	if err != nil {
		return err
	}
	law := w.phi.Conditional(tests)
	for i := range w.p.Tests {
		for _, s := range []struct {
			to *float64
			of *mat.Dense
		}{{&out.WS, a}, {&out.WMALA, m}, {&out.WDraw, draws}, {&out.WTarget, any}} {
			d, err := wasserstein(ctx, s.of.Slice(i*each, (i+1)*each, 0, 2).(*mat.Dense), w.y, law.RawRowView(i))
			if err != nil {
				return err
			}
			*s.to += d / float64(w.p.Tests)
		}
	}
	return nil
}

// wasserstein is the exact W₁ of equally weighted points from weighted atoms, those of next to no weight left out.
func wasserstein(ctx context.Context, x, y *mat.Dense, weights []float64) (float64, error) {
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
	for i := range n {
		for k, j := range rows {
			cost.Set(i, k, floats.Distance(x.RawRowView(i), y.RawRowView(j), 2))
		}
	}
	sol, err := exact.Simplex{}.Solve(ctx, nil, kept, exact.Matrix(cost))
	if err != nil {
		return 0, err
	}
	return sol.Value, nil
}

// rowsOf picks rows.
func rowsOf(y *mat.Dense, rows []int) *mat.Dense {
	_, d := y.Dims()
	out := mat.NewDense(len(rows), d, nil)
	for i, j := range rows {
		out.SetRow(i, y.RawRowView(j))
	}
	return out
}

// far is the share of points that are farther than 1 from every atom.
func far(x, atoms *mat.Dense) float64 {
	n, _ := x.Dims()
	m, _ := atoms.Dims()
	count := 0
	for i := range n {
		best := math.Inf(1)
		for j := range m {
			best = min(best, floats.Distance(x.RawRowView(i), atoms.RawRowView(j), 2))
		}
		if best > 1 {
			count++
		}
	}
	return float64(count) / float64(n)
}

func drawSwiss(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
	p := swissSize(set.Preset)
	c, err := lab.Recall(s, swissOf, set.Seed, p)
	if err != nil {
		return lab.Exhibit{}, err
	}
	read := map[string]*mat.Dense{}
	for _, name := range []string{"sources", "target", "bp", "scones", "mala", "atoms"} {
		if read[name], err = artifact.Read(c.Open, name+".npy"); err != nil {
			return lab.Exhibit{}, err
		}
	}
	panels := style.Panels{Columns: 2, ShareX: true, ShareY: true, Letters: true}
	for k, item := range []struct{ title, name string }{
		{fmt.Sprintf("barycentric projection, %.0f %% far", 100*c.Value.FarBP), "bp"},
		{fmt.Sprintf("SCONES, the paper's steps, %.1f %% far", 100*c.Value.FarS), "scones"},
		{fmt.Sprintf("atoms and Metropolis steps, %.1f %% far", 100*c.Value.FarMALA), "mala"},
		{"draws of the discrete plan", "atoms"},
	} {
		target := style.Cloud("target", read["target"], 0)
		target.Color, target.Radius, target.Opacity = style.LightGrey, 1, 1
		points := style.Cloud(item.title, read[item.name], k+1)
		points.Radius, points.Opacity = 1.1, .6
		source := style.Cloud("sources", read["sources"], 0)
		source.Color, source.Radius, source.Opacity = style.DarkGrey, .8, .6
		panels.Items = append(panels.Items, style.Plot{
			Title: item.title, X: style.Axis{Min: -12, Max: 16}, Y: style.Axis{Min: -15, Max: 16}, Square: true, Aspect: 1.1, Legend: style.Hidden,
			Items: []plot.Plotter{target, source, points},
		})
	}
	v := c.Value
	return lab.Exhibit{
		Pictures: []lab.Picture{{
			Caption: fmt.Sprintf("The plan from N(0, I) (dark grey) to the Swiss roll (light grey) at λ = %g. “Far” is farther than 1 from every target. Potentials: discrete Sinkhorn (%d × %d), off their points by softmin; score: exact.",
				p.Lambda, p.Atoms, p.Atoms),
			Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, fmt.Sprintf("%d sources × %d samples", p.Sources, p.Each))},
		}},
		Tables: []lab.Table{{
			Name: "conditional", Caption: fmt.Sprintf("W₁ between 200 samples of y given x and the discrete plan's conditional law, mean of %d sources at radius 1.2; and time", p.Tests),
			Header: []string{"sampler", "W₁", "samples a second"},
			Rows: [][]string{
				{"SCONES, the paper's annealed steps", fmt.Sprintf("%.2f", v.WS), perSecond(v.Seconds)},
				{"atoms and 100 Metropolis steps", fmt.Sprintf("%.2f", v.WMALA), perSecond(v.SecondsM)},
				{"draws of the discrete plan itself", fmt.Sprintf("%.2f", v.WDraw), "–"},
				{"draws of the target, whatever x", fmt.Sprintf("%.2f", v.WTarget), "–"},
			},
		}},
		Notes: []string{"The paper trains networks for potentials and score; here both are exact up to the number of atoms, so what is seen is the plan and the sampler."},
	}, nil
}

func claimSwiss(s *lab.Store, set lab.Setting) ([]lab.Claim, error) {
	c, err := lab.Recall(s, swissOf, set.Seed, swissSize(set.Preset))
	if err != nil {
		return nil, err
	}
	v := c.Value
	small := ""
	if set.Preset == lab.Smoke {
		small = "150 atoms and a tenth of the steps"
	}
	converged := 0.
	if v.Status == ot.Converged.String() {
		converged = 1
	}
	return []lab.Claim{
		{What: "the discrete plan is solved", Source: "marginals", Got: converged, Want: 1},
		{What: "share of barycentric projections far from the target", Source: "Figure 4, discrete truth", Got: v.FarBP, Want: .24, AbsTol: .1, Why: "100 sources: a standard error of .04", NotHere: small},
		{What: "share of SCONES samples far from the target", Source: "Figure 4", Got: v.FarS, Relation: lab.AtMost, Want: .05, Why: "the roll's own noise is .25", NotHere: small},
		{What: "share of Metropolis samples far from the target", Source: "Figure 4", Got: v.FarMALA, Relation: lab.AtMost, Want: .05, Why: "the same", NotHere: small},
		{What: "mean cost of the plan", Source: "discrete truth of 1500 atoms", Got: v.Cost, Want: 74.5, RelTol: .05, Why: "other atoms", NotHere: small},
		{What: "W₁ of Metropolis samples from the conditional truth, over that of draws of it", Source: "law of the sampler", Got: v.WMALA / v.WDraw, Relation: lab.AtMost, Want: 1.25, Why: "200 samples a source; the truth has atoms where the target has a density", NotHere: small},
		{What: "W₁ of SCONES samples from the conditional truth, over that of draws of it", Source: "it is that law that is sampled", Got: v.WS / v.WDraw, Relation: lab.AtMost, Want: 1.25, Why: "200 samples a source, and annealing that smooths the target but not the plan's factor, so that shares of the turns are a little off; draws that ignore the source have 22", NotHere: small},
	}, nil
}
