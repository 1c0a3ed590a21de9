package analytic

import (
	"fmt"
	"math"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/gonum/mat"
)

// Plans is what the solvers' plans look like at small ε.
func Plans() lab.Study[PrecisionParams, PrecisionOut] {
	return lab.Study[PrecisionParams, PrecisionOut]{
		Name:  "analytic/plans",
		Title: "Transport plans at small ε",
		Shows: "The same setting as analytic/precision, as pictures: kernel scaling returns nothing, or a plan that " +
			"looks plausible and is wrong, and so does log-domain Sinkhorn that stops too early; the right plan is " +
			"a thin monotone curve.",
		Sizes: kit.Sizes("%v × %v atoms, %v values of ε, %v iterations", kit.Per{60, 200, 200, 1000},
			kit.Per{50, 160, 160, 800}, kit.Per{3, 4, 4, 4}, kit.Per{300, 1000, 1000, 1000}),
		Seconds:    kit.ByPreset(.3, 2, 2, 30),
		Experiment: precisionOf,
		Grid:       plansGrid,
		Draw:       drawPlans,
		Claims:     claimPlans,
	}
}

func plansGrid(set lab.Setting) []PrecisionParams {
	p := set.Preset
	base := PrecisionParams{
		N:          lab.Pick(p, 60, 200, 200, 1000),
		M:          lab.Pick(p, 50, 160, 160, 800),
		Iterations: kit.Smoke(p, 300, 1000),
		Plans:      true,
	}
	ratios := []float64{.03, .01, .001, .0003}
	return lab.Grid(base, lab.Vary(func(p *PrecisionParams, r float64) { p.Ratio = r },
		kit.Smoke(p, ratios[1:], ratios)...))
}

// planRows are the rows of the picture: artifacts and their labels.
var planRows = [][2]string{
	{"scaling32", "scaling float32"},
	{"scaling64", "scaling float64"},
	{"log", "log-domain"},
	{"lbfgs", "L-BFGS"},
}

func drawPlans(v precisionView) (lab.Exhibit, error) {
	cells := v.Cells
	first := cells[0].Params
	scale := style.Scale{Log: true, Lo: 1e-4, Hi: 1}
	panels := style.Panels{Columns: len(cells), Bar: &style.ColorBar{Scale: scale,
		Label: "share of the source's mass (grey: NaN); off: share of all mass in the wrong place"}, Gap: 6}
	for i, row := range planRows {
		for _, c := range cells {
			t := kit.Matrix(c.Open, row[0]+".npy")
			h := style.HeatMap{
				M: shares(t, exponential(first.N, first.M).A), Scale: scale, NoBar: true, NoTicks: true,
				Title: row[1] + ": " + misplaced(c.Value.Solver[row[0]].Plan/2),
			}
			if i == 0 {
				h.Title = fmt.Sprintf("\\b{ε = %g × mean cost}\n%s", c.Params.Ratio, h.Title)
			}
			panels.Items = append(panels.Items, h)
		}
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, v.Badge(fmt.Sprintf("%d × %d atoms", first.N, first.M)),
			fmt.Sprintf(
				"Plans after at most %d iterations, sources (an exponential density) across, targets (a mixture of "+
					"two normals) up; grey is not a number (NaN). Above each, the share of the mass that is in the "+
					"wrong place, ½ Σ|T − T*|.", first.Iterations)),
	}, nil
}

// shares divides the mass of each source by its weight; sources run across and targets up.
func shares(t *mat.Dense, a []float64) *mat.Dense {
	n, m := t.Dims()
	out := mat.NewDense(m, n, nil)
	for i, w := range a {
		for j := range m {
			out.Set(m-1-j, i, t.At(i, j)/w)
		}
	}
	return out
}

// misplaced writes the share of the mass that is in the wrong place for a title.
func misplaced(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case x < 1e-6:
		return fmt.Sprintf("%.0e off", x)
	}
	return fmt.Sprintf("%.2g%% off", 100*x)
}

func claimPlans(v precisionView) ([]lab.Claim, error) {
	cells := v.Cells
	last := cells[len(cells)-1]
	off := last.Value.Solver["scaling64"].Plan
	if math.IsNaN(off) {
		off = 2
	}
	return []lab.Claim{
		kit.AtMostWithin("largest step back of the barycentric projection at the smallest ε",
			"transport on the line is monotone", last.Value.Solver["lbfgs"].Fall, 0, 1e-5*float64(last.Params.M),
			"a law; weights of 1e-9 leave some digits of a plan that is solved to 1e-13", wrongPlans),
		kit.AtLeast("mass that kernel scaling puts in the wrong place at the smallest ε",
			"“can quickly lose precision”: introduction", off/2, 0.01,
			"exp(−c/ε) underflows; not a number counts as all mass", rightPlans),
		kit.AtMost("mass that L-BFGS puts in the wrong place at the smallest ε, log₁₀",
			"“accurate”: abstract", math.Log10(last.Value.Solver["lbfgs"].Plan/2), -6,
			"see analytic/precision", wrongPlans),
	}, nil
}
