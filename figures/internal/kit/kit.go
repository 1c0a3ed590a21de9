// Package kit holds what figures do with finished cells: group them, draw lines through them, and make the garbage on
// which claims must fail.
package kit

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"

	"coupling/figures/style"
	"coupling/lab"
)

// Null is the null in which every cell of an experiment is changed.
func Null[P, R any](name string, e lab.Experiment[P, R], change func(p P, v *R)) lab.Null {
	return lab.Null{Name: name, Spoil: []lab.Spoiler{Spoil(e, change)}}
}

// NullOf is the null in which the cells of an experiment are changed together.
func NullOf[P, R any](name string, e lab.Experiment[P, R], change func(cells []lab.Result[P, R])) lab.Null {
	return lab.Null{Name: name, Spoil: []lab.Spoiler{lab.Spoil(e, change)}}
}

// Spoil changes every cell of an experiment, for nulls of several experiments.
func Spoil[P, R any](e lab.Experiment[P, R], change func(p P, v *R)) lab.Spoiler {
	return lab.Spoil(e, func(cells []lab.Result[P, R]) {
		for i := range cells {
			change(cells[i].Params, &cells[i].Value)
		}
	})
}

// Reverse exchanges the values of cells end for end, for nulls.
func Reverse[P, R any](cells []lab.Result[P, R]) {
	for i, j := 0, len(cells)-1; i < j; i, j = i+1, j-1 {
		cells[i].Value, cells[j].Value = cells[j].Value, cells[i].Value
	}
}

// Runs splits a list into its runs of equal keys, such as the cells of a grid that differ in a draw alone.
func Runs[T any, K comparable](list []T, key func(T) K) (out [][]T) {
	for i, x := range list {
		if i == 0 || key(list[i-1]) != key(x) {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], x)
	}
	return out
}

// Groups gathers elements of equal keys in the order of the first of each, such as the cells of several seeds.
func Groups[T any, K comparable](list []T, key func(T) K) (out [][]T) {
	at := map[K]int{}
	for _, x := range list {
		k := key(x)
		i, known := at[k]
		if !known {
			i, at[k], out = len(out), len(out), append(out, nil)
		}
		out[i] = append(out[i], x)
	}
	return out
}

// Line is a line through a point for each of a list, drawn as l.
func Line[T any](l style.Line, list []T, at func(T) (x, y float64)) style.Line {
	l.X, l.Y = Points(list, at)
	return l
}

// Points are the coordinates of a point for each of a list.
func Points[T any](list []T, at func(T) (x, y float64)) (xs, ys []float64) {
	for _, v := range list {
		x, y := at(v)
		xs, ys = append(xs, x), append(ys, y)
	}
	return xs, ys
}

// LogLog is a plot between logarithmic axes.
func LogLog(title, x, y string, aspect float64, items ...plot.Plotter) style.Plot {
	return style.Plot{
		Title:  title,
		X:      style.Axis{Label: x, Log: true},
		Y:      style.Axis{Label: y, Log: true},
		Items:  items,
		Aspect: aspect,
	}
}

// Each collects a value of each of a list.
func Each[T, V any](list []T, of func(T) V) []V {
	out := make([]V, len(list))
	for i, v := range list {
		out[i] = of(v)
	}
	return out
}

// Decades are n numbers from 10^from to 10^to at equal ratios.
func Decades(n int, from, to float64) []float64 {
	return Each(floats.Span(make([]float64, n), from, to), func(e float64) float64 { return math.Pow(10, e) })
}

// Count is 0, 1, … below n: the draws of a grid.
func Count(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Per is a value for each preset, from smoke to paper.
type Per [4]any

// Sizes says for each preset what is computed: format with a value of each row.
func Sizes(format string, rows ...Per) map[lab.Preset]string {
	out := map[lab.Preset]string{}
	for i, p := range lab.Presets {
		out[p] = fmt.Sprintf(format, Each(rows, func(r Per) any { return r[i] })...)
	}
	return out
}

// Table is a table: header has " | " between its cells, as [Row].
func Table(name, caption, header string, rows ...[]string) lab.Table {
	return lab.Table{Name: name, Caption: caption, Header: strings.Split(header, " | "), Rows: rows}
}

// Row is a row of a table: format has " | " between its cells, which no value has.
func Row(format string, values ...any) []string {
	return strings.Split(fmt.Sprintf(format, values...), " | ")
}

// Badge marks what has fewer points than the paper preset, for figures that are as fine at full.
func Badge(s lab.Source, sizes string, values ...any) string {
	if s.Preset == lab.Full && !s.Edited() {
		return ""
	}
	return s.Badge(fmt.Sprintf(sizes, values...))
}

// Wide is the only picture of a figure, as wide as a page.
func Wide(body style.Drawer, badge, caption string) []lab.Picture {
	return []lab.Picture{Picture("", body, badge, caption)}
}

// Column is the only picture of a figure, as wide as a column.
func Column(body style.Drawer, badge, caption string) []lab.Picture {
	return []lab.Picture{{Caption: caption, Drawing: style.Figure{Body: body, Badge: badge}}}
}

// Picture is one of several pictures of a figure, as wide as a page.
func Picture(name string, body style.Drawer, badge, caption string) lab.Picture {
	return lab.Picture{
		Name:    name,
		Caption: caption,
		Drawing: style.Figure{Body: body, Width: style.TwoColumns, Badge: badge},
	}
}
