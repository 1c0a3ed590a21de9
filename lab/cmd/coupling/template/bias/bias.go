// Package bias asks how far the sharp entropic loss between two samples of one
// Gaussian is from the distance of their source to itself, which is 0.
package bias

import (
	"context"
	"fmt"

	"coupling/data/synth"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"
)

// Params are what changes the number, and nothing else: they and the seed are its key.
type Params struct {
	N   int     `json:"n" min:"1" doc:"points of a sample"`
	Eps float64 `json:"eps" min:">0" doc:"regularisation ε, in units of the cost"`
}

// Bias is the experiment: ⟨T, c⟩ of two samples.
var Bias = lab.Experiment[Params, float64]{Name: "own/bias", Version: 1, Run: run}

func run(ctx context.Context, c *lab.Cell, p Params) (float64, error) {
	// Must ends the cell where there is an error, with that error.
	x, y := lab.Must(synth.Normal(c.Rand("x"), p.N, 2)), lab.Must(synth.Normal(c.Rand("y"), p.N, 2))
	return lab.Must(ot.Solve(ctx, ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}, p.Eps)).Sharp(), nil
}

// Study is its figure: the loss over ε, mean ± standard error over seeds.
func Study() lab.Study[Params, float64] {
	return lab.Study[Params, float64]{
		Name: "own/bias", Title: "Entropic bias", Experiment: Bias, Seeds: lab.Replicates(2, 3, 5, 5), Claims: claims,
		Sizes: map[lab.Preset]string{lab.Smoke: "n = 20", lab.Quick: "n = 100", lab.Full: "n = 500"},
		Grid: func(set lab.Setting) []Params {
			eps := lab.Vary(func(p *Params, v float64) { p.Eps = v }, .01, .1, 1, 10, 100)
			return lab.Grid(Params{N: lab.Pick(set.Preset, 20, 100, 500, 500)}, eps)
		},
		Draw: func(v lab.View[Params, float64]) (lab.Exhibit, error) {
			loss := style.Over(v.Cells, "eps", func(loss float64) float64 { return loss })
			p := style.Plot{X: style.Axis{Label: "ε", Log: true}, Y: style.Axis{Label: "sharp loss"}, Items: loss}
			caption := fmt.Sprintf("Loss over ε: each cell, and mean ± standard error of %d seeds.", len(v.Seeds))
			return lab.Exhibit{Pictures: []lab.Picture{{Caption: caption, Drawing: style.Figure{Body: p}}}}, nil
		},
	}
}
