package admm

import (
	"fmt"
	"math"
	"slices"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
)

// TradeOff is Figure 2(c): utility against the privacy parameter, for several η.
func TradeOff() lab.Study[RunParams, RunOut] {
	return lab.Study[RunParams, RunOut]{
		Name:  "admm/fig2c",
		Title: "Social utility against the privacy of a round",
		Shows: "The less noise the more utility, up to the optimum. The last plan, which the paper shows, scatters " +
			"about its mean and may lie above the optimum, because it is not feasible; the projected average is " +
			"feasible, scatters less, and gains at strong privacy. A larger η means less noise for the same α_p, " +
			"and slower rounds.",
		Sizes: kit.Sizes("the paper's network, %v values of α_p, %v η, %v repeats", kit.Per{5, 9, 9, 9},
			kit.Per{"one", 3, 3, 3}, kit.Per{4, 20, 100, 100}),
		Seconds:    kit.ByPreset(.3, 11, 55, 55),
		Experiment: runOf,
		Grid:       tradeGrid,
		Draw:       drawTradeOff,
		Claims:     claimTradeOff,
	}
}

// tradeGrid varies η, α_p and, fastest, the noise.
func tradeGrid(set lab.Setting) []RunParams {
	p := set.Preset
	many := []float64{1, 3, 10, 30, 100, 300, 1000, 3000, 10000}
	repeats := kit.Count(lab.Pick(p, 4, 20, 100, 100))
	return lab.Grid(RunParams{Rounds: roundsOf(p)},
		lab.Vary(func(p *RunParams, v float64) { p.Eta = v },
			kit.Smoke(p, []float64{1}, []float64{1, .3, 3})...),
		lab.Vary(func(p *RunParams, v float64) { p.Alpha = v },
			kit.Smoke(p, []float64{1, 10, 100, 1000, 10000}, many)...),
		lab.Vary(func(p *RunParams, v int) { p.Repeat = v }, repeats...))
}

// reversed is the null in which utility falls with α_p: the values of the largest α_p stand at the smallest.
var reversed = kit.NullOf("values in reverse order", runOf, func(cells []runCell) {
	alphas := 1
	for alphas < len(cells) && cells[alphas].Params.Eta == cells[0].Params.Eta {
		alphas++
	}
	for line := range slices.Chunk(cells, alphas) {
		kit.Reverse(line)
	}
})

// beyondBounds is the null of plans that promise a tenth more than there is.
var beyondBounds = kit.Null("plans beyond their bounds", runOf, func(_ RunParams, v *RunOut) { v.Feasible *= 1.1 })

// trade is one point of the figure: parts of the optimum.
type trade struct {
	alpha, eta                         float64
	last, lastSD, feasible, feasibleSD float64
	repeats                            int
}

// trades are the points by η and α_p, in the order of the grid.
func trades(cells []runCell) (out [][]trade) {
	for _, same := range kit.Runs(cells,
		func(c runCell) [2]float64 { return [2]float64{c.Params.Eta, c.Params.Alpha} }) {
		p := same[0].Params
		t := trade{alpha: p.Alpha, eta: p.Eta, repeats: len(same)}
		t.last, t.lastSD = spread(same, func(o RunOut) float64 { return o.Last / o.Optimum })
		t.feasible, t.feasibleSD = spread(same, func(o RunOut) float64 { return o.Feasible / o.Optimum })
		if len(out) == 0 || out[len(out)-1][0].eta != p.Eta {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], t)
	}
	return out
}

func drawTradeOff(v runView) (lab.Exhibit, error) {
	lines := trades(v.Cells)
	axis := style.Axis{Label: "privacy of a round α_{p}", Log: true}
	both := style.Plot{X: axis, Y: style.Axis{Label: "utility / optimum", Max: 1.6}, Aspect: 1}
	etas := style.Plot{X: axis, Y: style.Axis{Label: "feasible utility / optimum", Min: .6, Max: 1.02}, Aspect: 1}
	both.Items = append(both.Items, style.Rule{At: 1})
	etas.Items = append(etas.Items, style.Rule{At: 1})
	table := kit.Table("utility", "Utility as a part of the optimum, mean ± standard deviation over the noise.",
		"η | α_p | last plan | feasible plan")
	for i, line := range lines {
		last, feasible := style.Line{Name: "last plan (the paper's)", Series: 1},
			style.Line{Name: "projected average", Series: 0, Marks: true}
		for _, t := range line {
			last.X, last.Y, last.Lo, last.Hi = append(last.X, t.alpha), append(last.Y, t.last),
				append(last.Lo, t.last-t.lastSD), append(last.Hi, t.last+t.lastSD)
			feasible.X, feasible.Y = append(feasible.X, t.alpha), append(feasible.Y, t.feasible)
			feasible.Lo, feasible.Hi = append(feasible.Lo, t.feasible-t.feasibleSD),
				append(feasible.Hi, t.feasible+t.feasibleSD)
			table.Rows = append(table.Rows, kit.Row("%v | %v | %.4f ± %.4f | %.4f ± %.4f", t.eta, t.alpha, t.last,
				t.lastSD, t.feasible, t.feasibleSD))
		}
		if i == 0 {
			both.Items = append(both.Items, last, feasible)
		}
		feasible.Name, feasible.Series, feasible.Lo, feasible.Hi = fmt.Sprintf("η = %g", line[0].eta), 3*i, nil, nil
		etas.Items = append(etas.Items, feasible)
	}
	return lab.Exhibit{
		Pictures: kit.Wide(style.Panels{Items: []style.Drawer{both, etas}, Letters: true},
			kit.Badge(v.Source, "%d repeats", lines[0][0].repeats),
			fmt.Sprintf(
				"Figure 2(c): social utility against α_p after %d rounds, ρ = 5; (a) η = %g, bands are one standard "+
					"deviation over the noise; the last plan is shown as the paper shows it, as it is: noise can "+
					"take it below 0 or beyond bounds, and so above the optimum; the average is projected onto the "+
					"feasible plans; (b) the feasible plan for several η. The paper's η and ρ are lost; noise "+
					"depends on ηα_p/ρ, so that ρ = 4 (integers 1..5 differ by 4) shifts both panels left by a "+
					"fifth.", v.Cells[0].Params.Rounds, lines[0][0].eta)),
		Tables: []lab.Table{table},
		Notes:  []string{privacyNote},
	}, nil
}

func claimTradeOff(v runView) ([]lab.Claim, error) {
	lines := trades(v.Cells)
	at, fall, over := map[float64]trade{}, math.Inf(-1), math.Inf(-1)
	for _, line := range lines {
		for i, t := range line {
			if line[0].eta == 1 {
				at[t.alpha] = t
			}
			over = max(over, t.feasible)
			if i > 0 {
				fall = max(fall, line[i-1].feasible-t.feasible)
			}
		}
	}
	n := math.Sqrt(float64(lines[0][0].repeats))
	return []lab.Claim{
		kit.AtMostWithin("most by which utility falls from one α_p to the next larger",
			"Figure 2(c): utility rises with α_p", fall, 0, 4*max(at[1].feasibleSD, at[10].feasibleSD)/n,
			"four standard errors of the mean at the strongest noise", reversed),
		kit.Near("utility at α_p = 1000 over the optimum", "section IV: close to Algorithm 1", at[1000].feasible, 1,
			.01, "close is taken as 1%", reversed),
		kit.NearUnless(tooFew(v.Preset), "last plan at α_p = 1000 over the optimum",
			"notes to the paper: 688.4 ± 1.4 of 688", at[1000].last, 1, .01,
			"a run of the reconstruction on another draw had 0.2%", nothingCarried),
		kit.AtMost("utility at α_p = 10 over the optimum, at most", "Figure 2(c): small α_p costs utility; notes: "+
			"616 of 688", at[10].feasible, .98, "a loss of at least 2%; a run of the reconstruction lost 10%",
			reversed),
		kit.AtMost("utility at α_p = 1 over that at 1000, at most", "Figure 2(c)",
			at[1].feasible/at[1000].feasible, .9, "“useless” in the notes: more than a tenth is lost",
			reversed),
		kit.Law(kit.AtMostWithin("the largest feasible utility over the optimum", "optimality", over, 1, 1e-9,
			"rounding of the repaired plan", beyondBounds)),
		asAccounted(noiseOf(v.Cells), halfNoise),
	}, nil
}
