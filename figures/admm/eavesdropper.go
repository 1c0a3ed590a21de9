package admm

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/admm/eavesdrop"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/store"
)

// Eavesdropper is what the noise buys: the error of estimated utility parameters against the privacy parameter.
func Eavesdropper() lab.Study[SpyParams, SpyOut] {
	return lab.Study[SpyParams, SpyOut]{
		Name:  "admm/eavesdropper",
		Title: "What an eavesdropper learns",
		Shows: "Who hears all messages and knows bounds and rules fits the utility parameters to them. Without " +
			"noise most are found; the rest leave no trace, because their edges carry nothing. Strong noise takes " +
			"the error to that of guessing, and the more rounds are heard the stronger it must be. Moderate noise " +
			"can tell more than none: it makes silent edges speak.",
		Sizes: kit.Sizes("the paper's network, no noise and %v values of α_p, %v rounds, %v %v", kit.Per{3, 8, 8, 8},
			kit.Per{60, 200, 200, 200}, kit.Per{1, 3, 20, 20}, kit.Per{"repeat", "repeats", "repeats", "repeats"}),
		Seconds:    kit.ByPreset(.8, 11, 70, 70),
		Experiment: spyOf,
		Grid:       spyGrid,
		Draw:       drawEavesdropper,
		Claims:     claimEavesdropper,
	}
}

// SpyParams are one run that an eavesdropper hears.
type SpyParams struct {
	Alpha  float64 `json:"alpha" min:"0" doc:"privacy parameter α_p of a round; 0: no noise"`
	Rounds int     `json:"rounds" min:"1" doc:"of the run"`
	Heard  []int   `json:"heard" min:"1" doc:"rounds that are listened to"`
	Repeat int     `json:"repeat" min:"0" doc:"number of the draw of the noise"`
}

// SpyOut has a value for each of Heard: mean squared errors of least squares and of the likeliest
// parameters given the noise and the range, and the part of parameters that the latter, rounded,
// gets right; the mean squared error of guessing 3; and the noise of the run.
type SpyOut struct {
	Squares []float64 `json:"squares"`
	Likely  []float64 `json:"likely"`
	Right   []float64 `json:"right"`
	Guess   float64   `json:"guess"`
	Noise   Noise     `json:"noise"`
}

var spyOf = lab.Experiment[SpyParams, SpyOut]{
	Name: "admm/eavesdrop", Version: 5,
	Run: func(ctx context.Context, c *lab.Cell, p SpyParams) (out SpyOut, err error) {
		prob := caseStudy(c.Rand("market"))
		a := admm.ADMM{Rounds: p.Rounds}
		record := eavesdrop.Record{Problem: public(prob)}
		a.Trace = record.Listen
		listen := out.Noise.listen(prob, p.Alpha)
		if p.Alpha == 0 {
			a.MaxRounds = p.Rounds
			lab.Must(a.Solve(ctx, prob))
		} else {
			a.Trace = func(s admm.Step) { record.Listen(s); listen(s) }
			private := admm.Private{Budget: account.Budget{Alpha: p.Alpha}, Slope: slope}
			lab.Must(a.SolvePrivate(ctx, prob, private, c.Rand(fmt.Sprintf("noise/%d", p.Repeat))))
		}
		for i, heard := range p.Heard {
			heard := record.First(heard)
			squares, _ := attack(prob, heard, 0)
			likely, right := attack(prob, heard, p.Alpha/slope)
			out.Squares, out.Likely, out.Right = append(out.Squares, squares), append(out.Likely, likely),
				append(out.Right, right)
			c.Progress(i+1, len(p.Heard))
		}
		middle := slices.Repeat([]float64{(1 + slope) / 2.0}, len(prob.Graph.Edges))
		out.Guess, _ = eavesdrop.Score(prob, middle, middle)
		return out, ctx.Err()
	},
}

// attack estimates all parameters and scores them.
func attack(p admm.Problem, r *eavesdrop.Record, zeta float64) (mse, right float64) {
	target, source, err := eavesdrop.Attack{Lo: 1, Hi: slope, Zeta: zeta}.All(r)
	lab.Check(err)
	return eavesdrop.Score(p, target, source)
}

func spyGrid(set lab.Setting) (out []SpyParams) {
	many := []float64{0, 1, 3, 10, 30, 100, 300, 1000, 3000}
	rounds := roundsOf(set.Preset)
	for _, a := range kit.Smoke(set.Preset, []float64{0, 1, 30, 1000}, many) {
		for i := range lab.Pick(set.Preset, 1, 3, 20, 20) {
			if a > 0 || i == 0 {
				out = append(out, SpyParams{Alpha: a, Rounds: rounds, Heard: []int{1, 10, rounds}, Repeat: i})
			}
		}
	}
	return out
}

// guessing is the null of an eavesdropper who learns nothing: always 3, right for one parameter of five.
var guessing = kit.Null("guessing", spyOf, func(_ SpyParams, v *SpyOut) {
	for h := range v.Likely {
		v.Likely[h], v.Squares[h], v.Right[h] = v.Guess, v.Guess, .2
	}
})

// thinNoise is the null of noise that hides nothing: every run tells what the first tells, which has no noise.
var thinNoise = kit.NullOf("noise that hides nothing", spyOf, func(cells []spyCell) {
	for i := range cells {
		cells[i].Value = cells[0].Value
	}
})

// halfNoiseHeard is the null of half the noise.
var halfNoiseHeard = kit.Null("half the noise", spyOf, func(_ SpyParams, v *SpyOut) { v.Noise.Norms /= 2 })

// spied is one point: root mean squares over the repeats, for each number of rounds heard.
type spied struct {
	alpha                         float64
	squares, likely, right, guess []float64
	repeats                       int
}

// spiedPoints are the points by α_p, in the order of the grid.
func spiedPoints(all []spyCell) (out []spied) {
	for _, cells := range kit.Runs(all, func(c spyCell) float64 { return c.Params.Alpha }) {
		x := spied{alpha: cells[0].Params.Alpha, repeats: len(cells)}
		for h := range cells[0].Params.Heard {
			mean := func(of func(SpyOut) float64) float64 {
				m, _ := spread(cells, of)
				return m
			}
			x.squares = append(x.squares, math.Sqrt(mean(func(o SpyOut) float64 { return o.Squares[h] })))
			x.likely = append(x.likely, math.Sqrt(mean(func(o SpyOut) float64 { return o.Likely[h] })))
			x.right = append(x.right, mean(func(o SpyOut) float64 { return o.Right[h] }))
			x.guess = append(x.guess, math.Sqrt(mean(func(o SpyOut) float64 { return o.Guess })))
		}
		out = append(out, x)
	}
	return out
}

func drawEavesdropper(v lab.View[SpyParams, SpyOut]) (lab.Exhibit, error) {
	points, heard := spiedPoints(v.Cells), v.Cells[0].Params.Heard
	axis := style.Axis{Label: "privacy of a round α_{p}", Log: true}
	errors := style.Plot{X: axis, Y: style.Axis{Label: "root mean squared error", Max: 1.1 * points[0].guess[0]},
		Aspect: 1}
	right := style.Plot{X: axis, Y: style.Axis{Label: "parameters found", Max: 1}, Aspect: 1}
	errors.Items = append(errors.Items, style.Rule{At: points[0].guess[0], Label: "guessing 3"})
	right.Items = append(right.Items, style.Rule{At: .2, Label: "guessing"})
	table := kit.Table("errors",
		"Root mean squared error of the estimated parameters (uniform integers 1..5), and the part that is right "+
			"when rounded.", "α_p | rounds heard | least squares | likeliest | right")
	for h, rounds := range heard {
		name := map[bool]string{true: "1 round heard", false: fmt.Sprintf("%d rounds", rounds)}[rounds == 1]
		e, r := style.Line{Name: name, Series: h, Marks: true}, style.Line{Name: name, Series: h, Marks: true}
		for _, x := range points {
			if x.alpha > 0 {
				e.X, e.Y = append(e.X, x.alpha), append(e.Y, x.likely[h])
				r.X, r.Y = append(r.X, x.alpha), append(r.Y, x.right[h])
			}
			table.Rows = append(table.Rows, kit.Row("%s | %v | %.3f | %.3f | %.3f", alphaText(x.alpha), rounds,
				x.squares[h], x.likely[h], x.right[h]))
		}
		errors.Items, right.Items = append(errors.Items, e), append(right.Items, r)
	}
	last := len(heard) - 1
	errors.Items = append(errors.Items, style.Rule{At: points[0].likely[last], Label: "no noise", Start: true})
	right.Items = append(right.Items, style.Rule{At: points[0].right[last], Label: "no noise", Start: true})
	return lab.Exhibit{
		Pictures: kit.Wide(style.Panels{Items: []style.Drawer{errors, right}, Letters: true},
			v.Badge(fmt.Sprintf("%d repeats", points[1].repeats)),
			"An eavesdropper who knows bounds and rules estimates all 240 utility parameters of the case study, by "+
				"the likeliest fit to messages and range: (a) error, (b) parameters that are right when rounded; "+
				"dashed: guessing, and all rounds without noise. η = 1, ρ = 5."+
				louderThanSilence(points, heard[last])),
		Tables: []lab.Table{table},
		Notes: []string{privacyNote,
			"An attack shows what can be learnt at least, not what cannot: that is the guarantee's part."},
	}, nil
}

// louderThanSilence says, where it is so, that some noise tells the eavesdropper more than none, and why.
func louderThanSilence(points []spied, rounds int) string {
	last := len(points[0].likely) - 1
	best := slices.MinFunc(points, func(a, b spied) int { return cmp.Compare(a.likely[last], b.likely[last]) })
	if best.alpha == 0 || best.likely[last] > .98*points[0].likely[last] {
		return ""
	}
	return fmt.Sprintf(
		" Moderate noise does not protect, and tells more than none: after %d rounds the error is %.2f at α_p = %g "+
			"and %.2f without noise. Without noise the run settles: edges that carry nothing keep silent about "+
			"their parameters, and later rounds repeat what was said. Noise keeps prices and amounts moving, so "+
			"that each edge carries something now and then and each round says something new, and over many rounds "+
			"what it hides averages out.",
		rounds, best.likely[last], best.alpha, points[0].likely[last])
}

func claimEavesdropper(v lab.View[SpyParams, SpyOut]) ([]lab.Claim, error) {
	points := spiedPoints(v.Cells)
	last := len(points[0].right) - 1
	at := map[float64]spied{}
	for _, x := range points {
		at[x.alpha] = x
	}
	if at[1].repeats*at[1000].repeats == 0 {
		return nil, fmt.Errorf("claims are about α_p of 1 and 1000: %w", store.ErrMissing)
	}
	return []lab.Claim{
		kit.AtLeast("parameters found without noise, of all", "section III-A: the adversary can infer the parameters",
			points[0].right[last], .5, "those of edges that never carry anything leave no trace", guessing),
		kit.Near("error at α_p = 1 over guessing", "Theorem 1: little noise is not to be told from much",
			at[1].likely[last]/at[1].guess[last], 1, .2, "within a fifth of guessing", thinNoise),
		kit.AtMost("error at α_p = 1000 over that at α_p = 1", "the noise is 1000 times smaller",
			at[1000].likely[last]/at[1].likely[last], .8, "an effect that can be seen", guessing),
		asAccounted(kit.Each(v.Cells, func(c spyCell) Noise { return c.Value.Noise }), halfNoiseHeard),
	}, nil
}

// spyCell is a finished cell.
type spyCell = lab.Result[SpyParams, SpyOut]
