package admm

import (
	"cmp"
	"fmt"
	"slices"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/gonum/floats"
)

// Plan is Figure 2(b): what each target receives, with and without privacy.
func Plan() lab.Study[RunParams, RunOut] {
	return lab.Study[RunParams, RunOut]{
		Name:  "admm/fig2b",
		Title: "What targets receive, with and without privacy",
		Shows: "Without noise targets get all they ask for, as long as sources last. With noise at α_p = 10 the " +
			"feasible plan leaves some of what sources have, and targets get less than they ask for, or the same " +
			"from sources that suit them less.",
		Sizes:      kit.Sizes("the paper's network, %v rounds", kit.Per{60, 200, 200, 200}),
		Seconds:    kit.ByPreset(.1, .1, .1, .1),
		Experiment: runOf,
		Grid:       planGrid,
		Draw:       drawPlan,
		Claims:     claimPlan,
	}
}

// planGrid is without noise and with the most of Figure 2(a).
func planGrid(set lab.Setting) []RunParams {
	grid := trajectoryGrid(set)
	return []RunParams{grid[0], grid[len(grid)-1]}
}

// freeNoise is the null of noise that takes nothing from targets and moves no utility.
var freeNoise = kit.NullOf("noise without effect", runOf, func(cells []runCell) {
	for i := range cells {
		cells[i].Value.Served, cells[i].Value.Social = cells[0].Value.Served, cells[0].Value.Social
	}
})

// unprojected is the null of a noisy plan that is handed out as it is: amounts are off by the
// noise, 1/ζ = ρ/α_p = 0.5 at α_p = 10.
var unprojected = kit.Null("a noisy plan that is not projected", runOf, func(p RunParams, v *RunOut) {
	if a := p.Alpha; a > 0 {
		v.Violation = slope / a
	}
})

// shownRows is how many targets fit.
const shownRows = 10

func drawPlan(v runView) (lab.Exhibit, error) {
	cells := v.Cells
	plain, noisy := cells[0].Value, cells[1].Value
	order := make([]int, targets)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(noisy.Served[a]-plain.Served[a], noisy.Served[b]-plain.Served[b])
	})
	order = order[:shownRows]
	panels := style.Panels{ShareY: true, Columns: 2}
	for k, c := range cells {
		p := style.Plot{
			Title:  alphaName(c.Params.Alpha),
			X:      style.Axis{Label: "target"},
			Y:      style.Axis{Max: 5.5},
			Aspect: .9,
		}
		if k == 0 {
			p.Y.Label = "amount"
		}
		below := make([]float64, shownRows)
		bars := make([]style.Bars, sources)
		for y := range sources {
			for i, x := range order {
				below[i] += c.Value.Plan[x*sources+y]
			}
			bars[y] = style.Bars{Name: fmt.Sprintf("from source %d", y+1), Y: slices.Clone(below), Series: y}
		}
		for _, x := range order {
			p.X.Names = append(p.X.Names, fmt.Sprint(x+1))
		}
		for y := sources - 1; y >= 0; y-- { // stacked: the highest behind
			p.Items = append(p.Items, bars[y])
		}
		asked := style.Points{Name: "asked for", Series: 5, Radius: 2.5}
		for i, x := range order {
			asked.X, asked.Y = append(asked.X, float64(i)), append(asked.Y, c.Value.Asked[x])
		}
		p.Items = append(p.Items, asked)
		panels.Items = append(panels.Items, p)
	}
	table := kit.Table("targets", "What each target asks for at most and what it receives.",
		"target | asks for | no noise | "+alphaText(cells[1].Params.Alpha))
	for x := range targets {
		table.Rows = append(table.Rows, kit.Row("%v | %.3f | %.3f | %.3f", x+1, plain.Asked[x], plain.Served[x],
			noisy.Served[x]))
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, roundsBadge(v),
			fmt.Sprintf(
				"Figure 2(b): amounts of the %d targets that lose most by noise, by source, and what they ask for "+
					"at most (points). Right: projection of the average over the last half of %d private rounds.",
				shownRows, cells[1].Params.Rounds)),
		Tables: []lab.Table{table},
		Notes:  []string{privacyNote},
	}, nil
}

func claimPlan(v runView) ([]lab.Claim, error) {
	plain, noisy := v.Cells[0].Value, v.Cells[1].Value
	least := 1.0
	for x := range targets {
		least = min(least, noisy.Served[x]/noisy.Asked[x])
	}
	return []lab.Claim{
		kit.Near("what all targets receive over what they ask for, or what sources have where that is less, without "+
			"noise",
			"section IV: “target node 12 can request at most 5 units, and does so when privacy is not added”",
			floats.Sum(plain.Served)/min(floats.Sum(plain.Asked), plain.Held), 1, 1e-6,
			"all utilities rise and all are joined, so nothing stays away; residuals 1e-8", nothingCarried),
		kit.AtLeast("what all targets receive with noise over what they receive without",
			"section IV: 4.2 units of 5 where noise is added",
			floats.Sum(noisy.Served)/floats.Sum(plain.Served), .5, "the one target that the paper names keeps 84%; "+
				"half leaves room for an α_p that is lost", nothingCarried),
		kit.AtMost("the least that a target receives over what it asks for, with noise",
			"section IV: “it only requests and receives 4.2 units” of 5", least, .95,
			"a loss that can be seen, for some target; the paper's α_p is lost", freeNoise),
		kit.AtMost("most by which the feasible plan with noise misses a bound", "post-processing",
			noisy.Violation, 1e-6, "residual 1e-8 of the projection, over plans of size 100", unprojected),
		asAccounted(noiseOf(v.Cells), halfNoise),
	}, nil
}
