package style_test

import (
	"bytes"
	"fmt"
	"strings"

	"coupling/figures/style"
	"coupling/figures/style/hue"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
)

// A line with an error band on a logarithmic axis, its legend below.
func Example() {
	iteration := []float64{1, 2, 3, 4}
	fig := style.Figure{
		Width: style.Screen,
		Body: style.Plot{
			X: style.Axis{Label: "iteration"},
			Y: style.Axis{Label: "marginal error", Unit: "L^{1}", Log: true},
			Items: []plot.Plotter{
				style.Rule{At: 1e-3, Label: "tolerance"},
				style.Line{
					Name: "Sinkhorn",
					X:    iteration,
					Y:    []float64{1, .5, .25, .12},
					Lo:   []float64{.8, .4, .2, .1},
					Hi:   []float64{1.2, .6, .3, .15},
				},
				style.Line{Name: "L-BFGS", X: iteration, Y: []float64{1, .1, .01, .001}, Series: 1, Marks: true},
			},
		},
	}
	var b bytes.Buffer
	if err := fig.Save(&b, "pdf"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(b.String()[:8])
	// Output: %PDF-1.4
}

// Panels with letters, one legend for all, and a badge.
func ExamplePanels() {
	left := style.Plot{Title: "first",
		Items: []plot.Plotter{style.Line{Name: "a", X: []float64{0, 1}, Y: []float64{0, 1}}}}
	right := style.Plot{Title: "second", Items: []plot.Plotter{style.Line{
		Name:   "b",
		X:      []float64{0, 1},
		Y:      []float64{1, 0},
		Series: 1,
	}}}
	fig := style.Figure{
		Width: style.TwoColumns,
		Body:  style.Panels{Items: []style.Drawer{left, right}, Letters: true, ShareY: true},
		Badge: "quick: n = 500; smaller than the paper's",
	}
	var b strings.Builder
	if err := fig.Save(&b, "svg"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.Contains(b.String(), "<svg "), fig.Badge)
	// Output: true quick: n = 500; smaller than the paper's
}

// A plan between labelled data, sorted by class.
func ExampleHeatMap() {
	plan := mat.NewDense(4, 4, []float64{
		.2, .05, 0, 0,
		.05, .2, 0, 0,
		0, 0, .25, 0,
		0, 0, 0, .25,
	})
	classes := style.Blocks([]int{3, 3, 8, 8}, func(c int) string { return fmt.Sprint(c) })
	fig := style.Figure{Body: style.HeatMap{
		M: plan, Rows: classes, Cols: classes,
		RowLabel: "MNIST class", ColLabel: "USPS class", Bar: "mass",
		Scale: style.Scale{Map: hue.Ink, Log: true},
	}}
	var b bytes.Buffer
	fmt.Println(fig.Save(&b, "png"), classes)
	// Output: <nil> [{3 2} {8 2}]
}

// Images, each beside what it is matched to.
func ExampleImageGrid() {
	pixels := mat.NewDense(4, 4, []float64{
		0, 1, 1, 0,
		1, 0, 0, 1,
		0, 0, 1, 1,
		1, 1, 0, 0,
	})
	fig := style.Figure{Body: style.ImageGrid{
		Images: style.Rows(pixels), H: 2, W: 2,
		Columns: 4, ColLabels: []string{"a", "its match", "b", "its match"},
	}}
	var b bytes.Buffer
	fmt.Println(fig.Save(&b, "png"))
	// Output: <nil>
}

// An unknown format is an error that names it.
func ExampleFigure_Save() {
	fmt.Println(style.Figure{Body: style.Plot{}}.Save(&bytes.Buffer{}, "gif"))
	// Output: style: save: paper: format = "gif": unknown format (want png, svg or pdf)
}
