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

// Heat is a field over the axes of a [Plot]: row i, column j of M is the value in the cell that is the i-th from Y0 and the
// j-th from X0 of the rectangle from (X0, Y0) to (X1, Y1), which the axes should hold. For a matrix with its first row at the
// top see [HeatMap].
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
	x, y := transforms(c, p)
	r, m := vg.Rectangle{Min: vg.Point{X: x(h.X0), Y: y(h.Y1)}, Max: vg.Point{X: x(h.X1), Y: y(h.Y0)}}, h.M
	if r.Min.Y > r.Max.Y { // the axis runs upward
		r.Min.Y, r.Max.Y = r.Max.Y, r.Min.Y
		m = upended{m}
	}
	heat(c, r, m, h.Scale.of(h.M))
}

// upended is a matrix with its rows in reverse.
type upended struct{ mat.Matrix }

func (u upended) At(i, j int) float64 {
	r, _ := u.Dims()
	return u.Matrix.At(r-1-i, j)
}

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
