package admm

import (
	"fmt"
	"slices"
	"strings"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
)

// Trajectory is Figure 2(a): the social utility over rounds.
func Trajectory() lab.Study[RunParams, RunOut] {
	return lab.Study[RunParams, RunOut]{
		Name:  "admm/fig2a",
		Title: "Social utility over rounds, with and without privacy",
		Shows: "Algorithm 1 settles at the optimum of the linear program. Algorithm 2 oscillates about it, hardly " +
			"at α_p = 1000 and wildly at α_p = 10; the average of the last rounds, projected, is a plan that can be " +
			"carried out.",
		Sizes:      kit.Sizes("the paper's network, %v rounds", kit.Per{60, 200, 200, 200}),
		Seconds:    kit.ByPreset(.3, .5, .5, .5),
		Experiment: runOf,
		Grid:       trajectoryGrid,
		Draw:       drawTrajectory,
		Claims:     claimTrajectory,
	}
}

// shownAlphas are Algorithm 1 and the α_p of Figure 2(a): the paper has 1000 and a small one, which is lost.
var shownAlphas = []float64{0, 1000, 100, 10}

func roundsOf(p lab.Preset) int { return kit.Smoke(p, 60, 200) }

// roundsBadge marks runs that are shorter than the paper's.
func roundsBadge(v runView) string {
	if n := v.Cells[0].Params.Rounds; n < roundsOf(lab.Paper) {
		return v.Badge(fmt.Sprintf("%d rounds", n))
	}
	return ""
}

// tooFew says why last plans of the shortest runs are not asked about.
func tooFew(p lab.Preset) string {
	if p == lab.Smoke {
		return "60 rounds: Algorithm 1 itself need not be there"
	}
	return ""
}

func trajectoryGrid(set lab.Setting) []RunParams {
	base := RunParams{Eta: 1, Rounds: roundsOf(set.Preset)}
	return lab.Grid(base, lab.Vary(func(p *RunParams, a float64) { p.Alpha = a }, shownAlphas...))
}

// alphaName stands in legends.
func alphaName(alpha float64) string {
	if alpha == 0 {
		return "no noise"
	}
	return fmt.Sprintf("α_{p} = %g", alpha)
}

// alphaText stands in tables.
func alphaText(alpha float64) string {
	return strings.NewReplacer("{", "", "}", "").Replace(alphaName(alpha))
}

func drawTrajectory(v runView) (lab.Exhibit, error) {
	cells := v.Cells
	optimum := cells[0].Value.Optimum
	whole := style.Plot{X: style.Axis{Label: "round"}, Y: style.Axis{Label: "social utility", Include: []float64{0}},
		Aspect: .8}
	near := style.Plot{X: style.Axis{Label: "round"},
		Y: style.Axis{Label: "social utility", Min: .97 * optimum, Max: 1.03 * optimum}, Aspect: .8}
	items := []plot.Plotter{style.Line{
		Name:   "optimum (linear program)",
		X:      []float64{0, float64(cells[0].Params.Rounds)},
		Y:      []float64{optimum, optimum},
		Series: 4,
		Color:  style.DarkGrey,
	}}
	table := kit.Table("ends",
		"Where each run ends: the utility of the last plan and of the feasible plan, that is the projection of the "+
			"average over the last half of the rounds.",
		"run | last | feasible | optimum | below %")
	series := []int{0, 1, 4, 5} // colours that are far from each other and from the optimum's
	order := make([]int, len(cells))
	for i := range order { // the calm ones on top; the run without noise is dashed, so that what it covers is seen
		order[i] = (len(cells) - i) % len(cells)
	}
	for _, i := range append(order[1:], 0) {
		c := cells[i]
		line := style.Line{
			Name:   alphaName(c.Params.Alpha),
			Series: series[i%len(series)],
			Y:      slices.Clone(c.Value.Social),
			Solid:  i > 0,
		}
		for len(line.Y) < c.Params.Rounds { // Algorithm 1 has converged, and stays
			line.Y = append(line.Y, c.Value.Last)
		}
		line.X = floats.Span(make([]float64, len(line.Y)), 1, float64(len(line.Y)))
		if i == 0 {
			line.Series, line.Color = 1, style.Black
		}
		items = append(items, line)
	}
	whole.Items, near.Items = items, items[:1:1]
	near.Items = append(near.Items, items[2:]...)
	for _, c := range cells {
		v := c.Value
		table.Rows = append(table.Rows, kit.Row("%s | %.2f | %.2f | %.2f | %.3g", alphaText(c.Params.Alpha), v.Last,
			v.Feasible, v.Optimum, 100*(v.Optimum-v.Feasible)/v.Optimum))
	}
	return lab.Exhibit{
		Pictures: kit.Wide(style.Panels{Items: []style.Drawer{whole, near}}, roundsBadge(v),
			fmt.Sprintf(
				"Figure 2(a): social utility of the plan after each round. Right: the same within 3%% of the "+
					"optimum, without the strongest noise; η = %g, ρ = %d, %d sources and %d targets. The paper's "+
					"small α_p is lost; two others stand for it.",
				cells[0].Params.Eta, slope, sources, targets)),
		Tables: []lab.Table{table},
		Notes:  []string{privacyNote},
	}, nil
}

// privacyNote stands wherever an α_p does.
const privacyNote = "α_p is the ε of one round for one utility parameter of one node. All rounds together cost what " +
	"the figure admm/cost says, up to the sum; bounds are not protected, several parameters cost more, and an α_p " +
	"of hundreds protects nothing."

func claimTrajectory(view runView) ([]lab.Claim, error) {
	plain, loud := view.Cells[0].Value, view.Cells[1].Value
	null := nothingCarried
	violation := lab.Most(view.Cells, func(c runCell) float64 { return c.Value.Violation })
	return []lab.Claim{
		kit.Near("root mean square of utility about the optimum at α_p = 100, last half of the rounds, over that of "+
			"the noise of one round", "Theorem 1: density ∝ exp(−ζ‖ξ‖), ζ = ηα_p/ρ",
			view.Cells[2].Value.wobble()/view.Cells[2].Params.wobble(), 1, .5, "prices carry a part of the noise "+
				"into the next rounds: 1.1 to 1.3 here", freeNoise),
		kit.AtMost("most by which a feasible plan misses a bound", "post-processing", violation, 1e-6,
			"residual 1e-8 of the projection, over plans of size 100", unprojected),
		kit.Near("utility of Algorithm 1 over the optimum of the linear program",
			"section II-B: ADMM converges to the solution of (1)", plain.Feasible/plain.Optimum, 1, 1e-6,
			"residuals are asked to be 1e-8", null),
		kit.Law(kit.AtMost("what the optimum of the linear program may be wrong by, relative", "duality",
			plain.Gap/plain.Optimum, 1e-9, "a certificate in float64", null)),
		kit.AtMost("round from which on Algorithm 1 stays within 1% of the optimum", "Figure 2(a)",
			plain.within(.01), 100, "the paper's axis is lost; other draws take from 19 to 64 rounds",
			null),
		kit.Near("utility at α_p = 1000 over the optimum",
			"section IV: “when α is large, the social utility is close to the one returned by Algorithm 1”",
			loud.Feasible/loud.Optimum, 1, .01, "close is taken as 1%", null),
		kit.NearUnless(tooFew(view.Preset), "utility of the last plan at α_p = 1000 over the optimum",
			"Figure 2(a): converges approximately", loud.Last/loud.Optimum, 1, .01, "close is taken as 1%", null),
		asAccounted(noiseOf(view.Cells), halfNoise),
	}, nil
}
