package style

import (
	"fmt"
	"image"
	"math"

	"coupling/figures/style/hue"
	"coupling/figures/style/raster"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a field over the axes of a [Plot]: row i, column j of M is the value in the cell that is
// the i-th from Y0 and the j-th from X0 of the rectangle from (X0, Y0) to (X1, Y1), which the axes
// should hold. For a matrix with its first row at the top see [HeatMap].
type Heat struct {
	M              mat.Matrix
	X0, X1, Y0, Y1 float64
	Scale          Scale
}

func (h Heat) check() error {
	if h.M == nil || !(h.X0 < h.X1) || !(h.Y0 < h.Y1) {
		return fmt.Errorf("style: Heat: M nil: %t, x %v to %v, y %v to %v: %w", h.M == nil, h.X0, h.X1, h.Y0,
			h.Y1, ErrData)
	}
	return nil
}

// Bar returns the colour bar of the field.
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

// Block is a run of consecutive rows or columns of a matrix that belong together, a class of a sorted data set say.
type Block struct {
	Label string
	N     int
}

// Blocks turns sorted labels into blocks, one for each run of equal labels, named by name.
func Blocks[T comparable](sorted []T, name func(T) string) (out []Block) {
	for i, l := range sorted {
		if i > 0 && l == sorted[i-1] {
			out[len(out)-1].N++
			continue
		}
		out = append(out, Block{Label: name(l), N: 1})
	}
	return out
}

// HeatMap is the picture of a matrix, row 0 at the top, with a colour bar. Matrices larger than the picture are
// averaged over the area of each dot, so that 4096² cells cost one pass and a picture's worth of bytes.
//
// NaN and infinite cells do not count; a dot without any other cell is grey.
type HeatMap struct {
	M mat.Matrix
	// Title above, RowLabel on the left, ColLabel below.
	Title, RowLabel, ColLabel string
	// Rows and Cols divide the matrix into labelled blocks; nil numbers the rows and columns instead.
	Rows, Cols []Block
	// Scale of the colours; its zero value is linear, from the least to the greatest value in the picture.
	Scale Scale
	// Bar labels the colour bar.
	Bar string
	// NoBar leaves out the colour bar, NoTicks the numbers along the sides.
	NoBar, NoTicks bool
}

// Plan returns a figure of a transport plan: white where there is no mass, logarithmic down to 10⁻⁴ of the largest
// entry.
func Plan(m mat.Matrix) Figure {
	return Figure{Body: HeatMap{
		M:        m,
		RowLabel: "source",
		ColLabel: "target",
		Bar:      "mass",
		Scale:    Scale{Map: hue.Ink, Log: true},
	}}
}

func (h HeatMap) dims() (r, c int) {
	if h.M == nil {
		return 0, 0
	}
	return h.M.Dims()
}

func (h HeatMap) check() error {
	r, c := h.dims()
	for _, side := range []struct {
		name   string
		blocks []Block
		n      int
	}{{"Rows", h.Rows, r}, {"Cols", h.Cols, c}} {
		sum := 0
		for _, b := range side.blocks {
			if b.N < 0 {
				return fmt.Errorf("style: HeatMap: block %q of %s has N = %d: %w", b.Label, side.name, b.N, ErrData)
			}
			sum += b.N
		}
		if len(side.blocks) > 0 && sum != side.n {
			return fmt.Errorf("style: HeatMap: %s add up to %d of %d: %w", side.name, sum, side.n, ErrData)
		}
	}
	return nil
}

// plot is the map as a plot whose axes count cells.
func (h HeatMap) plot() Plot {
	r, c := h.dims()
	p := Plot{
		Title: h.Title, X: h.axis(h.ColLabel, h.Cols, c), Y: h.axis(h.RowLabel, h.Rows, r),
		NoGrid: true, Aspect: float64(r) / float64(max(c, 1)),
	}
	if r > 0 && c > 0 {
		p.Items = []plot.Plotter{Heat{M: h.M, X1: float64(c), Y1: float64(r), Scale: h.Scale}, blockLines{h}}
	}
	p.Y.Invert = true
	if !h.NoBar {
		p.Bar = &ColorBar{Scale: h.Scale.of(h.M), Label: h.Bar}
	}
	return p
}

// axis labels blocks in their middles, or else numbers cells.
func (h HeatMap) axis(label string, blocks []Block, n int) Axis {
	a := Axis{Label: label, Max: float64(n), Bare: h.NoTicks && len(h.Rows)+len(h.Cols) == 0, cells: true}
	if len(blocks) == 0 {
		return a
	}
	var middles plot.ConstantTicks
	eachBlock(blocks, func(b Block, at int) {
		middles = append(middles, plot.Tick{Value: float64(at) + float64(b.N)/2, Label: b.Label})
	})
	a.Ticks, a.unmarked = middles, true
	return a
}

// eachBlock calls do with each block that is not empty and the cell at which it begins.
func eachBlock(blocks []Block, do func(b Block, at int)) {
	at := 0
	for _, b := range blocks {
		if b.N > 0 {
			do(b, at)
		}
		at += b.N
	}
}

func (h HeatMap) insets(size vg.Point) insets { return h.plot().insets(size) }

func (h HeatMap) height(w vg.Length) vg.Length { return h.plot().height(w) }

// Draw draws the picture, its labels and its colour bar.
func (h HeatMap) Draw(c draw.Canvas) { h.drawIn(c, h.insets(c.Size()).within(c.Rectangle)) }

// drawIn draws in the largest rectangle with square cells at the centre of the data area.
func (h HeatMap) drawIn(c vg.Canvas, data vg.Rectangle) {
	if r, cols := h.dims(); r > 0 && cols > 0 {
		size := data.Size()
		cell := min(size.X/vg.Length(cols), size.Y/vg.Length(r))
		d := vg.Point{X: (size.X - cell*vg.Length(cols)) / 2, Y: (size.Y - cell*vg.Length(r)) / 2}
		data.Min, data.Max = data.Min.Add(d), data.Max.Sub(d)
	}
	h.plot().drawIn(c, data)
}

// blockLines are thin lines between the blocks and a short bar along each, so that labels belong to something.
type blockLines struct{ HeatMap }

func (h blockLines) Plot(d draw.Canvas, p *plot.Plot) {
	thin, bar := draw.LineStyle{Color: Fade(hue.Missing, 0.9), Width: 0.4}, draw.LineStyle{Color: DarkGrey, Width: 0.8}
	const off, gap = 2, 0.7
	x, y := transforms(d, p)
	eachBlock(h.Cols, func(b Block, at int) {
		from, to := x(float64(at)), x(float64(at+b.N))
		if at > 0 {
			d.StrokeLine2(thin, from, d.Min.Y, from, d.Max.Y)
		}
		if to-from > 2*gap {
			d.StrokeLine2(bar, from+gap, d.Min.Y-off, to-gap, d.Min.Y-off)
		}
	})
	eachBlock(h.Rows, func(b Block, at int) {
		from, to := y(float64(at)), y(float64(at+b.N))
		if at > 0 {
			d.StrokeLine2(thin, d.Min.X, from, d.Max.X, from)
		}
		if from-to > 2*gap {
			d.StrokeLine2(bar, d.Min.X-off, from-gap, d.Min.X-off, to+gap)
		}
	})
	outlineBox(d, d.Rectangle, draw.LineStyle{Color: DarkGrey, Width: axisWidth})
}
