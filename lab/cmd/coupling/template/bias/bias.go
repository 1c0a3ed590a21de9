// Package bias asks how far the sharp entropic loss between two samples of one
// Gaussian is from the distance of their source to itself, which is 0.
package bias

import (
	"context"

	"coupling/data/synth"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"
)

// Params are what changes the number, and nothing else: they are its key.
type Params struct {
	N   int     `json:"n"`   // points of a sample
	Eps float64 `json:"eps"` // regularisation, in units of the cost
}

// Out is what a cell stores.
type Out struct {
	Sharp float64 `json:"sharp"` // ⟨T, c⟩
}

// Bias is the experiment.
var Bias = lab.Experiment[Params, Out]{Name: "own/bias", Version: 1, Run: run}

func run(ctx context.Context, c *lab.Cell, p Params) (Out, error) {
	// Must ends the cell where there is an error, with that error.
	x, y := lab.Must(synth.Normal(c.Rand("x"), p.N, 2)), lab.Must(synth.Normal(c.Rand("y"), p.N, 2))
	plan := lab.Must(ot.Solve(ctx, ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}, p.Eps))
	return Out{plan.Sharp()}, nil
}

// Study is its figure: the loss over ε, and a claim about the right end.
func Study() lab.Study[Params, Out] {
	return lab.Study[Params, Out]{
		Name: "own/bias", Title: "Entropic bias",
		Shows:      "The loss rises with ε, from the distance of the samples to that of independent points.",
		Sizes:      map[lab.Preset]string{lab.Smoke: "n = 20", lab.Quick: "n = 100", lab.Full: "n = 500"},
		Experiment: Bias,
		Grid: func(set lab.Setting) []Params {
			return lab.Grid(Params{N: lab.Pick(set.Preset, 20, 100, 500, 500)},
				lab.Vary(func(p *Params, v float64) { p.Eps = v }, .01, .1, 1, 10, 100))
		},
		Draw: draw,
		Claims: func(v lab.View[Params, Out]) ([]lab.Claim, error) {
			return []lab.Claim{{
				What: "loss at the largest ε", Source: "E|x − y|² = 2d of independent points", Null: noLoss,
				Got: v.Cells[len(v.Cells)-1].Value.Sharp, Want: 4, AbsTol: 2, Why: "three standard errors of two means of 20",
			}}, nil
		},
	}
}

// noLoss is the garbage result on which the claim must fail.
var noLoss = lab.Null{Name: "no loss", Spoil: []lab.Spoiler{lab.Spoil(Bias, func(cells []lab.Result[Params, Out]) {
	for i := range cells {
		cells[i].Value.Sharp = 0
	}
})}}

func draw(v lab.View[Params, Out]) (lab.Exhibit, error) {
	line := style.Line{Marks: true}
	for _, c := range v.Cells {
		line.X, line.Y = append(line.X, c.Params.Eps), append(line.Y, c.Value.Sharp)
	}
	plot := style.Plot{X: style.Axis{Label: "ε", Log: true}, Y: style.Axis{Label: "sharp loss"}}
	plot.Items = append(plot.Items, line)
	picture := lab.Picture{Caption: "Sharp loss over ε.", Drawing: style.Figure{Body: plot}}
	return lab.Exhibit{Pictures: []lab.Picture{picture}}, nil
}
