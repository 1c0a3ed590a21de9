package admm

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"coupling/dp/admm"
	"coupling/dp/admm/central"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
)

// Convergence is the number of rounds against size, density and η, and the time of a round.
func Convergence() lab.Study[SpeedParams, SpeedOut] {
	return lab.Study[SpeedParams, SpeedOut]{
		Name:  "admm/convergence",
		Title: "Rounds to converge, over size, density and η",
		Shows: "Rounds to residuals of 1e-4 grow slowly with the network, and depend on η within a wide " +
			"valley; the time of a round is linear in the number of edges.",
		Sizes: kit.Sizes("up to %v edges%v", kit.Per{"1,000", "10,000", "100,000", "100,000"},
			kit.Per{"", ", 2 draws", ", 3 draws", ", 5 draws"}),
		Seconds:    kit.ByPreset(1., 5, 200, 330),
		Experiment: speedOf,
		Grid:       func(set lab.Setting) []SpeedParams { return speedGrid(set, "size") },
		Also:       []lab.Cells{byDensity, byPenalty},
		Draw:       drawConvergence,
		Claims:     claimConvergence,
	}
}

// stoppedEarly is the null of runs that stop early, in rounds that grow with the network.
var stoppedEarly = kit.Null("runs that stop early, in rounds that grow with the network", speedOf,
	func(_ SpeedParams, v *SpeedOut) {
		n := float64(v.Edges)
		*v = SpeedOut{Edges: v.Edges, Rounds: v.Edges, Status: admm.RoundLimit.String(), Short: 1, Seconds: n * n}
	})

// SpeedParams is one network: Targets = 10·Sources, each pair joined with probability Density.
type SpeedParams struct {
	Sources int     `json:"sources" min:"1" doc:"sources; there are ten times as many targets"`
	Density float64 `json:"density" min:">0" max:"1" doc:"probability that a pair is joined"`
	Eta     float64 `json:"eta" min:">0" doc:"penalty η"`
	Tol     float64 `json:"tol" min:">0" doc:"residual at which the run stops"`
	Draw    int     `json:"draw" min:"0" doc:"number of the draw of the network"`
}

// SpeedOut is what came of a run, and the time of a round.
type SpeedOut struct {
	Edges   int     `json:"edges"`
	Rounds  int     `json:"rounds"`
	Status  string  `json:"status"`
	Short   float64 `json:"short"`   // of the optimum, of the repaired plan, relative
	Seconds float64 `json:"seconds"` // the fastest round, on one thread
}

var speedOf = lab.Experiment[SpeedParams, SpeedOut]{
	Name: "admm/speed", Version: 2,
	Run: func(ctx context.Context, c *lab.Cell, p SpeedParams) (SpeedOut, error) {
		rng := c.Rand(fmt.Sprintf("network/%d", p.Draw))
		g := admm.Complete(10*p.Sources, p.Sources)
		if p.Density < 1 {
			g = lab.Must(admm.Random(rng, 10*p.Sources, p.Sources, p.Density))
		}
		prob := market(rng, g)
		a := admm.ADMM{Eta: p.Eta, Tol: p.Tol, MaxRounds: 20_000, Workers: 1}
		r := lab.Must(a.Solve(ctx, prob))
		out := SpeedOut{Edges: len(g.Edges), Rounds: r.Rounds, Status: r.Status.String()}
		out.Seconds = roundSeconds(ctx, a, prob)
		best := lab.Must(central.Solve(ctx, prob))
		out.Short = (best.Value - prob.Utility(prob.Repair(r.Plan))) / best.Value
		return out, nil
	},
}

// roundSeconds is the processor time of a round: what more rounds take longer, without what comes before the first, of
// the fastest of several runs.
func roundSeconds(ctx context.Context, a admm.ADMM, prob admm.Problem) float64 {
	few := max(4, 100_000/len(prob.Graph.Edges))
	a.Tol = 1e-300
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fastest := [2]float64{math.Inf(1), math.Inf(1)}
	for range 4 {
		for i, rounds := range [2]int{few, 3 * few} {
			a.MaxRounds = rounds
			began := kit.CPUSeconds()
			lab.Must(a.Solve(ctx, prob))
			fastest[i] = min(fastest[i], kit.CPUSeconds()-began)
		}
	}
	return max(fastest[1]-fastest[0], 1e-9) / float64(2*few)
}

// The networks of panels (b) and (c).
var (
	byDensity = lab.Part[SpeedParams, SpeedOut]{Experiment: speedOf,
		Grid: func(set lab.Setting) []SpeedParams { return speedGrid(set, "density") }}
	byPenalty = lab.Part[SpeedParams, SpeedOut]{Experiment: speedOf,
		Grid: func(set lab.Setting) []SpeedParams { return speedGrid(set, "penalty") }}
)

// speedGrid varies the size, the density or the penalty η, and, fastest, the draw.
func speedGrid(set lab.Setting, what string) []SpeedParams {
	p := set.Preset
	base := SpeedParams{Sources: lab.Pick(p, 4, 18, 30, 30), Density: 1, Eta: 1, Tol: 1e-4}
	all := []int{3, 5, 10, 18, 32, 56, 100}
	axis := lab.Vary(func(p *SpeedParams, n int) { p.Sources = n }, all[:lab.Pick(p, 3, 5, 7, 7)]...)
	switch what {
	case "density":
		many := []float64{.05, .1, .2, .4, .7, 1}
		axis = lab.Vary(func(p *SpeedParams, x float64) { p.Density = x },
			lab.Pick(p, []float64{.3, 1}, many[1:], many, many)...)
	case "penalty":
		base.Sources = lab.Pick(p, 4, 10, 10, 10)
		many := []float64{.03, .1, .2, .5, 1, 2, 5, 10, 30}
		axis = lab.Vary(func(p *SpeedParams, x float64) { p.Eta = x },
			lab.Pick(p, []float64{.3, 1, 3}, many, many, many)...)
	}
	return lab.Grid(base, axis, lab.Vary(func(p *SpeedParams, d int) { p.Draw = d },
		kit.Count(lab.Pick(p, 1, 2, 3, 5))...))
}

// speedLine is the mean over draws of a number, against another.
func speedLine(cells []speedCell, x func(SpeedParams, SpeedOut) float64,
	y func(SpeedOut) float64) style.Line {
	network := func(c speedCell) SpeedParams {
		c.Params.Draw = 0
		return c.Params
	}
	return kit.Line(style.Line{Marks: true}, kit.Runs(cells, network),
		func(same []speedCell) (mx, my float64) {
			mx, _ = spread(same, func(o SpeedOut) float64 { return x(same[0].Params, o) })
			my, _ = spread(same, y)
			return mx, my
		})
}

// panelCells returns the cells of the panels.
func panelCells(v lab.View[SpeedParams, SpeedOut]) (size, density, eta []speedCell) {
	return v.Cells, byDensity.View(v.Source).Cells, byPenalty.View(v.Source).Cells
}

func drawConvergence(v lab.View[SpeedParams, SpeedOut]) (lab.Exhibit, error) {
	size, density, eta := panelCells(v)
	rounds := func(o SpeedOut) float64 { return float64(o.Rounds) }
	edges := func(_ SpeedParams, o SpeedOut) float64 { return float64(o.Edges) }
	panel := func(x string, y string, l style.Line) style.Plot {
		p := style.Plot{X: style.Axis{Label: x, Log: true}, Y: style.Axis{Label: y, Log: true}, Aspect: .8}
		p.Items = append(p.Items, l)
		return p
	}
	tol := v.Cells[0].Params.Tol
	to := fmt.Sprintf("rounds to %g", tol)
	panels := style.Panels{Letters: true, Columns: 2, Items: []style.Drawer{
		panel("edges", to, speedLine(size, edges, rounds)),
		panel("density", to, speedLine(density, func(p SpeedParams, _ SpeedOut) float64 { return p.Density }, rounds)),
		panel("penalty η", to, speedLine(eta, func(p SpeedParams, _ SpeedOut) float64 { return p.Eta }, rounds)),
		panel("edges", "time of a round (s)", speedLine(size, edges, func(o SpeedOut) float64 { return o.Seconds })),
	}}
	table := lab.Table{Name: "runs",
		Caption: "Each run: how far the repaired plan is below the optimum of the linear program, relative.",
		Header:  []string{"targets × sources", "density", "η", "edges", "rounds", "below", "µs a round", "status"}}
	for _, c := range slices.Concat(size, density, eta) {
		p, v := c.Params, c.Value
		table.Rows = append(table.Rows, []string{fmt.Sprintf("%d × %d", 10*p.Sources, p.Sources), fmt.Sprint(p.Density),
			fmt.Sprint(p.Eta), fmt.Sprint(v.Edges), fmt.Sprint(v.Rounds), fmt.Sprintf("%.2g", v.Short),
			fmt.Sprintf("%.0f", 1e6*v.Seconds), v.Status})
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels,
			v.Badge(fmt.Sprintf("≤ %d edges, %d draws", size[len(size)-1].Value.Edges,
				size[len(size)-1].Params.Draw+1)),
			fmt.Sprintf(
				"Rounds until both residuals are %g, linear utilities of slope 1..5: (a) complete networks of ten "+
					"targets a source, η = %g; (b) %d × %d nodes, pairs joined at random; (c) complete, %d × %d, "+
					"over η; (d) time of a round on one thread, without set-up, the fastest of four runs.",
				tol, size[0].Params.Eta, 10*density[0].Params.Sources, density[0].Params.Sources,
				10*eta[0].Params.Sources, eta[0].Params.Sources)),
		Tables: []lab.Table{table},
		Notes:  []string{"Times belong to the machine in the manifest and to how busy it was."},
	}, nil
}

func claimConvergence(v lab.View[SpeedParams, SpeedOut]) ([]lab.Claim, error) {
	size, density, eta := panelCells(v)
	unconverged, short := 0.0, math.Inf(-1)
	for _, c := range slices.Concat(size, density, eta) {
		if c.Value.Status != admm.Converged.String() {
			unconverged++
		}
		short = max(short, math.Abs(c.Value.Short))
	}
	first, last := size[0].Value, size[len(size)-1].Value
	tooShort := lab.Pick(v.Preset, "times of microseconds", "", "", "")
	return []lab.Claim{
		{
			What:   "runs that did not converge in 20,000 rounds",
			Source: "section II-B: the iterations converge",
			Got:    unconverged,
			Want:   0,
			Why:    "counted",
			Null:   stoppedEarly,
		},
		kit.AtMost("most that a repaired plan is below the optimum, relative", "residuals of 1e-4",
			short, 2e-3, "amounts that are off by 1e-4 of their size, times slopes that differ by up "+
				"to 10", stoppedEarly),
		kit.AtMost("rounds at the largest network over those at the smallest",
			"abstract: “computationally efficient for large-scale”",
			float64(last.Rounds)/float64(first.Rounds),
			math.Sqrt(float64(last.Edges)/float64(first.Edges)), "grows more slowly than the root of "+
				"the number of edges", stoppedEarly),
		kit.AtMostUnless(tooShort, "time of a round over edges, largest over smallest network",
			"O(d log d) a node",
			(last.Seconds/float64(last.Edges))/(first.Seconds/float64(first.Edges)), 4,
			"linear but for caches, the logarithm and a busy machine", stoppedEarly),
	}, nil
}

// speedCell is a finished cell.
type speedCell = lab.Result[SpeedParams, SpeedOut]
