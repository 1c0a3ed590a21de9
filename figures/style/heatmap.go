package style

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/hue"
	"coupling/figures/style/paper"
	"coupling/figures/style/raster"
)

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
// averaged over the area of each dot (see Pool), so that 4096² cells cost one pass and a picture's worth of bytes.
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
	// Stretch lets the picture fill its area; otherwise cells are square.
	Stretch bool
	// Pool combines cells that share a dot.
	Pool raster.Pool
}

// Plan is a figure of a transport plan: white where there is no mass, logarithmic down to 10⁻⁴ of the largest entry.
func Plan(m mat.Matrix) Figure {
	return Figure{Body: HeatMap{M: m, RowLabel: "source", ColLabel: "target", Bar: "mass", Scale: Scale{Map: hue.Ink, Log: true}}}
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

func (h HeatMap) bar() ColorBar { return ColorBar{Scale: h.Scale.of(h.M), Label: h.Bar} }

func (h HeatMap) insets(size vg.Point) (in insets) {
	label, small := sans(labelSize), sans(tickSize)
	in.top, in.right = 2, 2
	if h.Title != "" {
		in.top = paper.Height(h.Title, sans(titleSize)) + titleGap
	}
	if !h.NoBar {
		in.right = barGap + h.bar().width()
	}
	if w := h.sideWidth(size); w > 0 {
		in.left = w + tickGap + tickLength
		in.bottom = paper.Height("0", small) + tickGap + tickLength
	}
	if h.RowLabel != "" {
		in.left += paper.Height(h.RowLabel, label) + labelGap + 0.25*labelSize
	}
	if h.ColLabel != "" {
		in.bottom += paper.Height(h.ColLabel, label) + labelGap + 0.25*labelSize
	}
	return in
}

// sideWidth is the width of the labels on the left.
func (h HeatMap) sideWidth(size vg.Point) (w vg.Length) {
	if h.NoTicks && len(h.Rows) == 0 && len(h.Cols) == 0 {
		return 0
	}
	r, _ := h.dims()
	for _, b := range h.rowMarks(r, size.Y) {
		w = max(w, paper.Width(b.Label, sans(tickSize)))
	}
	return max(w, 1)
}

// rowMarks and colMarks are the labels along the sides, at positions in cells.
func (h HeatMap) rowMarks(n int, length vg.Length) []plot.Tick {
	return h.marks(h.Rows, n, length, false)
}

func (h HeatMap) colMarks(n int, length vg.Length) []plot.Tick {
	return h.marks(h.Cols, n, length, true)
}

func (h HeatMap) marks(blocks []Block, n int, length vg.Length, across bool) (out []plot.Tick) {
	if len(blocks) > 0 {
		at := 0
		for _, b := range blocks {
			if b.N > 0 {
				out = append(out, plot.Tick{Value: float64(at) + float64(b.N)/2, Label: b.Label})
			}
			at += b.N
		}
		return out
	}
	if h.NoTicks || n == 0 {
		return nil
	}
	for _, t := range (Axis{}).fitting(0, float64(n), length, across).Ticks(0, float64(n)) {
		if t.Value == math.Trunc(t.Value) {
			out = append(out, t)
		}
	}
	return out
}

func (h HeatMap) height(w vg.Length) vg.Length {
	in := h.insets(vg.Point{X: w, Y: w})
	r, c := h.dims()
	if h.Stretch || r == 0 || c == 0 {
		return in.bottom + in.top + 0.8*(w-in.left-in.right)
	}
	return in.bottom + in.top + (w-in.left-in.right)*vg.Length(r)/vg.Length(c)
}

// Draw draws the picture, its labels and its colour bar.
func (h HeatMap) Draw(c draw.Canvas) { h.drawIn(c, h.insets(c.Size()).within(c.Rectangle)) }

// fit is the largest rectangle with square cells at the centre of the data area.
func (h HeatMap) fit(data vg.Rectangle) vg.Rectangle {
	r, c := h.dims()
	if h.Stretch || r == 0 || c == 0 {
		return data
	}
	size := data.Size()
	cell := min(size.X/vg.Length(c), size.Y/vg.Length(r))
	dx, dy := (size.X-cell*vg.Length(c))/2, (size.Y-cell*vg.Length(r))/2
	return vg.Rectangle{
		Min: vg.Point{X: data.Min.X + dx, Y: data.Min.Y + dy},
		Max: vg.Point{X: data.Max.X - dx, Y: data.Max.Y - dy},
	}
}

func (h HeatMap) drawIn(c vg.Canvas, data vg.Rectangle) {
	d := draw.Canvas{Canvas: c, Rectangle: h.fit(data)}
	bar := h.bar()
	if h.M != nil {
		heat(d, d.Rectangle, h.M, bar.Scale, h.Pool)
	}
	h.boundaries(d)
	outlineBox(d, d.Rectangle, draw.LineStyle{Color: DarkGrey, Width: axisWidth})
	h.drawMarks(d)
	if h.Title != "" {
		paper.Write(d, h.Title, textStyle(titleSize, draw.XCenter, draw.YBottom), vg.Point{X: d.Center().X, Y: d.Max.Y + titleGap})
	}
	if !h.NoBar {
		r := vg.Rectangle{Min: vg.Point{X: d.Max.X + barGap, Y: d.Min.Y}, Max: vg.Point{X: d.Max.X + barGap + bar.width(), Y: d.Max.Y}}
		bar.Draw(draw.Canvas{Canvas: c, Rectangle: r})
	}
}

// boundaries draws thin lines between the blocks.
func (h HeatMap) boundaries(d draw.Canvas) {
	r, c := h.dims()
	line := draw.LineStyle{Color: Fade(hue.Missing, 0.9), Width: 0.4}
	at := 0
	for _, b := range h.Cols {
		if at += b.N; at < c {
			x := d.X(float64(at) / float64(c))
			d.StrokeLine2(line, x, d.Min.Y, x, d.Max.Y)
		}
	}
	at = 0
	for _, b := range h.Rows {
		if at += b.N; at < r {
			y := d.Y(1 - float64(at)/float64(r))
			d.StrokeLine2(line, d.Min.X, y, d.Max.X, y)
		}
	}
}

func (h HeatMap) drawMarks(d draw.Canvas) {
	r, c := h.dims()
	line := draw.LineStyle{Color: DarkGrey, Width: axisWidth}
	right, top := d.Min.X-tickLength-tickGap, d.Min.Y-tickLength-tickGap
	rows, cols := h.rowMarks(r, d.Size().Y), h.colMarks(c, d.Size().X)
	for _, m := range rows {
		y := d.Y(1 - m.Value/float64(r))
		if len(h.Rows) == 0 {
			d.StrokeLine2(line, d.Min.X, y, d.Min.X-tickLength, y)
		}
		paper.Write(d, m.Label, textStyle(tickSize, draw.XRight, draw.YCenter), vg.Point{X: right, Y: y})
	}
	for _, m := range cols {
		x := d.X(m.Value / float64(c))
		if len(h.Cols) == 0 {
			d.StrokeLine2(line, x, d.Min.Y, x, d.Min.Y-tickLength)
		}
		paper.Write(d, m.Label, textStyle(tickSize, draw.XCenter, draw.YTop), vg.Point{X: x, Y: top})
	}
	h.brackets(d)
	if h.RowLabel != "" {
		sty := textStyle(labelSize, draw.XCenter, draw.YBottom)
		sty.Rotation = math.Pi / 2
		paper.Write(d, h.RowLabel, sty, vg.Point{X: right - widest(rows) - labelGap - 0.25*labelSize, Y: d.Center().Y})
	}
	if h.ColLabel != "" {
		if len(cols) > 0 {
			top -= tallest(cols)
		}
		paper.Write(d, h.ColLabel, textStyle(labelSize, draw.XCenter, draw.YTop), vg.Point{X: d.Center().X, Y: top - labelGap})
	}
}

// brackets draws a short bar along each block, with gaps between them, so that labels belong to something.
func (h HeatMap) brackets(d draw.Canvas) {
	r, c := h.dims()
	line := draw.LineStyle{Color: DarkGrey, Width: 0.8}
	const off, gap = 2, 0.7
	at := 0
	for _, b := range h.Cols {
		x0, x1 := d.X(float64(at)/float64(c))+gap, d.X(float64(at+b.N)/float64(c))-gap
		if x1 > x0 {
			d.StrokeLine2(line, x0, d.Min.Y-off, x1, d.Min.Y-off)
		}
		at += b.N
	}
	at = 0
	for _, b := range h.Rows {
		y0, y1 := d.Y(1-float64(at)/float64(r))-gap, d.Y(1-float64(at+b.N)/float64(r))+gap
		if y0 > y1 {
			d.StrokeLine2(line, d.Min.X-off, y0, d.Min.X-off, y1)
		}
		at += b.N
	}
}
