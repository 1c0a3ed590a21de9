package scones

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot/gaussian"
	"coupling/score"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
)

// Tab7 is Table 7: from the Gaussian with the moments of MNIST to the unit Gaussian of R⁷⁸⁴.
func Tab7() lab.Study[MomentsParams, MomentsOut] {
	return lab.Study[MomentsParams, MomentsOut]{
		Name:  "scones/tab7",
		Title: "Table 7: from the Gaussian with MNIST's moments to the unit Gaussian",
		Shows: "The paper states this experiment and gives no result. The target's covariance is the identity, so " +
			"that everything splits along the principal " +
			"axes of MNIST and is known in closed form, sampler included: how far the covariance of (x, y) is from " +
			"the optimal plan's after the paper's 1000 steps, " +
			"for the barycentric projection and for y drawn whatever x is. At the paper's λ, which times 784 is " +
			"what multiplies KL where the cost is |x − y|², the plan is the " +
			"independent coupling, to 0.001 per cent: nearer than the sampler is, and BW-UVP would not have seen " +
			"whether anything was learnt. A coupling is to be learnt where λ is a hundredth of that. " +
			"Algorithm 1 learns potentials by networks and by quadratic functions, below the paper's size in the " +
			"leading axes, of which the plan's restriction is known too. Beside them ψ = 0, which knows nothing: " +
			"the error of the score ∇ψ says what was learnt.",
		Sizes: kit.ByPreset("digits of 7 × 7, 16 chains; networks of 10 steps in 4 axes, 100 samples",
			"R⁷⁸⁴ in closed form, 16 chains run to check it; in 16 axes quadratic potentials and "+
				"networks of 4 × 64, 2500 steps, at two λ, 3000 samples", "R⁷⁸⁴ in closed form, 64 chains "+
				"run to check it; in 32 axes quadratic potentials and networks of 4 × 256, 8000 steps, at "+
				"the paper's λ and 0.01, 10,000 samples", "R⁷⁸⁴ in closed form, 1000 chains run to check "+
				"it; quadratic potentials and networks of 4 × 2048 at the paper's λ and 0.01, 5000 steps, "+
				"10,000 samples"),
		Seconds:    kit.ByPreset(1., 32, 1500),
		Experiment: momentsOf,
		Grid:       momentsGrid,
		Also:       []lab.Cells{momentsNets},
		Draw:       drawTab7,
		Claims:     claimTab7,
	}
}

// The garbage on which claims fail.
var (
	untrainedPotentials = kit.Null("potentials that are not trained", momentsNetsOf,
		func(_ MomentsNetParams, v *MomentsNetOut) { v.Error, v.Quadratic = v.ZeroError, v.ZeroError })
	shortChains = kit.Null(
		"chains that did not leave the projection, and the projection in place of the independent coupling", momentsOf,
		stopChains)
)

// stopChains leaves |y − E[y|x]|² at 0, which is √n or more standard errors from the law, and gives
// the sampler and the independent coupling what the projection has.
func stopChains(p MomentsParams, v *MomentsOut) {
	v.Deviation = -math.Sqrt(float64(p.Chains)) * 2
	for k := range v.Rows {
		v.Rows[k].Sampler, v.Rows[k].Independent = v.Rows[k].Barycentric, v.Rows[k].Barycentric
	}
}

// MomentsParams are the problem at several λ of the mean cost.
type MomentsParams struct {
	Side    int         `json:"side" min:"1" max:"28" doc:"pixels of a side of a digit"`
	Lambdas []float64   `json:"lambdas" min:">0" doc:"λ over the mean cost"`
	Chains  int         `json:"chains" min:"2" doc:"that are run at ¼"`
	Data    data.Origin `json:"data,omitzero" enum:",subset,sample" doc:"files; empty: the official ones"`
}

func momentsGrid(set lab.Setting) []MomentsParams {
	return []MomentsParams{{
		Side:    lab.Pick(set.Preset, 7, 28, 28, 28),
		Lambdas: []float64{1, .5, .25, .1, .03, .01, .003, .001},
		Chains:  lab.Pick(set.Preset, 16, 16, 64, 1000),
		Data:    data.Choose("mnist"),
	}}
}

// MomentsOut has a row for each λ.
type MomentsOut struct {
	Rows []MomentsRow `json:"rows"`
	// Of chains that were run: mean of |y − E y|² over chains, less that of the law, in its standard errors.
	Deviation float64 `json:"deviation"`
}

// MomentsRow are BW-UVPs in percent, of covariances in closed form.
type MomentsRow struct {
	Lambda      float64 `json:"lambda"`
	Sampler     float64 `json:"sampler"` // of the law of the paper's steps, exact potentials
	Barycentric float64 `json:"barycentric"`
	Independent float64 `json:"independent"`
	Information float64 `json:"information"` // mutual information of the plan, nats
	Law         float64 `json:"law"`         // E|y − E[y|x]|² after the paper's steps
}

var momentsOf = lab.Experiment[MomentsParams, MomentsOut]{Name: "scones/mnist-gaussian", Version: 1, Run: runMoments}

// momentsLangevin is Table 7's sampler, in the convention of the paper's Algorithm 2.
var momentsLangevin = score.Langevin{Step: 5e-3, Steps: 1000, Convention: score.Halved}

// momentsSource is the normal law with the moments of MNIST's training digits in [0, 1].
func momentsSource(ctx context.Context, o data.Origin, side int) gaussian.Normal {
	m := lab.Must(data.MNIST(ctx, sample.From(o), data.Train))
	if side != 28 {
		m = lab.Must(m.Resize(side, side, data.Bilinear))
	}
	return lab.Must(gaussian.Empirical(m.Mat(), nil))
}

// axis is the problem along one principal axis: the source has variance a, the target 1.
type axis struct{ a, lambda float64 } // λ of |x−y|²

// slope is k in E[y|x] = k·x, the positive root of 1 = k²a + λk/2 (Janati et al. 2020), written without cancellation.
func (s axis) slope() float64 {
	h := s.lambda / 4
	return 1 / (h + math.Sqrt(h*h+s.a))
}

// variance of y given x.
func (s axis) variance() float64 { return s.lambda / 2 * s.slope() }

// bures returns the squared Bures–Wasserstein distance of the covariance of (x, kx + noise of
// variance v) from the plan's: 2×2 matrices, whose fidelity is √(tr ST + 2√(det S det T)).
func (s axis) bures(k, v float64) float64 {
	k0, v0, a := s.slope(), s.variance(), s.a
	xy, yy, xy0, yy0 := k*a, k*k*a+v, k0*a, k0*k0*a+v0
	product := a*a + 2*xy*xy0 + yy*yy0
	dets := a * v * a * v0
	return max(a+yy+a+yy0-2*math.Sqrt(product+2*math.Sqrt(max(dets, 0))), 0)
}

func runMoments(ctx context.Context, c *lab.Cell, p MomentsParams) (out MomentsOut, err error) {
	source := momentsSource(ctx, p.Data, p.Side)
	values := variances(source)
	for _, l := range p.Lambdas {
		row := rowOf(values, l)
		out.Rows = append(out.Rows, row)
		if l == .25 {
			out.Deviation = checkLaw(ctx, c, p, source, row)
		}
	}
	return out, nil
}

// variances are those along the principal axes, rising.
func variances(p gaussian.Normal) []float64 {
	var eig mat.EigenSym
	if !eig.Factorize(p.Cov, false) {
		lab.Check(errors.New("the eigenvalues of MNIST's covariance did not converge"))
	}
	return eig.Values(nil)
}

// rowOf sums over the axes.
func rowOf(values []float64, lambda float64) MomentsRow {
	out := MomentsRow{Lambda: lambda}
	trace := 0.
	for _, v := range values {
		s := axis{max(v, 0), lambda * float64(len(values))}
		stays := after(momentsLangevin, s.variance())
		trace += s.a + 1
		out.Sampler += s.bures(s.slope(), stays)
		out.Barycentric += s.bures(s.slope(), 0)
		out.Independent += s.bures(0, 1)
		out.Information -= math.Log(s.variance()) / 2
		out.Law += stays
	}
	for _, v := range []*float64{&out.Sampler, &out.Barycentric, &out.Independent} {
		*v *= 100 / trace
	}
	return out
}

// toUnit is the plan from a source to N(0, I) under ε KL.
func toUnit(source gaussian.Normal, eps float64) *gaussian.Plan {
	return lab.Must(gaussian.Entropic{Eps: eps}.Solve(source, gaussian.Normal{Cov: isotropic(source.Dim(), 1)}))
}

// isotropic is the covariance of a variance in each direction.
func isotropic(d int, variance float64) *mat.SymDense {
	s := mat.NewSymDense(d, nil)
	for i := range d {
		s.SetSym(i, i, variance)
	}
	return s
}

// checkLaw is the Deviation of chains from the projection, with the potentials and the score as
// fields: |y − E[y|x]|² has the mean law.
func checkLaw(ctx context.Context, c *lab.Cell, p MomentsParams, source gaussian.Normal, row MomentsRow) float64 {
	plan := toUnit(source, row.Lambda*float64(source.Dim()))
	rng := c.Rand("chains")
	w := newPair(c, plan, rng, p.Chains)
	_, psi := scones.Potentials(plan)
	mean := w.mean()
	y := w.chains(ctx, "law", psi, momentsLangevin, mean, rng)
	y.Sub(y, mean)
	squares := make([]float64, p.Chains)
	for i := range squares {
		squares[i] = mat.Dot(y.RowView(i), y.RowView(i))
	}
	m, sd := stat.MeanStdDev(squares, nil)
	return (m - row.Law) / (sd / math.Sqrt(float64(p.Chains)))
}

func drawTab7(v lab.View[MomentsParams, MomentsOut]) (lab.Exhibit, error) {
	nets := momentsNets.View(v.Source)
	c := v.Cells[0]
	size := c.Params
	table := lab.Table{Name: "uvp", Caption: "BW-UVP in percent, of covariances in closed form",
		Header: []string{"λ of the mean cost", "the paper's 1000 steps", "barycentric projection",
			"independent coupling", "mutual information, nats"}}
	for _, v := range c.Value.Rows {
		table.Rows = append(table.Rows, []string{number3(v.Lambda), number3(v.Sampler), number3(v.Barycentric),
			number3(v.Independent), number3(v.Information)})
	}
	line := func(k int, name string, of func(MomentsRow) float64) style.Line {
		return kit.Line(style.Line{Name: name, Series: k, Marks: true}, c.Value.Rows,
			func(r MomentsRow) (x, y float64) { return r.Lambda, of(r) })
	}
	items := []plot.Plotter{
		line(0, "the paper's 1000 steps", func(r MomentsRow) float64 { return r.Sampler }),
		line(1, "barycentric projection", func(r MomentsRow) float64 { return r.Barycentric }),
		line(2, "independent coupling", func(r MomentsRow) float64 { return r.Independent }),
	}
	sampled, bars := tab7Learnt(nets.Cells)
	p := nets.Cells[0].Params
	where := fmt.Sprintf("the %d leading axes", p.Axes)
	if p.Axes == 0 {
		where = "all axes"
	}
	sampled.Caption = fmt.Sprintf(
		"In %s: error of the score ∇ψ relative to that of the plan's factor, and BW-UVP in percent, of the "+
			"covariance of %d samples", where, p.Samples)
	return lab.Exhibit{
		Pictures: kit.Wide(style.Panels{Letters: true, Items: []style.Drawer{
			style.Plot{
				X:      style.Axis{Label: "λ", Log: true},
				Y:      style.Axis{Label: "BW-UVP", Unit: "%", Log: true},
				Items:  items,
				Aspect: .8,
			},
			style.Plot{
				X:      style.Axis{Label: "λ", Log: true},
				Y:      style.Axis{Label: "error of the score ∇ψ", Log: true},
				Items:  bars,
				Aspect: .8,
			},
		}}, v.Badge(fmt.Sprintf("networks of 4 × %d in %s", p.Width, where), sample.Note(p.Data, "mnist")),
			fmt.Sprintf(
				"From N(m, S), the moments of MNIST's digits of %d × %d, to N(0, I), under KL at λ times the mean "+
					"cost. The paper's λ are 1, ½ and ¼. Left: closed forms. Right: what Algorithm 1 learns in %s, "+
					"by quadratic potentials and by networks, beside ψ = 0.", size.Side, size.Side, where)),
		Tables: []lab.Table{table, sampled},
		Notes: []string{"MNIST's border pixels are always black: the source's covariance is singular, which " +
			"neither the closed form nor the sampler minds.",
			"Chains of networks begin at draws of the target and take a hundred steps of ε = 0.1, in place of the " +
				"paper's thousand of 0.005. " +
				"That BW-UVP is at the floor of as many samples of the plan does not say that anything was learnt; " +
				"errors of the score do."},
	}, nil
}

// tab7Learnt is what was learnt, as a table and as points.
func tab7Learnt(nets []lab.Result[MomentsNetParams, MomentsNetOut]) (lab.Table, []plot.Plotter) {
	table := lab.Table{Name: "sampled",
		Header: []string{"λ of the mean cost", "error: networks", "quadratic", "ψ = 0", "BW-UVP: networks",
			"exact potentials", "samples of the plan", "independent coupling", "ψ = 0", "ψ = 0 in closed form"}}
	for _, n := range nets {
		l, v := n.Params.Lambda, n.Value
		table.Rows = append(table.Rows, []string{number3(l), percent(v.Error), percent(v.Quadratic),
			percent(v.ZeroError),
			number3(v.Networks), number3(v.Exact), number3(v.Floor), number3(v.Independent), number3(v.Zero),
			number3(v.Untrained)})
	}
	points := func(k int, name string, of func(MomentsNetOut) float64) style.Points {
		x, y := kit.Points(nets, func(n lab.Result[MomentsNetParams, MomentsNetOut]) (x, y float64) {
			return n.Params.Lambda, of(n.Value)
		})
		return style.Points{Name: name, Series: k, Radius: 4, X: x, Y: y}
	}
	return table, []plot.Plotter{
		points(3, "networks", func(o MomentsNetOut) float64 { return o.Error }),
		points(4, "quadratic potentials", func(o MomentsNetOut) float64 { return o.Quadratic }),
		points(5, "ψ = 0", func(o MomentsNetOut) float64 { return o.ZeroError }),
	}
}

func claimTab7(view lab.View[MomentsParams, MomentsOut]) (out []lab.Claim, err error) {
	nets := momentsNets.View(view.Source)
	small, c := lab.Pick(view.Preset, "49 pixels, and networks of 10 steps", "", "", ""), view.Cells[0]
	for _, n := range nets.Cells {
		l, v := n.Params.Lambda, n.Value
		out = append(out,
			kit.AtMostUnless(small,
				fmt.Sprintf("λ = %g: error of the networks' score over that of ψ = 0", l),
				"potentials are learnt", v.Error/v.ZeroError, .5, "half of what is to be learnt",
				untrainedPotentials),
			kit.AtMostUnless(small,
				fmt.Sprintf("λ = %g: error of the quadratic potentials' score over that of ψ = 0", l),
				"exact potentials are quadratic", v.Quadratic/v.ZeroError, .2, "noise of batches",
				untrainedPotentials))
	}
	out = append(out, lab.Claim{
		What:   "|y − E[y|x]|² of chains that were run at λ = ¼, less the law's, in standard errors",
		Source: "law of the sampler",
		Got:    c.Value.Deviation,
		AbsTol: 6,
		Why:    "a mistaken alarm in 40,000 of 16 chains, by Student's t",
		Null:   shortChains,
	})
	for _, v := range c.Value.Rows {
		if v.Lambda >= .25 {
			out = append(out,
				kit.AtMostUnless(small,
					fmt.Sprintf("λ = %g: BW-UVP of the independent coupling, percent", v.Lambda),
					"Table 7's λ leaves little to couple", v.Independent, .001, "closed form", shortChains),
				kit.AtMostUnless(small, fmt.Sprintf("λ = %g: BW-UVP of the paper's steps, percent", v.Lambda),
					"law of the sampler", v.Sampler, .1, "nearly converged: (1 − a/v)²⁰⁰⁰ is below a hundredth",
					shortChains),
				kit.AtMostUnless(small, fmt.Sprintf("λ = %g: the first over the second", v.Lambda),
					"Table 7's λ leaves little to couple", v.Independent/v.Sampler, .5,
					"closed form: the independent coupling is nearer than the sampler by far", shortChains))
		}
	}
	return out, nil
}

// MomentsNetParams are Algorithm 1 at one λ, and chains of what it learnt.
type MomentsNetParams struct {
	Side    int         `json:"side" min:"1" max:"28" doc:"pixels of a side of a digit"`
	Axes    int         `json:"axes" min:"0" max:"784" doc:"leading axes of the source; 0: all"`
	Lambda  float64     `json:"lambda" min:">0" doc:"λ over the mean cost"`
	Width   int         `json:"width" min:"1" doc:"of four hidden layers"`
	Steps   int         `json:"steps" min:"1" doc:"of the potentials"`
	Batch   int         `json:"batch" min:"1" doc:"points of a step"`
	Rate    float64     `json:"rate" min:">0" doc:"learning rate"`
	Samples int         `json:"samples" min:"2" doc:"chains that are run"`
	Device  string      `json:"device" doc:"cpu, cuda:0 or cuda:0,tf32"`
	Data    data.Origin `json:"data,omitzero" enum:",subset,sample" doc:"files; empty: the official ones"`
}

// momentsNets are at the paper's λ, one of them at quick, and one where there is a coupling to be learnt.
var momentsNets = lab.Part[MomentsNetParams, MomentsNetOut]{Experiment: momentsNetsOf,
	Grid: func(set lab.Setting) []MomentsNetParams {
		p := set.Preset
		base := MomentsNetParams{
			Side:    lab.Pick(p, 7, 28, 28, 28),
			Axes:    lab.Pick(p, 4, 16, 32, 0),
			Width:   lab.Pick(p, 16, 64, 256, 2048),
			Steps:   lab.Pick(p, 10, 2500, 8000, 5000),
			Batch:   lab.Pick(p, 64, 256, 512, 1000),
			Rate:    lab.Pick(p, 1e-3, 1e-3, 1e-3, 1e-6*784),
			Samples: lab.Pick(p, 100, 3000, 10000, 10000),
			Device:  set.Device,
			Data:    data.Choose("mnist"),
		}
		return lab.Grid(base, lab.Vary(func(p *MomentsNetParams, v float64) { p.Lambda = v },
			lab.Pick(p, []float64{.25}, []float64{.25, .01}, []float64{1, .5, .25, .01},
				[]float64{1, .5, .25, .01})...))
	}}

// MomentsNetOut has BW-UVPs in percent, all of as many samples.
type MomentsNetOut struct {
	// Error is that of the network's score relative to that of the plan's factor: |∇ψ_θ − ∇ψ|/|∇ψ −
	// ∇c|, root mean squares at independent points. Quadratic is that of a quadratic potential by
	// Algorithm 1, ZeroError that of ψ = 0.
	Error       float64 `json:"error"`
	Quadratic   float64 `json:"quadratic"`
	ZeroError   float64 `json:"zero_error"`
	Networks    float64 `json:"networks"`
	Exact       float64 `json:"exact"`       // the law of the same sampler with exact potentials
	Floor       float64 `json:"floor"`       // the plan
	Independent float64 `json:"independent"` // y drawn whatever x is
	Zero        float64 `json:"zero"`        // the law of the same sampler with ψ = 0
	Untrained   float64 `json:"untrained"`   // ψ = 0, in closed form
}

var momentsNetsOf = lab.Experiment[MomentsNetParams, MomentsNetOut]{
	Name:    "scones/mnist-gaussian-networks",
	Version: 4,
	Run:     runMomentsNets,
	Work:    MomentsNetParams.work,
}

// momentsLonger has steps that forget where they began in a hundred, and lengthen no variance by more than 2.6 %.
var momentsLonger = score.Langevin{Step: .1, Steps: 100, Convention: score.Halved}

// newMomentsPair is the pair at one λ, restricted to the leading axes of its source, in which its
// plan is the restriction of the plan.
func newMomentsPair(ctx context.Context, c *lab.Cell, p MomentsNetParams) *pair {
	normal := momentsSource(ctx, p.Data, p.Side)
	eps := p.Lambda * float64(normal.Dim())
	if p.Axes > 0 {
		values := variances(normal)
		leading := mat.NewSymDense(p.Axes, nil)
		for k, v := range values[normal.Dim()-p.Axes:] {
			leading.SetSym(k, k, v)
		}
		normal = gaussian.Normal{Mean: make([]float64, p.Axes), Cov: leading}
	}
	return newPair(c, toUnit(normal, eps), c.Rand("sources"), p.Samples)
}

// runMomentsNets is Algorithm 1 at one λ, and what chains with its potential give.
func runMomentsNets(ctx context.Context, c *lab.Cell, p MomentsNetParams) (out MomentsNetOut, err error) {
	w := newMomentsPair(ctx, c, p)
	nets, _ := p.learner().run(ctx, c, lab.Must(c.Device(p.Device)), "networks", c.Rand("networks"), w.source.Sample,
		w.target.Sample)
	quadratic := w.quadratic(ctx, p.Steps, p.Batch, c.Rand("quadratic"))
	out.Error, out.Quadratic, out.ZeroError = w.heldOut(nets.Psi), w.heldOut(quadratic),
		w.heldOut(nothing(w.plan.P.Dim()))
	w.compare(ctx, nets.Psi, &out)
	return out, nil
}

// learner is Algorithm 1 in all axes or the leading ones.
func (p MomentsNetParams) learner() learner {
	d := cmp.Or(p.Axes, p.Side*p.Side)
	return learner{dim: d,
		potentials: neural.Training{Ascent: algorithm1(p.Lambda*float64(p.Side*p.Side), p.Steps, p.Batch),
			Hidden: []int{p.Width, p.Width, p.Width, p.Width}, Rate: p.Rate}}
}

// compare runs chains from draws of the target, and measures them beside others of as many samples.
func (p *pair) compare(ctx context.Context, psi scones.Potential, out *MomentsNetOut) {
	rng := p.c.Rand("chains")
	independent := lab.Must(p.target.Sample(rng, p.x.RawMatrix().Rows))
	mean := p.mean()
	out.Networks, out.Independent = p.sample(ctx, "networks", psi, momentsLonger, independent, rng), p.uvp(independent)
	out.Floor = p.uvp(p.around(mean, rng, func(v float64) float64 { return v }))
	out.Exact = p.uvp(p.around(mean, rng, func(v float64) float64 { return after(momentsLonger, v) }))
	out.Zero, out.Untrained = p.uvp(p.drawUntrained(rng)), p.untrained()
}

// pull is how far the law exp(−c/λ)τ(y) of y given x, which ψ = 0 has, draws y to x: its mean is
// x·pull/(1 + pull), and 1/(1 + pull) its variance in every direction.
func (p *pair) pull() float64 { return 2 / p.plan.Eps }

// untrained is the BW-UVP of that law.
func (p *pair) untrained() float64 {
	d := p.plan.P.Dim()
	law := regression{slope: mat.DenseCopyOf(isotropic(d, p.pull()/(1+p.pull()))), cov: isotropic(d, 1/(1+p.pull()))}
	return lab.Must(gaussian.UVP(law.joint(p.plan.P.Cov), p.plan.Joint().Cov))
}

// drawUntrained draws from what momentsLonger makes of that law, where its start is forgotten. Means do not matter.
func (p *pair) drawUntrained(rng *rand.Rand) *mat.Dense {
	slope, sd := p.pull()/(1+p.pull()), math.Sqrt(after(momentsLonger, 1/(1+p.pull())))
	y := new(mat.Dense)
	y.Apply(func(_, _ int, v float64) float64 { return slope*v + sd*rng.NormFloat64() }, p.x)
	return y
}

// heldOut is the scoreError of a potential at 500 pairs that it was not trained on.
func (p *pair) heldOut(psi scones.Potential) float64 {
	rng := p.c.Rand("tests")
	x, y := lab.Must(p.source.Sample(rng, 500)), lab.Must(p.target.Sample(rng, 500))
	return scoreError(p.plan, psi, x, y)
}

// scoreError compares the gradient of a potential with the exact one.
func scoreError(plan *gaussian.Plan, net scones.Potential, x, y *mat.Dense) float64 {
	_, psi := scones.Potentials(plan)
	n, d := y.Dims()
	got, want := mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
	lab.Check(errors.Join(net.Eval(nil, got, y), psi.Eval(nil, want, y)))
	var factor mat.Dense // ∇ψ − ∇c
	factor.Sub(x, y)
	factor.Scale(2, &factor)
	factor.Add(&factor, want)
	got.Sub(got, want)
	return mat.Norm(got, 2) / mat.Norm(&factor, 2)
}

// nothing is the potential 0 of points of so many dimensions.
type nothing int

// Dim implements scones.Potential.
func (d nothing) Dim() int { return int(d) }

// Eval implements scones.Potential.
func (nothing) Eval(value []float64, grad, _ *mat.Dense) error {
	clear(value)
	if grad != nil {
		grad.Zero()
	}
	return nil
}
