package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"coupling/data"
	"coupling/data/synth"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
)

// Three programs that people write first, of at most thirty lines each; the third, DP-SGD on rows of one's own, is
// the example of package dp/sgd.

// A sweep of one's own, and its figure.
func Example_sweepWithFigure() {
	type params struct{ Eps float64 }
	spread := lab.Experiment[params, float64]{Name: "docs/spread", Version: 1,
		Run: func(ctx context.Context, c *lab.Cell, p params) (float64, error) {
			x, err := synth.Moons(c.Rand("points"), 40, .1)
			if err != nil {
				return 0, err
			}
			plan, err := ot.Solve(ctx, ot.Problem{Geometry: ot.Points(x, x, ot.SqEuclidean)}, p.Eps)
			if err != nil {
				return 0, err
			}
			return plan.Sharp(), nil
		}}
	dir, _ := os.MkdirTemp("", "own")
	defer os.RemoveAll(dir)
	store, _ := lab.OpenStore(filepath.Join(dir, ".coupling")) // "" for the project's
	line := style.Line{Marks: true}
	for r, err := range lab.Sweep(ctx, store, spread, 0, 1,
		lab.Grid(params{}, lab.Vary(func(p *params, v float64) { p.Eps = v }, .01, .1, 1))) {
		if err != nil {
			log.Fatal(err)
		}
		line.X, line.Y = append(line.X, r.Params.Eps), append(line.Y, r.Value)
	}
	fig := style.Figure{Body: style.Plot{X: style.Axis{Label: "ε", Log: true}, Y: style.Axis{Label: "⟨T, c⟩"},
		Items: []plot.Plotter{line}}}
	var picture bytes.Buffer
	fmt.Println(fig.Save(&picture, "png"), line.Y[0] < line.Y[2])
	// Output: <nil> true
}

// Where an entropic plan sends points of one's own: SCONES.
func Example_ownPoints() {
	dir, _ := os.MkdirTemp("", "own")
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "x.csv") // CSV, TSV, text or NPY
	if err := os.WriteFile(file, []byte("a,b\n0,0\n1,0\n0,1\n1,1\n"), 0o666); err != nil {
		log.Fatal(err)
	}
	x, err := data.ReadPoints(file)
	if err != nil {
		log.Fatal(err)
	}
	var y mat.Dense
	y.Apply(func(_, _ int, v float64) float64 { return v + 10 }, x)
	rng := rand.New(rand.NewPCG(1, 1))
	fitted, err := scones.Fit{Lambda: .1, Bandwidth: .1}.Run(ctx, rng, x, &y)
	if err != nil {
		log.Fatal(err)
	}
	samples, err := fitted.Sample(ctx, rng, x, 100) // 100 of each point, one after the other
	if err != nil {
		log.Fatal(err)
	}
	mean := mat.Sum(samples.Slice(0, 100, 0, 2)) / 200
	fmt.Printf("%v, (0, 0) goes to (%.0f, %.0f) on average\n", fitted.Plan.Status, mean, mean)
	// Output: converged, (0, 0) goes to (10, 10) on average
}
