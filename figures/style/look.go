package style

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/hue"
	"coupling/figures/style/paper"
)

// Sizes of type in points, for figures printed at their own width.
const (
	titleSize = 8.5
	labelSize = 8
	tickSize  = 7
	badgeSize = 6.5
)

// The greys of the furniture. Data is in colour, everything else recedes.
var (
	// White is the colour of the page.
	White = color.NRGBA{R: 255, G: 255, B: 255, A: 255}
	// Black is the colour of text.
	Black = color.NRGBA{R: 0x1A, G: 0x1A, B: 0x1A, A: 255}
	// DarkGrey is the colour of axes and of reference lines.
	DarkGrey = color.NRGBA{R: 0x55, G: 0x55, B: 0x55, A: 255}
	// LightGrey is the colour of the grid.
	LightGrey = color.NRGBA{R: 0xE4, G: 0xE4, B: 0xE4, A: 255}

	badgeInk   = color.NRGBA{R: 0x6B, G: 0x52, B: 0x10, A: 255}
	badgePaper = color.NRGBA{R: 0xFF, G: 0xF8, B: 0xE1, A: 255}
	badgeEdge  = color.NRGBA{R: 0xE3, G: 0xCF, B: 0x94, A: 255}
)

// Widths of lines in points.
const (
	dataWidth = 1.2
	axisWidth = 0.6
	gridWidth = 0.5
)

// A Look is how one series of several is drawn: a colour, and for readers without colour a dash pattern and a glyph.
type Look struct {
	Color  color.NRGBA
	Dashes []vg.Length
	Glyph  draw.GlyphDrawer
}

// Series returns the look of the k-th series, k ≥ 0. Colours repeat after 7, dashes after 6 and
// glyphs after 8, so that no two of the first 168 series look alike.
func Series(k int) Look {
	dashes := [...][]vg.Length{nil, {5, 2}, {1.2, 1.6}, {6, 1.8, 1.2, 1.8}, {9, 2.5}, {5, 1.6, 1.2, 1.6, 1.2, 1.6}}
	glyphs := [...]draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.SquareGlyph{}, draw.PlusGlyph{},
		draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{},
	}
	return Look{Color: hue.Categorical(k), Dashes: dashes[k%len(dashes)], Glyph: glyphs[k%len(glyphs)]}
}

// colorOr is c, or the colour of a series where there is none.
func colorOr(c color.Color, series int) color.Color {
	if c != nil {
		return c
	}
	return Series(series).Color
}

// Fade returns a colour at a fraction of its opacity, from 0 to 1.
func Fade(c color.Color, alpha float64) color.NRGBA {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	n.A = uint8(math.Round(float64(n.A) * min(max(alpha, 0), 1)))
	return n
}

func sans(size vg.Length) font.Font { return paper.Sans(size) }

func textStyle(size vg.Length, x draw.XAlignment, y draw.YAlignment) text.Style {
	return text.Style{Color: Black, Font: sans(size), XAlign: x, YAlign: y}
}

func fill(c vg.Canvas, r vg.Rectangle, col color.Color) {
	c.SetColor(col)
	c.Fill(r.Path())
}

func outlineBox(c vg.Canvas, r vg.Rectangle, sty draw.LineStyle) {
	d := draw.Canvas{Canvas: c, Rectangle: r}
	d.SetLineStyle(sty)
	d.Stroke(r.Path())
}
