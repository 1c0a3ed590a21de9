package style

import (
	"cmp"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Points are separate observations, with optional vertical error bars. Those that cannot be drawn (NaN, ±Inf, not
// positive on a logarithmic axis) are left out.
type Points struct {
	// Name stands in the legend.
	Name string
	// X and Y are the points, of equal length.
	X, Y []float64
	// Lo and Hi are the ends of error bars; both nil for none.
	Lo, Hi []float64
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
	return checkBand("Points", s.Name, len(s.Y), s.Lo, s.Hi)
}

func (s Points) glyph() draw.GlyphStyle {
	g := draw.GlyphStyle{Color: colorOr(s.Color, s.Series), Radius: cmp.Or(s.Radius, 2), Shape: Series(s.Series).Glyph}
	if s.Opacity > 0 {
		g.Color = Fade(g.Color, s.Opacity)
	}
	return g
}

func (s Points) ranges(x, y Axis) (ex, ey extent) {
	return spans(x, s.X), spans(y, s.Y, s.Lo, s.Hi)
}

// Plot draws the error bars and then the glyphs.
func (s Points) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := transforms(c, p)
	g := s.glyph()
	for i := range min(len(s.X), len(s.Lo), len(s.Hi)) {
		lo, hi := y(s.Lo[i]), y(s.Hi[i])
		if s.Lo[i] <= 0 && !finite(vg.Point{Y: lo}) {
			lo = c.Min.Y
		}
		errorBar(c, g.Color, x(s.X[i]), lo, hi)
	}
	for i := range min(len(s.X), len(s.Y)) {
		if pt := (vg.Point{X: x(s.X[i]), Y: y(s.Y[i])}); finite(pt) {
			c.DrawGlyph(g, pt)
		}
	}
}

// errorBar draws a bar with short caps, as far as it is inside of the canvas.
func errorBar(c draw.Canvas, col color.Color, x, lo, hi vg.Length) {
	if !finite(vg.Point{X: x, Y: lo}) || !finite(vg.Point{Y: hi}) || !c.ContainsX(x) {
		return
	}
	const half = 1.8
	sty := draw.LineStyle{Color: col, Width: 0.8}
	c.StrokeLines(sty, c.ClipLinesY([]vg.Point{{X: x, Y: lo}, {X: x, Y: hi}})...)
	for _, y := range []vg.Length{lo, hi} {
		if c.ContainsY(y) {
			c.StrokeLine2(sty, x-half, y, x+half, y)
		}
	}
}

// Thumbnail draws the glyph, with its error bar, for a legend.
func (s Points) Thumbnail(c *draw.Canvas) {
	at := thumbCentre(c)
	g := s.glyph()
	g.Radius = min(max(g.Radius, 1.6), 2.4)
	if len(s.Lo) > 0 {
		errorBar(*c, g.Color, at.X, c.Min.Y, c.Max.Y)
	}
	c.DrawGlyphNoClip(g, at)
}
