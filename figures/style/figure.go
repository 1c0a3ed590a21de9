package style

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/paper"
)

// Widths of figures.
const (
	// OneColumn is the width of a column of a two-column journal, 85 mm.
	OneColumn = 85 * vg.Millimeter
	// TwoColumns is the width of a page, 176 mm.
	TwoColumns = 176 * vg.Millimeter
	// Screen is a comfortable width in a notebook, 140 mm.
	Screen = 140 * vg.Millimeter
)

// DPI is the resolution of PNG pictures unless the figure says otherwise.
const DPI = 200

// ErrFormat is wrapped by the error for an unknown file format.
var ErrFormat = paper.ErrFormat

// ErrData is wrapped by errors for data that cannot be drawn, such as slices of unequal length.
var ErrData = errors.New("cannot be drawn")

// A Drawer fills a part of a canvas: a [Plot], [Panels], [HeatMap], [ImageGrid], [Table], or a *plot.Plot of gonum.
type Drawer interface {
	Draw(c draw.Canvas)
}

// Figure is a finished picture. Its zero value with a Body is one column wide and as high as the body wishes.
type Figure struct {
	Body Drawer
	// Badge is a short remark in the lower right corner, such as how much smaller than the paper it is.
	Badge string
	// Width and Height of the picture. Zero means OneColumn, and the height that suits the body.
	Width, Height vg.Length
	// DPI is the resolution of PNG; zero means 200.
	DPI int
}

// Drawers of this package may have a natural height for a width, and may refuse their data.
type (
	sized   interface{ height(w vg.Length) vg.Length }
	checker interface{ check() error }
)

// margin is the white border of every figure.
const margin = vg.Length(4)

// Save writes the figure as "png", "svg" or "pdf". The bytes depend on the figure alone: no dates, no random names.
// It returns an error wrapping [ErrFormat] for another format and [ErrData] for data that cannot be drawn.
func (f Figure) Save(w io.Writer, format string) error {
	if err := check(f.Body); err != nil {
		return err
	}
	width, height := f.Size()
	dpi := cmp.Or(f.DPI, DPI)
	if dpi < 0 || width <= 0 || height <= 0 {
		return fmt.Errorf("style: Figure of %.3g × %.3g mm at %d dpi: %w", width/vg.Millimeter, height/vg.Millimeter,
			dpi, ErrData)
	}
	c, err := paper.New(width, height, format, dpi)
	if err != nil {
		return fmt.Errorf("style: save: %w", err)
	}
	f.Draw(draw.New(c))
	_, err = c.WriteTo(w)
	return err
}

func check(d Drawer) error {
	if c, ok := d.(checker); ok {
		return c.check()
	}
	return nil
}

// Size returns the size that the figure will have.
func (f Figure) Size() (w, h vg.Length) {
	w, h = cmp.Or(f.Width, OneColumn), f.Height
	if h == 0 {
		h = naturalHeight(f.Body, w-2*margin) + 2*margin + f.badgeHeight()
	}
	return w, h
}

// naturalHeight is a drawer's natural height at a width; the golden section if it has none.
func naturalHeight(d Drawer, w vg.Length) vg.Length {
	if s, ok := d.(sized); ok {
		return s.height(w)
	}
	return w * 0.66
}

func (f Figure) badgeHeight() vg.Length {
	if f.Badge == "" {
		return 0
	}
	return paper.Height(f.Badge, sans(badgeSize)) + 10
}

// Draw draws the figure on a canvas.
func (f Figure) Draw(c draw.Canvas) {
	fill(c, c.Rectangle, White)
	c = draw.Crop(c, margin, -margin, margin, -margin)
	if f.Badge != "" {
		badge(c, f.Badge)
		c.Min.Y += f.badgeHeight()
	}
	if f.Body != nil {
		f.Body.Draw(c)
	}
}

// badge draws a remark in a pale box in the lower right corner.
func badge(c draw.Canvas, remark string) {
	sty := textStyle(badgeSize, draw.XRight, draw.YBottom)
	sty.Color = badgeInk
	const padX, padY = 4, 3
	w, h := paper.Width(remark, sty.Font), paper.Height(remark, sty.Font)
	box := vg.Rectangle{
		Min: vg.Point{X: c.Max.X - w - 2*padX, Y: c.Min.Y},
		Max: vg.Point{X: c.Max.X, Y: c.Min.Y + h + 2*padY},
	}
	fill(c, box, badgePaper)
	outlineBox(c, box, draw.LineStyle{Color: badgeEdge, Width: 0.5})
	paper.Write(c, remark, sty, vg.Point{X: box.Max.X - padX, Y: box.Min.Y + padY})
}

var _ Drawer = (*plot.Plot)(nil)
