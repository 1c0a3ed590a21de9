package style

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Line is a curve through points, with an optional band around it (a mean and its confidence interval, say).
//
// It breaks at points that cannot be drawn: NaN, ±Inf, and what is not positive on a logarithmic axis.
type Line struct {
	// Name stands in the legend; a line without one does not.
	Name string
	// X and Y are the points, of equal length.
	X, Y []float64
	// Lo and Hi bound the band; both nil for none.
	Lo, Hi []float64
	// Series chooses colour, dashes and glyph by [Series].
	Series int
	// Color replaces the colour of the series.
	Color color.Color
	// Solid draws without dashes, where colours or labels suffice to tell lines apart.
	Solid bool
	// Marks draws the series' glyph at the points, at every k-th one where they are dense.
	Marks bool
	// Width of the line in points; zero means 1.2.
	Width vg.Length
}

func (l Line) legendName() string { return l.Name }

func (l Line) check() error {
	if len(l.X) != len(l.Y) {
		return fmt.Errorf("style: Line %q: %d X and %d Y: %w", l.Name, len(l.X), len(l.Y), ErrData)
	}
	if n := len(l.Lo); n != len(l.Hi) || n != 0 && n != len(l.Y) {
		return fmt.Errorf("style: Line %q: %d Y, %d Lo and %d Hi: %w", l.Name, len(l.Y), n, len(l.Hi), ErrData)
	}
	return nil
}

func (l Line) color() color.Color { return colorOr(l.Color, l.Series) }

func (l Line) stroke() draw.LineStyle {
	s := draw.LineStyle{Color: l.color(), Width: cmp.Or(l.Width, dataWidth)}
	if !l.Solid {
		s.Dashes = Series(l.Series).Dashes
	}
	return s
}

func (l Line) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.color(), Radius: 2, Shape: Series(l.Series).Glyph}
}

func (l Line) ranges(x, y Axis) (ex, ey extent) {
	return spans(x, l.X), spans(y, l.Y, l.Lo, l.Hi)
}

// Plot draws the band, the line and the marks.
func (l Line) Plot(c draw.Canvas, p *plot.Plot) {
	if len(l.Lo) > 0 {
		l.band(c, p)
	}
	for _, piece := range pieces(c, p, l.X, l.Y) {
		if len(piece) == 1 {
			// a lone point would be invisible
			c.DrawGlyph(draw.GlyphStyle{Color: l.color(), Radius: 1.4, Shape: draw.CircleGlyph{}}, piece[0])
			continue
		}
		c.StrokeLines(l.stroke(), c.ClipLinesXY(piece)...)
	}
	if l.Marks {
		l.marks(c, p)
	}
}

// marks draws the glyphs; where they would stand closer than about 7 points on average, evenly fewer.
func (l Line) marks(c draw.Canvas, p *plot.Plot) {
	const apart = 7
	var at []vg.Point
	var length float64
	for _, piece := range pieces(c, p, l.X, l.Y) {
		for i := 1; i < len(piece); i++ {
			d := piece[i].Sub(piece[i-1])
			length += min(math.Hypot(float64(d.X), float64(d.Y)), float64(c.Size().X))
		}
		at = append(at, piece...)
		length += apart // a piece of one point deserves its mark
	}
	every := 1
	if most := length / apart; float64(len(at)) > most {
		every = int(math.Ceil(float64(len(at)) / most))
	}
	for i := 0; i < len(at); i += every {
		c.DrawGlyph(l.glyph(), at[i])
	}
}

func (l Line) band(c draw.Canvas, p *plot.Plot) {
	n := min(len(l.X), len(l.Lo), len(l.Hi))
	x, y := transforms(c, p)
	var lower, upper []vg.Point
	flush := func() {
		if len(lower) > 1 {
			slices.Reverse(upper)
			c.FillPolygon(Fade(l.color(), 0.18), c.ClipPolygonXY(append(lower, upper...)))
		}
		lower, upper = nil, nil
	}
	for i := range n {
		lo := vg.Point{X: x(l.X[i]), Y: y(l.Lo[i])}
		hi := vg.Point{X: x(l.X[i]), Y: y(l.Hi[i])}
		if !finite(lo) && l.Lo[i] <= 0 { // a band that reaches zero on a log axis goes to the bottom
			lo.Y = c.Min.Y
		}
		if !finite(lo) || !finite(hi) {
			flush()
			continue
		}
		lower, upper = append(lower, lo), append(upper, hi)
	}
	flush()
}

// pieces are the stretches of a curve between points that cannot be drawn, on the canvas.
func pieces(c draw.Canvas, p *plot.Plot, xs, ys []float64) (out [][]vg.Point) {
	x, y := transforms(c, p)
	var piece []vg.Point
	for i := range min(len(xs), len(ys)) {
		pt := vg.Point{X: x(xs[i]), Y: y(ys[i])}
		if finite(pt) {
			piece = append(piece, pt)
			continue
		}
		if len(piece) > 0 {
			out, piece = append(out, piece), nil
		}
	}
	if len(piece) > 0 {
		out = append(out, piece)
	}
	return out
}

// Thumbnail draws the line, with its band and glyph, for a legend.
func (l Line) Thumbnail(c *draw.Canvas) {
	at := thumbCentre(c)
	if len(l.Lo) > 0 {
		fill(c, c.Rectangle, Fade(l.color(), 0.18))
	}
	c.StrokeLine2(l.stroke(), c.Min.X, at.Y, c.Max.X, at.Y)
	if l.Marks {
		c.DrawGlyphNoClip(l.glyph(), at)
	}
}
