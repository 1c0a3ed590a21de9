package style

import (
	"cmp"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Points are separate observations; plotter.YErrorBars of gonum draws error bars at them. Those
// that cannot be drawn (NaN, ±Inf, not positive on a logarithmic axis) are left out.
type Points struct {
	// Name stands in the legend.
	Name string
	// X and Y are the points, of equal length.
	X, Y []float64
	// Series chooses colour and glyph by [Series].
	Series int
	// Color replaces the colour of the series.
	Color color.Color
	// Radius of the glyphs in points; zero means 2.
	Radius vg.Length
	// Opacity of the glyphs, for clouds of many points; zero means 1.
	Opacity float64
}

func (s Points) legendName() string { return s.Name }

func (s Points) check() error {
	if len(s.X) != len(s.Y) {
		return fmt.Errorf("style: Points %q: %d X and %d Y: %w", s.Name, len(s.X), len(s.Y), ErrData)
	}
	return nil
}

func (s Points) glyph() draw.GlyphStyle {
	g := draw.GlyphStyle{Color: colorOr(s.Color, s.Series), Radius: cmp.Or(s.Radius, 2), Shape: Series(s.Series).Glyph}
	if s.Opacity > 0 {
		g.Color = Fade(g.Color, s.Opacity)
	}
	return g
}

func (s Points) ranges(x, y Axis) (ex, ey extent) {
	return spans(x, s.X), spans(y, s.Y)
}

// Plot draws the glyphs.
func (s Points) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := transforms(c, p)
	g := s.glyph()
	for i := range min(len(s.X), len(s.Y)) {
		if pt := (vg.Point{X: x(s.X[i]), Y: y(s.Y[i])}); finite(pt) {
			c.DrawGlyph(g, pt)
		}
	}
}

// Thumbnail draws the glyph for a legend.
func (s Points) Thumbnail(c *draw.Canvas) {
	at := thumbCentre(c)
	g := s.glyph()
	g.Radius = min(max(g.Radius, 1.6), 2.4)
	c.DrawGlyphNoClip(g, at)
}

// Bars are one series of a grouped bar chart: bar i is at i on the horizontal axis, whose Names
// label it. Values that cannot be drawn are left out.
type Bars struct {
	// Name stands in the legend.
	Name string
	// Y are the heights.
	Y []float64
	// Series chooses the colour by [Series].
	Series int
	// Of is the number of series that share each place, and At which of them this is, from 0. Zero Of means one.
	At, Of int
}

func (b Bars) legendName() string { return b.Name }

func (b Bars) check() error {
	if b.At < 0 || b.At >= max(b.Of, 1) {
		return fmt.Errorf("style: Bars %q: At = %d of %d: %w", b.Name, b.At, b.Of, ErrData)
	}
	return nil
}

func (b Bars) color() color.Color { return Series(b.Series).Color }

func (b Bars) ranges(x, y Axis) (ex, ey extent) {
	ex = span(x, -0.5, float64(len(b.Y))-0.5)
	ey = spans(y, b.Y, []float64{0})
	ex.sticky, ey.sticky = []float64{ex.lo, ex.hi}, []float64{0}
	return ex, ey
}

// Plot draws the bars.
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
		r := []vg.Point{{X: x(left), Y: base}, {X: x(left + width), Y: base}, {X: x(left + width), Y: y(v)},
			{X: x(left), Y: y(v)}}
		if !finite(r[0]) || !finite(r[2]) {
			continue
		}
		inset := min(0.4, (r[1].X-r[0].X)/8)
		r[0].X, r[3].X, r[1].X, r[2].X = r[0].X+inset, r[3].X+inset, r[1].X-inset, r[2].X-inset
		c.FillPolygon(b.color(), c.ClipPolygonXY(r))
	}
}

// Thumbnail draws a box for a legend.
func (b Bars) Thumbnail(c *draw.Canvas) { fill(c, c.Rectangle, b.color()) }
