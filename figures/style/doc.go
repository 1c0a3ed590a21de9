// Package style draws all figures of the project, in papers and in notebooks, in one style.
//
// A figure is a value: a [Figure] holds a body, the body is a [Plot], a [HeatMap], an [ImageGrid],
// a [Table], or [Panels] of these, and a plot holds items such as [Line] and [Points]. All are
// struct literals whose zero fields mean the default. [Figure.Save] writes PNG, SVG and PDF.
//
// # A worked example
//
// The error of a solver over its iterations, with the range over ten seeds, on a logarithmic axis, one column wide
// with the legend below the axes:
//
//	mean := style.Line{Name: "Sinkhorn", X: iteration, Y: mean, Lo: low, Hi: high}
//	tol := style.Rule{At: 1e-6, Label: "tolerance"}
//	fig := style.Figure{
//		Body: style.Plot{
//			X:     style.Axis{Label: "iteration"},
//			Y:     style.Axis{Label: "marginal error", Unit: "L^{1}", Log: true},
//			Items: []plot.Plotter{mean, tol},
//		},
//		Badge: "quick: n = 500; smaller than the paper's",
//	}
//	err := fig.Save(w, "pdf")
//
// # Conventions
//
// Lengths are in points of 1/72 inch; type is 7 to 8.5 points at the printed width. Text is marked up as in 10^{-3},
// W_{2}, \i{x} and \b{bold}. Series k of a figure is drawn by [Series](k) everywhere: a colour, a dash pattern and a
// glyph, so that it can be told apart without colour.
//
// Values that cannot be drawn (NaN, ±Inf, and what is not positive on a logarithmic axis) are left out: a line breaks,
// a point is missing, a cell of a heat map does not count. Data that contradicts itself, such as slices of different
// lengths, makes Save return an error that wraps [ErrData].
//
// The same figure gives the same bytes, whatever the time, the machine's fonts or the number of processors.
//
// # Sources
//
// The colours and their sources are in package hue, the marks of axes in package tick, text and
// file formats in package paper. The package contains no science.
package style
