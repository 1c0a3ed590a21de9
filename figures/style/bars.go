package style

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars are one series of a grouped bar chart: bar i is at i on the horizontal axis, whose Names
// label it. Values that cannot be drawn are left out.
type Bars struct {
	// Name stands in the legend.
	Name string
	// Y are the heights.
	Y []float64
	// Lo and Hi are the ends of error bars; both nil for none.
	Lo, Hi []float64
	// Series chooses the colour by [Series]; Color replaces it.
	Series int
	Color  color.Color
	// Of is the number of series that share each place, and At which of them this is, from 0. Zero Of means one.
	At, Of int
}

func (b Bars) legendName() string { return b.Name }

func (b Bars) check() error {
	if b.At < 0 || b.At >= max(b.Of, 1) {
		return fmt.Errorf("style: Bars %q: At = %d of %d: %w", b.Name, b.At, b.Of, ErrData)
	}
	return checkBand("Bars", b.Name, len(b.Y), b.Lo, b.Hi)
}

func (b Bars) color() color.Color { return colorOr(b.Color, b.Series) }

func (b Bars) ranges(x, y Axis) (ex, ey extent) {
	ex = span(x, -0.5, float64(len(b.Y))-0.5)
	ey = spans(y, b.Y, b.Lo, b.Hi, []float64{0})
	ex.sticky, ey.sticky = []float64{ex.lo, ex.hi}, []float64{0}
	return ex, ey
}

// Plot draws the bars and their error bars.
func (b Bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := transforms(c, p)
	base := y(0)
	if !finite(vg.Point{Y: base}) {
		base = c.Min.Y
	}
	const group = 0.76 // of the distance between groups
	width := group / float64(max(b.Of, 1))
	for i, v := range b.Y {
		left := float64(i) - group/2 + width*float64(b.At)
		r := []vg.Point{{X: x(left), Y: base}, {X: x(left + width), Y: base}, {X: x(left + width), Y: y(v)}, {X: x(left), Y: y(v)}}
		if !finite(r[0]) || !finite(r[2]) {
			continue
		}
		inset := min(0.4, (r[1].X-r[0].X)/8)
		r[0].X, r[3].X, r[1].X, r[2].X = r[0].X+inset, r[3].X+inset, r[1].X-inset, r[2].X-inset
		c.FillPolygon(b.color(), c.ClipPolygonXY(r))
		if i < len(b.Lo) && i < len(b.Hi) {
			errorBar(c, Black, x(left+width/2), y(b.Lo[i]), y(b.Hi[i]))
		}
	}
}

// Thumbnail draws a box for a legend.
func (b Bars) Thumbnail(c *draw.Canvas) { fill(c, c.Rectangle, b.color()) }
