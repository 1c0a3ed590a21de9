// Package kit holds what figures do with finished cells: group them, draw lines through them, and make the garbage on
// which claims must fail.
package kit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"coupling/figures/style"
	"coupling/lab"
)

// Null is the null in which every cell of an experiment is changed.
func Null[P, R any](name string, e lab.Experiment[P, R], change func(p P, v *R)) lab.Null {
	return lab.Null{Name: name, Spoil: []lab.Spoiler{Spoil(e, change)}}
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

// Badge marks what has fewer points than the paper preset, for figures that are as fine at full.
func Badge(s lab.Source, sizes string) string {
	if s.Preset == lab.Full && !s.Edited() {
		return ""
	}
	return s.Badge(sizes)
}

// Wide is the only picture of a figure, as wide as a page.
func Wide(body style.Drawer, badge, caption string) []lab.Picture {
	return []lab.Picture{{Caption: caption, Drawing: style.Figure{Body: body, Width: style.TwoColumns, Badge: badge}}}
}
