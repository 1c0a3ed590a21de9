package style

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The glyphs of the series, of about equal visual weight. The filled ones come first.
type (
	disc     struct{}
	box      struct{}
	diamond  struct{}
	triangle struct{ down bool }
	plus     struct{}
	cross    struct{}
	ring     struct{}
)

// polygon fills the points given as multiples of the radius.
func polygon(c *draw.Canvas, r vg.Length, at vg.Point, xy ...vg.Length) {
	var p vg.Path
	for i := 0; i < len(xy); i += 2 {
		q := vg.Point{X: at.X + r*xy[i], Y: at.Y + r*xy[i+1]}
		if i == 0 {
			p.Move(q)
		} else {
			p.Line(q)
		}
	}
	p.Close()
	c.Fill(p)
}

func circle(at vg.Point, r vg.Length) (p vg.Path) {
	p.Move(vg.Point{X: at.X + r, Y: at.Y})
	p.Arc(at, r, 0, 2*math.Pi)
	p.Close()
	return p
}

func (disc) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	c.Fill(circle(at, sty.Radius))
}

func (box) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	const a = 0.89
	polygon(c, sty.Radius, at, -a, -a, a, -a, a, a, -a, a)
}

func (diamond) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	const a = 1.3
	polygon(c, sty.Radius, at, -a, 0, 0, -a, a, 0, 0, a)
}

func (g triangle) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	r := sty.Radius * 1.35
	if g.down {
		polygon(c, r, at, 0, -0.95, 0.866, 0.55, -0.866, 0.55)
		return
	}
	polygon(c, r, at, 0, 0.95, 0.866, -0.55, -0.866, -0.55)
}

func (plus) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	const a, b = 1.25, 0.36
	polygon(c, sty.Radius, at, -b, -a, b, -a, b, -b, a, -b, a, b, b, b, b, a, -b, a, -b, b, -a, b, -a, -b, -b, -b)
}

func (cross) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	const a, b = 1.25 * math.Sqrt2 / 2, 0.36 * math.Sqrt2 / 2
	const s, d = a + b, a - b
	polygon(c, sty.Radius, at, -s, -d, -d, -s, 0, -2*b, d, -s, s, -d, 2*b, 0, s, d, d, s, 0, 2*b, -d, s, -s, d, -2*b, 0)
}

func (ring) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: sty.Color, Width: 0.45 * sty.Radius})
	c.Stroke(circle(at, 0.85*sty.Radius))
}
