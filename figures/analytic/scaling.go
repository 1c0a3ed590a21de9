package analytic

import (
	"fmt"
	"slices"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"
)

// Scaling is the time that each solver takes to a fixed accuracy, over the size of the problem and over ε.
func Scaling() lab.Study[ConvergenceParams, ConvergenceOut] {
	return lab.Study[ConvergenceParams, ConvergenceOut]{
		Name:  "analytic/scaling",
		Title: "Time to a fixed accuracy, over n and over ε",
		Shows: "Every solver takes about n² a pass, and L-BFGS takes few passes; over ε, the passes of Sinkhorn's " +
			"algorithm grow like 1/ε while those of L-BFGS and Newton's method hardly grow, until exact transport " +
			"by the network simplex is as fast.",
		Sizes: kit.Sizes("n up to %v, %v values of ε%v, at most %v passes a solver", kit.Per{128, 512, 1024, 4096},
			kit.Per{4, 7, 7, 10},
			kit.Per{"", " at n = 256", " at n = 512", " at n = 2048"}, kit.Per{2000, 5000, 5000, 5000}),
		Seconds:    kit.ByPreset(3., 5, 40, 2000),
		Experiment: convergenceOf,
		Grid:       scalingGrid,
		Also:       []lab.Cells{overEps},
		Draw:       drawScaling,
		Claims:     claimScaling,
	}
}

// scalingBase is what all cells of the figure have in common.
func scalingBase(set lab.Setting) ConvergenceParams {
	return ConvergenceParams{
		Tol:    1e-6,
		Passes: kit.Smoke(set.Preset, 2000, 5000),
		Repeat: 6,
		Exact:  true,
		Device: beside(set.Device),
	}
}

// scalingGrid varies the size of the problem.
func scalingGrid(set lab.Setting) []ConvergenceParams {
	ns, base := []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096}, scalingBase(set)
	base.Ratios = []float64{.01}
	return lab.Grid(base, lab.Vary(func(p *ConvergenceParams, n int) { p.N = n },
		lab.Pick(set.Preset, ns[:4], ns[1:6], ns[1:7], ns[2:])...))
}

// overEps is one problem at several ε.
var overEps = lab.Part[ConvergenceParams, ConvergenceOut]{Experiment: convergenceOf,
	Grid: func(set lab.Setting) []ConvergenceParams {
		base := scalingBase(set)
		base.N, base.Ratios = lab.Pick(set.Preset, 128, 256, 512, 2048),
			kit.Decades(lab.Pick(set.Preset, 4, 7, 7, 10), 0, -3)
		return []ConvergenceParams{base}
	}}

// likeSinkhorn is the null of solvers whose passes grow like 1/ε, and are used up.
var likeSinkhorn = kit.Null("passes that grow like 1/ε", convergenceOf, func(_ ConvergenceParams, v *ConvergenceOut) {
	for k := range v.Runs {
		r := &v.Runs[k]
		r.Passes, r.Status = int(10/max(r.Ratio, 1e-6)), passLimit
	}
})

// scalingRun is a run, and the size of its problem.
type scalingRun struct {
	ConvergenceRun
	n int
}

func scalingRuns(cells []lab.Result[ConvergenceParams, ConvergenceOut]) (out []scalingRun) {
	for _, c := range cells {
		for _, r := range c.Value.Runs {
			out = append(out, scalingRun{r, c.Params.N})
		}
	}
	return out
}

func drawScaling(v convergenceView) (lab.Exhibit, error) {
	cell := overEps.View(v.Source).Cells[0]
	p, sizes, ratios := cell.Params, scalingRuns(v.Cells), scalingRuns(overEps.View(v.Source).Cells)
	byN := style.Plot{
		Title: fmt.Sprintf("ε = %g × mean cost", v.Cells[0].Params.Ratios[0]),
		X:     style.Axis{Label: "n", Log: true}, Y: style.Axis{Label: "time", Unit: "s", Log: true},
	}
	byEps := style.Plot{
		Title: fmt.Sprintf("n = %d", p.N),
		X:     style.Axis{Label: "ε / mean cost", Log: true}, Y: style.Axis{Log: true},
	}
	for _, r := range cell.Value.Runs {
		if r.Ratio == p.Ratios[0] {
			byN.Items = append(byN.Items, scalingLine(sizes, r.Solver,
				func(r scalingRun) float64 { return float64(r.n) }))
			byEps.Items = append(byEps.Items, scalingLine(ratios, r.Solver,
				func(r scalingRun) float64 { return r.Ratio }))
		}
	}
	simplex := scalingLine(sizes, simplexName, func(r scalingRun) float64 { return float64(r.n) })
	simplex.Color, simplex.Marks, simplex.Solid = style.DarkGrey, false, true
	byN.Items = append(byN.Items, simplex)
	byEps.Items = append(byEps.Items, style.Rule{At: cell.Value.Runs[len(cell.Value.Runs)-1].last(), Label: "exact"})
	table := lab.Table{Name: "times",
		Caption: "Each run: seconds, passes over the costs (pivots for the simplex), and how it ended.",
		Header:  []string{"n", "ε / mean cost", "solver", "seconds", "passes", "status"}}
	for _, r := range slices.Concat(sizes, ratios) {
		ratio := "exact"
		if r.Ratio > 0 {
			ratio = fmt.Sprintf("%.2g", r.Ratio)
		}
		table.Rows = append(table.Rows, kit.Row("%v | %s | %s | %.2e | %v | %s", r.n, ratio, r.Solver, r.last(),
			r.Passes, r.Status))
	}
	return lab.Exhibit{
		Pictures: kit.Wide(style.Panels{Items: []style.Drawer{byN, byEps}, Letters: true, ShareY: true},
			v.Badge(fmt.Sprintf("n ≤ %d", v.Cells[len(v.Cells)-1].Params.N)),
			fmt.Sprintf(
				"Time to an L1 marginal error of %g, costs in memory, float64, points in the plane. %s Points are "+
					"missing where a solver did not converge in %d passes or refused.",
				p.Tol, onMachine(cell.Manifest, p.Device), p.Passes)),
		Tables: []lab.Table{table},
	}, nil
}

// scalingLine is a solver's time over a quantity.
func scalingLine(runs []scalingRun, solver string, at func(scalingRun) float64) style.Line {
	of := slices.DeleteFunc(slices.Clone(runs), func(r scalingRun) bool { return r.Solver != solver })
	return kit.Line(style.Line{Name: solver, Series: seriesOf(solver), Marks: true}, of,
		func(r scalingRun) (x, y float64) { return at(r), r.last() })
}

func claimScaling(v convergenceView) ([]lab.Claim, error) {
	p, ratios := overEps.View(v.Source).Cells[0].Params, scalingRuns(overEps.View(v.Source).Cells)
	unconverged, passes := 0.0, map[float64]float64{}
	for _, r := range slices.Concat(scalingRuns(v.Cells), ratios) {
		if (r.Solver == "L-BFGS" || r.Solver == "Newton") && r.Status != ot.Converged.String() {
			unconverged++
		}
	}
	for _, r := range ratios {
		if r.Solver == "L-BFGS" {
			passes[r.Ratio] = float64(r.Passes)
		}
	}
	last := p.Ratios[len(p.Ratios)-1]
	grows := passes[last] / passes[p.Ratios[0]]
	return []lab.Claim{
		kit.Near("solves in which L-BFGS or Newton's method used up its passes",
			"“efficient and stable”: introduction", unconverged, 0, 0, "counted over all sizes and ε", likeSinkhorn),
		kit.AtMost("passes of L-BFGS at the smallest ε over those at the largest",
			"passes of Sinkhorn's algorithm grow like 1/ε: Franklin and Lorenz 1989; Dvurechensky et al. 2018", grows,
			0.2*p.Ratios[0]/last, "far from a growth like 1/ε; counted, not timed",
			likeSinkhorn),
	}, nil
}
