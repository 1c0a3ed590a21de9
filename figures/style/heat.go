package style

import (
	"fmt"
	"image"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/raster"
)

// Heat is a field over the axes of a [Plot]: row i, column j of M is the value in the cell that is the i-th from below
// and the j-th from the left of the rectangle from (X0, Y0) to (X1, Y1). Cells are equally large on the picture, on
// logarithmic axes too. Cells that the axes cut are left out. For a matrix with its first row at the top see [HeatMap].
type Heat struct {
	M              mat.Matrix
	X0, X1, Y0, Y1 float64
	Scale          Scale
}

func (h Heat) check() error {
	if h.M == nil || !(h.X0 < h.X1) || !(h.Y0 < h.Y1) {
		return fmt.Errorf("style: Heat: M nil: %t, x %v to %v, y %v to %v: %w", h.M == nil, h.X0, h.X1, h.Y0, h.Y1, ErrData)
	}
	return nil
}

// Bar is the colour bar of the field.
func (h Heat) Bar(label string) *ColorBar { return &ColorBar{Scale: h.Scale.of(h.M), Label: label} }

func (h Heat) ranges(x, y Axis) (ex, ey extent) {
	ex, ey = span(x, h.X0, h.X1), span(y, h.Y0, h.Y1)
	ex.sticky, ey.sticky = []float64{h.X0, h.X1}, []float64{h.Y0, h.Y1}
	return ex, ey
}

// Plot draws the field.
func (h Heat) Plot(c draw.Canvas, p *plot.Plot) {
	if h.check() != nil {
		return
	}
	x, y := transforms(c, p)
	rows, cols := h.M.Dims()
	j0, j1, left, right := visibleCells(cols, x(h.X0), x(h.X1), c.Min.X, c.Max.X)
	i0, i1, low, high := visibleCells(rows, y(h.Y0), y(h.Y1), c.Min.Y, c.Max.Y)
	if i0 >= i1 || j0 >= j1 {
		return
	}
	r := vg.Rectangle{Min: vg.Point{X: left, Y: low}, Max: vg.Point{X: right, Y: high}}
	heat(c, r, upended{h.M, i0, j0, i1 - i0, j1 - j0}, h.Scale.of(h.M))
}

// visibleCells are those of n cells between from and to that lie within [lo, hi], and their outer edges.
func visibleCells(n int, from, to, lo, hi vg.Length) (first, end int, left, right vg.Length) {
	const slack = 1e-6
	side := (to - from) / vg.Length(n)
	if !finite(vg.Point{X: from, Y: to}) || side <= 0 {
		return 0, 0, 0, 0
	}
	first = max(0, int(math.Ceil(float64((lo-from)/side)-slack)))
	end = min(n, int(math.Floor(float64((hi-from)/side)+slack)))
	return first, end, from + side*vg.Length(first), from + side*vg.Length(end)
}

// upended is a part of a matrix with its rows in reverse.
type upended struct {
	m          mat.Matrix
	i, j, r, c int
}

func (u upended) Dims() (r, c int) { return u.r, u.c }

func (u upended) At(i, j int) float64 { return u.m.At(u.i+u.r-1-i, u.j+j) }

func (u upended) T() mat.Matrix { return mat.Transpose{Matrix: u} }

// heat draws a matrix into a rectangle, row 0 at the top, resampled to the dots of the canvas.
func heat(c vg.Canvas, r vg.Rectangle, m mat.Matrix, s Scale) {
	rows, cols := m.Dims()
	if rows == 0 || cols == 0 {
		return
	}
	w, h, target, _ := raster.Dots(c, r)
	w, h = raster.Bins(cols, w, target != nil), raster.Bins(rows, h, target != nil)
	raster.Draw(c, r, paint(raster.Resample(m, w, h), w, h, s))
}

// of is the scale with its ends set by a matrix where they are not given.
func (s Scale) of(m mat.Matrix) Scale {
	lo, hi := math.Inf(1), math.Inf(-1)
	if m != nil {
		r, c := m.Dims()
		buf := make([]float64, c)
		for i := range r {
			for _, v := range raster.Row(m, i, buf) {
				if v-v == 0 { // neither NaN nor infinite
					lo, hi = min(lo, v), max(hi, v)
				}
			}
		}
	}
	return s.fixed(lo, hi)
}

// paint colours values.
func paint(values []float64, cols, rows int, s Scale) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, cols, rows))
	colors := s.colors()
	for i, v := range values {
		c := colors(s.position(v))
		img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3] = c.R, c.G, c.B, 255
	}
	return img
}
