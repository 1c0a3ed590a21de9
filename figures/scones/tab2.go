package scones

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/data/synth"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot/gaussian"
	"coupling/score"
	"coupling/score/scones"
	"coupling/score/scones/light"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
)

// Tab2 is Table 2: SCONES between Gaussians.
func Tab2() lab.Study[GaussiansParams, GaussiansOut] {
	return lab.Study[GaussiansParams, GaussiansOut]{
		Name:  "scones/tab2",
		Title: "Table 2: sampling entropic plans between Gaussians",
		Shows: "How far the covariance of sampled pairs is from that of the optimal plan. From d = 16 on exact " +
			"potentials with the paper's Langevin " +
			"settings give the paper's row, so that it measures a sampler that did not converge and finite " +
			"samples, not networks; with longer " +
			"steps only the floor of finite samples is left. At d = 2 exact potentials are three times better than " +
			"the paper's networks. At the paper's λ = 2d the independent coupling is better than SCONES from d = " +
			"64 on; " +
			"at a tenth of that λ it is not, and potentials fitted from samples are what counts.",
		Sizes: kit.ByPreset("d = 2 and 4, one pair, 500 samples, networks of 3 × 16",
			"three pairs of Gaussians for d = 2 to 64, one for d = 128 and 256 at λ = 2d, 10,000 "+
				"samples; Langevin dynamics run and potentials fitted for one pair up to d = 16, beyond "+
				"drawn from its law; networks of 3 × 64 up to d = 16, 3000 samples",
			"five pairs of Gaussians for d = 2 to 256, 10,000 samples; Langevin dynamics run for two "+
				"pairs up to d = 128; potentials fitted up to d = 16, networks of 3 × 96 up to d = 16 and "+
				"of 3 × 256 at d = 64", "ten pairs of Gaussians for d = 2 to 256, 10,000 samples, all run "+
				"and fitted, networks of 3 × 4096"),
		Seconds:    kit.ByPreset(1., 57, 1000),
		Experiment: gaussiansOf,
		Grid:       gaussiansGrid,
		Also:       []lab.Cells{networks},
		Draw:       drawTab2,
		Claims:     claimTab2,
	}
}

// The garbage on which claims fail.
var (
	independentPairs = lab.Null{Name: "y drawn whatever x is",
		Spoil: []lab.Spoiler{kit.Spoil(gaussiansOf, pairsAtRandom), kit.Spoil(networksOf, pairsAtRandomNets)}}
	meanMaps = kit.Null("networks that send every x to the mean", networksOf,
		func(_ NetworksParams, v *NetworksOut) { v.Projection = 50 })
	// which goes with 1/n.
	halfSamples = kit.Null("half as many samples", gaussiansOf,
		func(_ GaussiansParams, v *GaussiansOut) { v.Floor *= 2 })
	convergedSampler = kit.Null("a sampler that converged, and the projection in place of the independent coupling",
		gaussiansOf, func(_ GaussiansParams, v *GaussiansOut) {
			v.Paper, v.Law, v.Independent = v.Floor, v.Floor, v.Barycentric
		})
)

// pairsAtRandom has what the independent coupling has; as a map it is the mean, whose BW-UVP is the
// target's share of the trace, a half.
func pairsAtRandom(_ GaussiansParams, v *GaussiansOut) {
	v.Barycentric = 50
	for _, to := range []*float64{&v.Paper, &v.Law, &v.Better, &v.Ascent, &v.AscentPlan, &v.Light} {
		if !math.IsNaN(*to) {
			*to = v.Independent
		}
	}
}

// pairsAtRandomNets has the independent coupling's number from the closed form.
func pairsAtRandomNets(p NetworksParams, v *NetworksOut) {
	if v.UVP = 2.7; p.Problem.D == 2 {
		v.UVP = 21.5
	}
}

func gaussiansGrid(set lab.Setting) (out []GaussiansParams) {
	p := set.Preset
	for _, per := range []float64{2, .2} { // the paper's λ/d, and one where there is more to couple
		for _, d := range lab.Pick(p, []int{2, 4}, []int{2, 16, 64, 128, 256}, []int{2, 16, 64, 128, 256},
			[]int{2, 16, 64, 128, 256}) {
			pairs := lab.Pick(p, 1, 3, 5, 10)
			if p == lab.Quick && d > 64 {
				if pairs = 1; per != 2 {
					continue
				}
			}
			for pair := range pairs {
				fit := lab.Pick(p, 100, 500, 2000, 2000)
				if p != lab.Paper && (d > 16 || pair > 0) || p == lab.Quick && per != 2 && d > 2 {
					fit = 0
				}
				out = append(out, GaussiansParams{
					D:       d,
					Pair:    pair,
					PerDim:  per,
					Samples: lab.Pick(p, 500, 10000, 10000, 10000),
					Run: runsChains(p, d) && pair < lab.Pick(p, 1, 1, 2, 10) &&
						(per == 2 || d == 2 || p != lab.Quick),
					Fit: fit,
				})
			}
		}
	}
	return out
}

// runsChains reports whether a preset runs Langevin dynamics in so many dimensions.
func runsChains(p lab.Preset, d int) bool { return d <= lab.Pick(p, 4, 16, 128, 256) }

// A tab2Row is one method: how it is called, and its number.
type tab2Row struct {
	name string
	of   func(GaussiansOut) float64
	// line and points say how the picture shows it, if at all.
	line, points bool
}

var tab2Rows = []tab2Row{
	{name: "exact potentials, the paper's steps", of: func(o GaussiansOut) float64 { return o.Paper }, points: true},
	{name: "law of the paper's steps", of: func(o GaussiansOut) float64 { return o.Law }, line: true},
	{name: "exact potentials, longer steps", of: func(o GaussiansOut) float64 { return o.Better }, points: true},
	{name: "samples of the exact plan", of: func(o GaussiansOut) float64 { return o.Floor }, line: true},
	{name: "independent coupling", of: func(o GaussiansOut) float64 { return o.Independent }, line: true},
	{name: "barycentric projection", of: func(o GaussiansOut) float64 { return o.Barycentric }, line: true},
	{name: "quadratic potentials, Algorithm 1", of: func(o GaussiansOut) float64 { return o.Ascent }},
	{name: "Gaussian potentials, LightSB", of: func(o GaussiansOut) float64 { return o.Light }},
}

// tab2Nets are what trained networks give at the paper's λ.
var tab2Nets = []struct {
	name string
	of   func(NetworksOut) float64
}{
	{"networks, Algorithm 1", func(o NetworksOut) float64 { return o.UVP }},
	{"barycentric projection by a network", func(o NetworksOut) float64 { return o.Projection }},
}

// printed are the rows of the paper's Table 2: means and standard errors over ten pairs.
var printed = struct {
	d                                []int
	scones, sconesError, bp, bpError []float64
}{[]int{2, 16, 64, 128, 256}, []float64{.025, .52, 1.2, 1.4, 2.0}, []float64{.0014, .0086, .014, .066, .047},
	[]float64{7.1, 35, 42, 41, 41}, []float64{.13, .23, .14, .088, .098}}

// table2 holds the cells, in the order of their dimensions.
type table2 struct {
	gaussiansView
	nets lab.View[NetworksParams, NetworksOut]
	dims []int
}

func newTable2(v gaussiansView) table2 {
	t := table2{gaussiansView: v, nets: networks.View(v.Source)}
	for _, c := range v.Cells {
		if !slices.Contains(t.dims, c.Params.D) {
			t.dims = append(t.dims, c.Params.D)
		}
	}
	return t
}

// estimate is a mean over pairs that have the number, NaN if none has, and its standard error, NaN of fewer than two.
func (t table2) estimate(per float64, d int, of func(GaussiansOut) float64) (mean, sem float64) {
	var x []float64
	for _, c := range t.Cells {
		if v := of(c.Value); c.Params.PerDim == per && c.Params.D == d && !math.IsNaN(v) && !math.IsInf(v, 0) {
			x = append(x, v)
		}
	}
	return meanError(x)
}

// networksAt is the same over trained networks.
func (t table2) networksAt(d int, of func(NetworksOut) float64) (mean, sem float64) {
	var x []float64
	for _, c := range t.nets.Cells {
		if v := of(c.Value); c.Params.Problem.D == d && !math.IsInf(v, 0) {
			x = append(x, v)
		}
	}
	return meanError(x)
}

func meanError(x []float64) (mean, sem float64) {
	if len(x) == 0 {
		return math.NaN(), math.NaN()
	}
	mean, sd := stat.MeanStdDev(x, nil)
	return mean, stat.StdErr(sd, float64(len(x)))
}

// projected is the mean, over pairs with networks, of the BW-UVP of a network's projection over
// that of the exact one; NaN where none was trained.
func (t table2) projected(d int) float64 {
	var x []float64
	for _, net := range t.nets.Cells {
		q := net.Params.Problem
		for _, c := range t.Cells {
			if p := c.Params; q.D == d && p.D == d && p.Pair == q.Pair && p.PerDim == q.PerDim {
				x = append(x, net.Value.Projection/c.Value.Barycentric)
			}
		}
	}
	mean, _ := meanError(x)
	return mean
}

func drawTab2(v gaussiansView) (lab.Exhibit, error) {
	t := newTable2(v)
	panels := style.Panels{ShareY: true}
	var tables []lab.Table
	pairs := 0
	for i, c := range v.Cells {
		pairs = max(pairs, c.Params.Pair+1)
		if per := c.Params.PerDim; i == 0 || v.Cells[i-1].Params.PerDim != per {
			panel, table := t.panel(per)
			panels.Items, tables = append(panels.Items, panel), append(tables, table)
		}
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, v.Badge(fmt.Sprintf("%d pairs", pairs)),
			"Bures–Wasserstein unexplained variance of the covariance of (x, y) against that of the optimal plan; "+
				"lower is better. "+
				"All methods share their sources. Points: Langevin dynamics that were run. Lines: closed forms, "+
				"and samples of laws in closed form. Fitted rows know samples only, and the exact score of the "+
				"target."),
		Tables: tables,
		Notes: []string{"The paper's text says d = 54 where its table and code say 64. Its stored pairs of " +
			"covariances are not used: pairs are drawn anew by the same rule.",
			"The paper's projections are below the exact one's 8.6, 40, 50, 49 and 51 per cent: networks that are " +
				"trained on noisy y keep some of the noise, and with it variance that the exact mean lacks.",
			"From d = 64 on no number of this table at λ = 2d tells a trained network from y drawn whatever x is; " +
				"claims about networks are asked up to d = 16."},
	}, nil
}

// panel draws one λ, and writes its table.
func (t table2) panel(per float64) (style.Plot, lab.Table) {
	table := lab.Table{Name: fmt.Sprintf("lambda-%gd", per),
		Caption: fmt.Sprintf("λ = %g d: BW-UVP in percent, means over pairs ± standard errors", per),
		Header:  []string{"BW-UVP, %"}}
	for _, d := range t.dims {
		table.Header = append(table.Header, fmt.Sprintf("d = %d", d))
	}
	var items []plot.Plotter
	add := func(name string, line, points bool, at func(d int) (float64, float64)) {
		row, x, y := []string{name}, []float64(nil), []float64(nil)
		for _, d := range t.dims {
			mean, sem := at(d)
			row = append(row, number(mean, sem))
			if !math.IsNaN(mean) {
				x, y = append(x, float64(d)), append(y, mean)
			}
		}
		table.Rows = append(table.Rows, row)
		if line {
			items = append(items, style.Line{Name: name, X: x, Y: y, Series: len(items)})
		} else if points && len(x) > 0 {
			items = append(items, style.Points{Name: name, X: x, Y: y, Series: len(items), Radius: 3.5})
		}
	}
	for _, row := range tab2Rows {
		add(row.name, row.line, row.points, func(d int) (float64, float64) { return t.estimate(per, d, row.of) })
	}
	if per == 2 {
		for _, net := range tab2Nets {
			add(net.name, false, true, func(d int) (float64, float64) { return t.networksAt(d, net.of) })
		}
		x := kit.Each(printed.d, func(d int) float64 { return float64(d) })
		items = append(items, style.Points{
			Name:   "printed: SCONES, projection",
			X:      append(x, x...),
			Y:      slices.Concat(printed.scones, printed.bp),
			Color:  style.Black,
			Radius: 2,
		})
		for k, rows := range [][2][]float64{{printed.scones, printed.sconesError}, {printed.bp, printed.bpError}} {
			add("printed: "+[]string{"SCONES", "barycentric projection"}[k], false, false,
				func(d int) (float64, float64) {
					if i := slices.Index(printed.d, d); i >= 0 {
						return rows[0][i], rows[1][i]
					}
					return math.NaN(), math.NaN()
				})
		}
	}
	return style.Plot{
		Title: fmt.Sprintf("λ = %g d", per),
		X:     style.Axis{Label: "dimension d", Log: true},
		Y:     style.Axis{Label: "BW-UVP", Unit: "%", Log: true},
		Items: items,
	}, table
}

// number writes a number of a table and its standard error, where there is one.
func number(v, sem float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.IsNaN(sem):
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.3g ± %.1g", v, sem)
}

// predicted are BW-UVPs from closed forms, at λ = 2d and 10,000 samples: of the paper's steps,
// samples of the plan, the projection and the independent coupling.
var predicted = map[int]struct{ paper, floor, projection, independent float64 }{
	2: {.0073, .0085, 8.6, 21.5}, 16: {.58, .068, 40.2, 2.71}, 64: {1.19, .285, 49.6, .50},
	128: {1.37, .575, 48.8, .62}, 256: {2.04, 1.13, 51.3, 1.15},
}

func claimTab2(v gaussiansView) (out []lab.Claim, err error) {
	t := newTable2(v)
	for _, d := range t.dims {
		out = append(out, t.claimLaws(d)...)
		if d <= 16 {
			out = append(out, t.claimFitted(d)...)
		}
	}
	return out, nil
}

// claimLaws compares what samples have with closed forms and the paper's table.
func (t table2) claimLaws(d int) []lab.Claim {
	const spread = "pairs of random Gaussians differ by some 10 %; at d = 2 the number is that of three random " +
		"variances"
	at := func(row int) float64 { v, _ := t.estimate(2, d, tab2Rows[row].of); return v }
	_, sem := t.estimate(2, d, tab2Rows[5].of)
	if math.IsNaN(sem) {
		sem = 0
	}
	want, small := predicted[d], ""
	// whose floor is that of 500 samples; at d = 4 nothing is predicted, and d = 16 stands in
	if t.Preset == lab.Smoke {
		small = "500 samples"
		if d == 4 {
			want = predicted[16]
		}
	}
	low := 0. // what few variances allow: less than tells 0.0073 from the paper's 0.025
	if d == 2 {
		low = .006
	}
	out := []lab.Claim{
		{
			What:       fmt.Sprintf("law of the paper's steps, d = %d", d),
			Source:     "closed form",
			Got:        at(1),
			Want:       want.paper,
			AbsTol:     low,
			RelTol:     .15,
			Why:        spread,
			SkipReason: small,
			Null:       independentPairs,
		},
		{
			What:       fmt.Sprintf("sample floor, d = %d", d),
			Source:     "closed form",
			Got:        at(3),
			Want:       want.floor,
			AbsTol:     low,
			RelTol:     .15,
			Why:        spread,
			SkipReason: small,
			Null:       halfSamples,
		},
		{
			What:       fmt.Sprintf("exact barycentric projection, d = %d", d),
			Source:     "closed form",
			Got:        at(5),
			Want:       want.projection,
			AbsTol:     max(1, 3*sem),
			RelTol:     pickD(d, .5, .15, .06),
			Why:        spread,
			SkipReason: small,
			Null:       independentPairs,
		},
		{
			What:       fmt.Sprintf("independent coupling, d = %d", d),
			Source:     "closed form",
			Got:        at(4),
			Want:       want.independent,
			AbsTol:     low,
			RelTol:     pickD(d, .6, .25, .15),
			Why:        spread,
			SkipReason: small,
			Null:       convergedSampler,
		},
	}
	i, chains := slices.Index(printed.d, d), small
	if !runsChains(t.Preset, d) {
		chains = "no chains are run in so many dimensions"
	}
	if d >= 16 {
		out = append(out, lab.Claim{
			What:       fmt.Sprintf("SCONES with exact potentials, d = %d", d),
			Source:     "Table 2",
			Got:        at(0),
			Want:       printed.scones[i],
			RelTol:     .2,
			Why:        "two digits are printed, for other pairs",
			SkipReason: chains,
			Null:       independentPairs,
		})
	}
	if d >= 64 {
		out = append(out, kit.AtMost(fmt.Sprintf("independent coupling over the law of the paper's steps, d = %d", d),
			"λ = 2d is nearly independent", at(4)/at(1), 1, "a comparison; the two differ by two "+
				"standard errors and more", convergedSampler))
	}
	return out
}

// claimFitted compares longer steps, fitted potentials and networks with the floor, the paper's row and the closed
// form.
func (t table2) claimFitted(d int) []lab.Claim {
	get := func(of func(GaussiansOut) float64) float64 { v, _ := t.estimate(2, d, of); return v }
	floor := get(tab2Rows[3].of)
	nets, _ := t.networksAt(d, tab2Nets[0].of)
	small := lab.Pick(t.Preset, "500 samples and networks of 20 steps", "", "", "")
	row := map[int]float64{2: .025, 4: .025, 16: .52}[d] // the paper's, of 10,000 samples
	more := floor * (10000/float64(t.nets.Cells[0].Params.Problem.Samples) - 1)
	return []lab.Claim{
		{
			What:     fmt.Sprintf("longer steps against the floor, d = %d", d),
			Source:   "sample floor",
			Got:      get(tab2Rows[2].of),
			Relation: lab.AtMost,
			Want:     floor,
			AbsTol:   .006,
			RelTol:   .2,
			Why: "both are random, by some 30 % at d = 2 and 5 % at d = 16, and a step of 0.1 lengthens the " +
				"shortest variances by 2.5 %",
			SkipReason: small,
			Null:       independentPairs,
		},
		kit.AtMostUnless(small, fmt.Sprintf("plan of quadratic potentials by Algorithm 1, d = %d", d),
			"Table 2, SCONES", get(func(o GaussiansOut) float64 { return o.AscentPlan }), row,
			"what the paper's networks reach, sampling included", independentPairs),
		{
			What:       fmt.Sprintf("networks, d = %d", d),
			Source:     "Table 2, SCONES",
			Got:        nets,
			Relation:   lab.AtMost,
			Want:       row + more,
			RelTol:     .5,
			Why:        "within 1.5 times of the paper, whose 10,000 samples have the lower floor",
			SkipReason: small,
			Null:       independentPairs,
		},
		{
			What:       fmt.Sprintf("barycentric projection by a network over the exact one, d = %d", d),
			Source:     "closed form",
			Got:        t.projected(d),
			Want:       1,
			RelTol:     pickD(d, .25, .15, .15),
			Why:        "a network that was trained for minutes, of potentials that were",
			SkipReason: small,
			Null:       meanMaps,
		},
	}
}

// pickD returns a tolerance by dimension: small dimensions differ more from pair to pair.
func pickD(d int, two, sixteen, more float64) float64 {
	switch {
	case d <= 2:
		return two
	case d <= 16:
		return sixteen
	}
	return more
}

// GaussiansParams are one pair of Gaussians.
type GaussiansParams struct {
	D       int     `json:"d" min:"1" doc:"dimension"`
	Pair    int     `json:"pair" min:"0" doc:"number of the draw of the two Gaussians"`
	PerDim  float64 `json:"per_dim" min:">0" doc:"λ over the dimension"`
	Samples int     `json:"samples" min:"2" doc:"that are drawn"`
	Run     bool    `json:"run" doc:"runs Langevin dynamics; else its law in closed form is drawn"`
	Fit     int     `json:"fit" min:"0" doc:"steps by which potentials are fitted; 0: they are not"`
}

// GaussiansOut are BW-UVPs in percent of the covariance of (x, y). NaN: not computed.
type GaussiansOut struct {
	Floor       float64 `json:"floor"`       // samples of the exact plan
	Independent float64 `json:"independent"` // y drawn from the target whatever x is
	Barycentric float64 `json:"barycentric"` // y = E[y|x]
	Paper       float64 `json:"paper"`       // exact potentials, ε = 0.01, 1000 steps
	Law         float64 `json:"law"`         // samples of the law that those steps have
	Better      float64 `json:"better"`      // exact potentials, ε = 0.1, 500 steps
	Ascent      float64 `json:"ascent"`      // quadratic potentials by Algorithm 1, then as Better
	AscentPlan  float64 `json:"ascent_plan"` // their plan itself, without sampling
	Light       float64 `json:"light"`       // LightSB with one component
}

var gaussiansOf = lab.Experiment[GaussiansParams, GaussiansOut]{Name: "scones/gaussians", Version: 1, Run: runGaussians}

// settings of the two samplers, in the paper's halved convention.
var (
	paperLangevin  = score.Langevin{Step: .01, Steps: 1000, Convention: score.Halved}
	betterLangevin = score.Langevin{Step: .1, Steps: 500, Convention: score.Halved}
)

// newProblem is a row of the table.
func newProblem(c *lab.Cell, p GaussiansParams) *pair {
	rng := c.Rand(fmt.Sprintf("pair %d", p.Pair))
	one := func() gaussian.Normal { return gaussian.Normal{Cov: lab.Must(synth.RandomCovariance(rng, p.D, 1, 10))} }
	source, target := one(), one()
	plan := lab.Must(gaussian.Entropic{Eps: p.PerDim * float64(p.D)}.Solve(source, target))
	return newPair(c, plan, c.Rand(fmt.Sprintf("sources %d", p.Pair)), p.Samples)
}

func runGaussians(ctx context.Context, c *lab.Cell, params GaussiansParams) (out GaussiansOut, err error) {
	p := newProblem(c, params)
	nan := math.NaN()
	out = GaussiansOut{Paper: nan, Better: nan, Ascent: nan, AscentPlan: nan, Light: nan}
	rng := c.Rand(fmt.Sprintf("noise %d", params.Pair))
	mean := p.mean()
	out.Independent, out.Barycentric = p.uvp(lab.Must(p.target.Sample(rng, params.Samples))), p.uvp(mean)
	out.Floor = p.uvp(p.around(mean, rng, func(v float64) float64 { return v }))
	out.Law = p.uvp(p.around(mean, rng, func(v float64) float64 { return after(paperLangevin, v) }))
	if params.Run {
		_, psi := scones.Potentials(p.plan)
		out.Paper = p.sample(ctx, "paper", psi, paperLangevin, mean, rng)
		out.Better = p.sample(ctx, "longer", psi, betterLangevin, mean, rng)
	}
	if params.Fit > 0 {
		p.fit(ctx, params, &out)
	}
	return out, nil
}

// fit fits potentials from samples: Algorithm 1 with quadratic potentials, and LightSB.
func (p *pair) fit(ctx context.Context, of GaussiansParams, out *GaussiansOut) {
	rng := p.c.Rand(fmt.Sprintf("fit %d", of.Pair))
	psi := p.quadratic(ctx, of.Fit, 500, rng)
	r := lab.Must(regress(psi, p.plan.Q, p.plan.Eps))
	out.AscentPlan = lab.Must(gaussian.UVP(r.joint(p.plan.P.Cov), p.plan.Joint().Cov))
	out.Ascent = p.sample(ctx, "fitted", psi, betterLangevin, r.mean(p.x), rng)
	fitted := lab.Must(light.Fit{
		Lambda: p.plan.Eps,
		Batch:  500,
		Steps:  of.Fit,
		Trace:  progress(p.c, of.Fit),
	}.Run(ctx, rng, p.source.Sample, p.target.Sample))
	out.Light = p.uvp(fitted.Sample(rng, p.x))
}

// NetworksParams are one pair of Gaussians with potentials that are networks.
type NetworksParams struct {
	Problem GaussiansParams `json:"problem"`
	Width   int             `json:"width" min:"1" doc:"of three hidden layers"`
	Steps   int             `json:"steps" min:"1" doc:"of the potentials"`
	Batch   int             `json:"batch" min:"1" doc:"points of a step"`
	Rate    float64         `json:"rate" min:">0" doc:"learning rate"`
	Device  string          `json:"device" doc:"cpu, cuda:0 or cuda:0,tf32"`
}

// NetworksOut are BW-UVPs in percent.
type NetworksOut struct {
	UVP float64 `json:"uvp"`
	// of a network that learns the barycentric projection of the trained potentials
	Projection float64 `json:"projection"`
}

// networksOf trains critics by Algorithm 1 and samples with the longer steps, from the projection
// of a network. A run that is killed goes on from its checkpoint.
var networksOf = lab.Experiment[NetworksParams, NetworksOut]{
	Name:    "scones/gaussians-networks",
	Version: 2,
	Work:    NetworksParams.work,
	Run: func(ctx context.Context, c *lab.Cell, p NetworksParams) (out NetworksOut, err error) {
		w := newProblem(c, p.Problem)
		coupling, projection := p.learner().run(ctx, c, lab.Must(c.Device(p.Device)), "networks",
			c.Rand(fmt.Sprintf("networks %d", p.Problem.Pair)), w.source.Sample, w.target.Sample)
		start := lab.Must(projection.Apply(w.x))
		out.Projection = w.uvp(start)
		out.UVP = w.sample(ctx, "networks", coupling.Psi, betterLangevin, start, c.Rand("chains"))
		return out, nil
	},
}

func (p NetworksParams) learner() learner {
	d := p.Problem.D
	return ofPoints(d, p.Problem.PerDim*float64(d), p.Width, p.Steps, p.Batch, p.Rate)
}

// networks are trained on a pair at the paper's λ.
var networks = lab.Part[NetworksParams, NetworksOut]{Experiment: networksOf,
	Grid: func(set lab.Setting) (out []NetworksParams) {
		p := set.Preset
		for _, g := range gaussiansGrid(set) {
			if g.PerDim != 2 || g.D > lab.Pick(p, 2, 16, 64, 256) || g.Pair > 0 && p != lab.Paper {
				continue
			}
			g.Run, g.Fit, g.Samples = false, 0, lab.Pick(p, 500, 3000, 10000, 10000)
			wide := 96
			if g.D > 16 {
				wide = 256
			}
			out = append(out, NetworksParams{
				Problem: g,
				Width:   lab.Pick(p, 16, 64, wide, 4096),
				Steps:   lab.Pick(p, 20, 2200, 4000, 5000),
				Batch:   lab.Pick(p, 64, 256, 256, 500),
				Rate:    lab.Pick(p, 1e-3, 1e-3, 1e-3, 1e-6*float64(g.D)),
				Device:  set.Device,
			})
		}
		return out
	}}

// gaussiansView is the finished cells.
type gaussiansView = lab.View[GaussiansParams, GaussiansOut]
