package style

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math"

	xdraw "golang.org/x/image/draw"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/paper"
	"coupling/figures/style/raster"
)

// ImageGrid shows small images in rows and columns, each pixel as a crisp square.
//
// On PNG a pixel is a whole number of dots; the grid is then a little narrower than its place. NaN pixels are drawn
// in the middle of the range, infinite ones at its end.
type ImageGrid struct {
	// Images are the pixels of each image in the order channel, row, column: C·H·W values. A nil image is blank.
	Images [][]float32
	// C, H and W are the shape of each image; C is 1 (grey) or 3 (RGB), zero means 1.
	C, H, W int
	// Lo and Hi are the values of black and white. Where they are equal, 0 and 1.
	Lo, Hi float64
	// Columns of images; zero makes the grid about square.
	Columns int
	// Gap between images, in pixels of the images; zero means 1, negative none.
	Gap int
	// Invert exchanges black and white, for ink on paper.
	Invert bool
	// Title above, RowLabels on the left of the rows, ColLabels above the columns.
	Title                string
	RowLabels, ColLabels []string
}

// Rows returns the rows of a matrix as images, for [ImageGrid].
func Rows(m mat.Matrix) [][]float32 {
	r, c := m.Dims()
	out, buf := make([][]float32, r), make([]float64, c)
	for i := range out {
		out[i] = make([]float32, c)
		for j, v := range raster.Row(m, i, buf) {
			out[i][j] = float32(v)
		}
	}
	return out
}

func (g ImageGrid) channels() int { return max(g.C, 1) }

func (g ImageGrid) check() error {
	if c := g.channels(); (c != 1 && c != 3) || g.H <= 0 || g.W <= 0 {
		return fmt.Errorf("style: ImageGrid: shape %d×%d×%d: want 1 or 3 channels: %w", g.C, g.H, g.W, ErrData)
	}
	for i, im := range g.Images {
		if n := g.channels() * g.H * g.W; im != nil && len(im) != n {
			return fmt.Errorf("style: ImageGrid: image %d has %d values, want %d: %w", i, len(im), n, ErrData)
		}
	}
	return nil
}

func (g ImageGrid) shape() (cols, rows int) {
	cols = g.Columns
	if cols <= 0 {
		cols = max(int(math.Ceil(math.Sqrt(float64(len(g.Images))))), 1)
	}
	return cols, max((len(g.Images)+cols-1)/cols, 1)
}

func (g ImageGrid) gap() int {
	return max(cmp.Or(g.Gap, 1), 0)
}

// column is the left edge of a column in pixels.
func (g ImageGrid) column(i int) int { return i * (g.W + g.gap()) }

// pixels is the size of the whole grid.
func (g ImageGrid) pixels() (w, h int) {
	cols, rows := g.shape()
	return g.column(cols-1) + g.W, rows*(g.H+g.gap()) - g.gap()
}

// render puts the images on white paper.
func (g ImageGrid) render() *image.RGBA {
	w, h := g.pixels()
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	xdraw.Draw(out, out.Bounds(), image.White, image.Point{}, xdraw.Src)
	cols, _ := g.shape()
	for k, im := range g.Images {
		if len(im) == g.channels()*g.H*g.W {
			g.paste(out, im, image.Point{X: g.column(k % cols), Y: k / cols * (g.H + g.gap())})
		}
	}
	return out
}

func (g ImageGrid) paste(out *image.RGBA, im []float32, at image.Point) {
	plane := g.H * g.W
	for i := range plane {
		c := color.RGBA{A: 255}
		c.R = g.level(im[i])
		c.G, c.B = c.R, c.R
		if g.channels() == 3 {
			c.G, c.B = g.level(im[plane+i]), g.level(im[2*plane+i])
		}
		out.SetRGBA(at.X+i%g.W, at.Y+i/g.W, c)
	}
}

// level is a value as eight bits.
func (g ImageGrid) level(v float32) uint8 {
	lo, hi := g.Lo, g.Hi
	if lo == hi {
		lo, hi = 0, 1
	}
	t := (float64(v) - lo) / (hi - lo)
	if math.IsNaN(t) {
		t = 0.5
	}
	if g.Invert {
		t = 1 - t
	}
	return uint8(math.Round(255 * min(max(t, 0), 1)))
}

// labels are the space for the labels: left of and above the images.
func (g ImageGrid) labels() (left, top vg.Length) {
	small := sans(tickSize)
	for _, l := range g.RowLabels {
		left = max(left, paper.Width(l, small)+5)
	}
	for _, l := range g.ColLabels {
		top = max(top, paper.Height(l, small)+4)
	}
	if g.Title != "" {
		top += paper.Height(g.Title, sans(titleSize)) + titleGap
	}
	return left, top
}

func (g ImageGrid) height(w vg.Length) vg.Length {
	left, top := g.labels()
	pw, ph := g.pixels()
	return top + pitch((w-left)/vg.Length(max(pw, 1)))*vg.Length(ph) + 0.5
}

// Draw draws the grid at the top of the rectangle, centred.
func (g ImageGrid) Draw(c draw.Canvas) {
	if g.H <= 0 || g.W <= 0 {
		return
	}
	left, top := g.labels()
	img := g.render()
	area := vg.Rectangle{
		Min: vg.Point{X: c.Min.X + left, Y: c.Min.Y},
		Max: vg.Point{X: c.Max.X, Y: c.Max.Y - top},
	}
	r := g.fit(c, area, img.Bounds().Size())
	raster.Draw(c, r, img)
	g.drawLabels(c, r)
}

// pitch rounds the side of a pixel down to a whole number of dots at the usual resolution, so that a figure is laid
// out alike in all formats; smaller pixels than a dot stay as they are.
func pitch(side vg.Length) vg.Length {
	const dot = vg.Inch / DPI
	if k := math.Floor(float64(side/dot) + 0.01); k >= 1 {
		return vg.Length(k) * dot
	}
	return side
}

// fit is the largest rectangle at the top of the area, centred, that has the grid's shape and whole dots, and on a
// bitmap of that resolution, or of several times it, lies on the dots.
func (g ImageGrid) fit(c vg.Canvas, area vg.Rectangle, n image.Point) vg.Rectangle {
	size := area.Size()
	side := pitch(min(size.X/vg.Length(n.X), size.Y/vg.Length(n.Y)))
	corner := vg.Point{X: area.Min.X + (size.X-side*vg.Length(n.X))/2, Y: area.Max.Y}
	if dev, ok := paper.Device(c).(interface {
		vg.CanvasSizer
		DPI() float64
	}); ok {
		dot := vg.Inch / vg.Length(dev.DPI())
		_, height := dev.Size()
		snap := func(l vg.Length) vg.Length { return vg.Length(math.Round(float64(l/dot))) * dot }
		if k := math.Floor(float64(side/dot) + 0.01); k >= 0.85*float64(side/dot) { // else smaller than it need be
			side = vg.Length(k) * dot
		}
		corner = vg.Point{X: snap(corner.X), Y: height - snap(height-corner.Y)}
	}
	return vg.Rectangle{
		Min: vg.Point{X: corner.X, Y: corner.Y - side*vg.Length(n.Y)},
		Max: vg.Point{X: corner.X + side*vg.Length(n.X), Y: corner.Y},
	}
}

func (g ImageGrid) drawLabels(c vg.Canvas, r vg.Rectangle) {
	cols, rows := g.shape()
	w, _ := g.pixels()
	pixel := r.Size().X / vg.Length(w)
	for j, l := range g.RowLabels {
		if j < rows {
			y := r.Max.Y - pixel*(vg.Length(j*(g.H+g.gap()))+vg.Length(g.H)/2)
			paper.Write(c, l, textStyle(tickSize, draw.XRight, draw.YCenter), vg.Point{X: r.Min.X - 4, Y: y})
		}
	}
	for i, l := range g.ColLabels {
		if i < cols {
			x := r.Min.X + pixel*(vg.Length(g.column(i))+vg.Length(g.W)/2)
			paper.Write(c, l, textStyle(tickSize, draw.XCenter, draw.YBottom), vg.Point{X: x, Y: r.Max.Y + 4})
		}
	}
	if g.Title != "" {
		_, top := g.labels()
		sty := textStyle(titleSize, draw.XCenter, draw.YTop)
		paper.Write(c, g.Title, sty, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: r.Max.Y + top})
	}
}
