package style

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/paper"
)

// Entry is one line of a legend.
type Entry struct {
	Name  string
	Thumb plot.Thumbnailer
}

// Legend is a list of entries that flows into the columns that fit. It is a [Drawer], and may stand alone as a panel.
type Legend []Entry

// named is an item that can stand in a legend.
type named interface {
	plot.Thumbnailer
	legendName() string
}

// Key collects the entries of items that have a Name; of several with one name the first counts.
func Key(items ...plot.Plotter) (l Legend) {
	for _, it := range items {
		if n, ok := it.(named); ok && n.legendName() != "" {
			l = l.with(Entry{Name: n.legendName(), Thumb: n})
		}
	}
	return l
}

func (l Legend) with(entries ...Entry) Legend {
next:
	for _, e := range entries {
		for _, have := range l {
			if have.Name == e.Name {
				continue next
			}
		}
		l = append(l, e)
	}
	return l
}

// useful is the legend where there is something to tell apart.
func (l Legend) useful() Legend {
	if len(l) < 2 {
		return nil
	}
	return l
}

// outer is the legend below a plot.
func (p Plot) outer() Legend {
	if p.NoLegend {
		return nil
	}
	return Key(p.Items...).useful()
}

// Measures of a legend in points.
const (
	thumbWidth = 18
	thumbGap   = 4
	rowHeight  = tickSize * 1.45
	columnGap  = 12
	legendGap  = 7 // between the axes and the legend
)

func (l Legend) entryWidth() (w vg.Length) {
	for _, e := range l {
		w = max(w, thumbWidth+thumbGap+paper.Width(e.Name, sans(tickSize)))
	}
	return w
}

// columns is how many columns fit into a width, evened out so that the last row is not much shorter.
func (l Legend) columns(w vg.Length) int {
	if len(l) == 0 {
		return 1
	}
	fit := min(max(int((w+columnGap)/(l.entryWidth()+columnGap)), 1), len(l))
	rows := (len(l) + fit - 1) / fit
	return (len(l) + rows - 1) / rows
}

func (l Legend) height(w vg.Length) vg.Length {
	n := l.columns(w)
	return vg.Length((len(l)+n-1)/n) * rowHeight
}

// strip is the height that the legend takes below axes of some width.
func (l Legend) strip(w vg.Length) vg.Length {
	if len(l) == 0 {
		return 0
	}
	return l.height(w) + legendGap
}

// below draws the legend at the lower edge of a rectangle and returns what remains.
func (l Legend) below(c vg.Canvas, r vg.Rectangle) vg.Rectangle {
	rest := r
	rest.Min.Y += l.strip(r.Size().X)
	r.Max.Y = rest.Min.Y - legendGap
	l.Draw(draw.Canvas{Canvas: c, Rectangle: r})
	return rest
}

// Draw draws the legend centred at the top of a rectangle.
func (l Legend) Draw(c draw.Canvas) {
	n, w := l.columns(c.Size().X), l.entryWidth()+columnGap
	left := c.Center().X - (vg.Length(n)*w-columnGap)/2
	for i, e := range l { // rows first, as one reads
		x, y := left+vg.Length(i%n)*w, c.Max.Y-(vg.Length(i/n)+0.5)*rowHeight
		thumb := draw.Canvas{Canvas: c, Rectangle: vg.Rectangle{
			Min: vg.Point{X: x, Y: y - 0.36*rowHeight},
			Max: vg.Point{X: x + thumbWidth, Y: y + 0.36*rowHeight},
		}}
		e.Thumb.Thumbnail(&thumb)
		paper.Write(c, e.Name, textStyle(tickSize, draw.XLeft, draw.YCenter),
			vg.Point{X: x + thumbWidth + thumbGap, Y: y})
	}
}

// thumbCentre is the middle of a thumbnail.
func thumbCentre(c *draw.Canvas) vg.Point {
	return vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: (c.Min.Y + c.Max.Y) / 2}
}
