package amplification

import "coupling/lab"

// Figures lists the figures of the paper in their order.
func Figures() []lab.Figure {
	step := map[string]lab.Figure{}
	for _, f := range profileFigures() {
		step[f.name] = f.figure()
	}
	for _, f := range stepsFigures() {
		step[f.name] = f.figure()
	}
	return []lab.Figure{
		worFigure("fig3", []int{10}),
		step["fig4"],
		step["fig5"],
		step["fig6"],
		worFigure("fig7", []int{10, 100, 1000, 2000, 5000}),
		step["fig8"],
		step["fig9"],
		step["fig10"],
		renyiFigure("fig11", agnostic),
		transportFigure(),
		replacementFigure(),
		step["fig14"],
		step["fig15"],
		step["fig16"],
		renyiFigure("fig17", postHoc),
		step["fig18"],
		step["fig19"],
		step["fig20"],
		step["fig21"],
		spentFigure("fig22", "Rényi accounting: Gaussian", grid("gaussian", []float64{1, 5}, []float64{.001})),
		spentFigure("fig23", "Rényi accounting: randomised response", grid("response", []float64{.6}, []float64{.1, .001})),
		mnistFigure(),
	}
}
