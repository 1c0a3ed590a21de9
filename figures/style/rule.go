package style

import (
	"cmp"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/paper"
)

// Rule is a straight line across the plot at one value, such as a paper's number to compare with.
type Rule struct {
	// At is the value, on the vertical axis or, where Vertical, on the horizontal one.
	At       float64
	Vertical bool
	// Label stands at the end of the line.
	Label string
	// Start sets the label at the left or lower end rather than at the right or upper one.
	Start bool
	// Color of line and label; nil means dark grey.
	Color color.Color
}

func (r Rule) ranges(x, y Axis) (ex, ey extent) {
	if r.Vertical {
		return span(x, r.At), span(y)
	}
	return span(x), span(y, r.At)
}

// Plot draws the line and its label.
func (r Rule) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := transforms(c, p)
	col := cmp.Or[color.Color](r.Color, DarkGrey)
	line := draw.LineStyle{Color: col, Width: 0.8, Dashes: []vg.Length{2.5, 1.8}}
	sty := textStyle(tickSize, draw.XRight, draw.YBottom)
	sty.Color = col
	at := vg.Point{X: c.Max.X - 2, Y: c.Max.Y - 2}
	if r.Start {
		sty.XAlign, at = draw.XLeft, vg.Point{X: c.Min.X + 3, Y: c.Min.Y + 3}
	}
	if r.Vertical {
		x := trX(r.At)
		if !c.ContainsX(x) {
			return
		}
		c.StrokeLine2(line, x, c.Min.Y, x, c.Max.Y)
		sty.Rotation, at.X = math.Pi/2, x-2
	} else {
		y := trY(r.At)
		if !c.ContainsY(y) {
			return
		}
		c.StrokeLine2(line, c.Min.X, y, c.Max.X, y)
		at.Y = y + 2.5
		if at.Y+paper.Height(r.Label, sty.Font) > c.Max.Y+tickSize {
			sty.YAlign, at.Y = draw.YTop, y-2.5
		}
	}
	paper.Halo(c, r.Label, sty, at)
}

// Note is a word at a point of the plot.
type Note struct {
	// X and Y are the point that the note speaks of.
	X, Y float64
	// Text of the note.
	Text string
	// DX and DY carry the text away from the point, in points of length; the text grows in that direction.
	DX, DY vg.Length
}

func (n Note) ranges(x, y Axis) (ex, ey extent) { return span(x, n.X), span(y, n.Y) }

// Plot draws the note.
func (n Note) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := transforms(c, p)
	from := vg.Point{X: trX(n.X), Y: trY(n.Y)}
	if !c.Contains(from) {
		return
	}
	sty := textStyle(tickSize, draw.XCenter, draw.YCenter)
	switch {
	case n.DX > 0:
		sty.XAlign = draw.XLeft
	case n.DX < 0:
		sty.XAlign = draw.XRight
	case n.DY > 0:
		sty.YAlign = draw.YBottom
	case n.DY < 0:
		sty.YAlign = draw.YTop
	}
	at := vg.Point{X: from.X + n.DX, Y: from.Y + n.DY}
	paper.Halo(c, n.Text, sty, vg.Point{X: at.X + 2*vg.Length(cmp.Compare(n.DX, 0)), Y: at.Y})
}
