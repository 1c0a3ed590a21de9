package style

import (
	"cmp"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/paper"
)

// Distances of the furniture in points.
const (
	tickLength = 2.5
	tickGap    = 2 // between a mark and its label
	labelGap   = 4 // between tick labels and the axis's label
	titleGap   = 5
)

// insets are the widths that a drawer needs around its data area.
type insets struct{ left, right, bottom, top vg.Length }

// framed is a drawer with a data area, which panels align with those of its neighbours.
type framed interface {
	// insets for a drawer of about this size in all.
	insets(size vg.Point) insets
	// drawIn draws with the given data area.
	drawIn(c vg.Canvas, data vg.Rectangle)
}

// within is the data area that insets leave of a rectangle.
func (in insets) within(r vg.Rectangle) vg.Rectangle {
	r.Min.X += in.left
	r.Max.X -= in.right
	r.Min.Y += in.bottom
	r.Max.Y -= in.top
	if r.Max.X < r.Min.X+1 {
		r.Max.X = r.Min.X + 1
	}
	if r.Max.Y < r.Min.Y+1 {
		r.Max.Y = r.Min.Y + 1
	}
	return r
}

// Draw draws the plot with its legend.
func (p Plot) Draw(c draw.Canvas) {
	r := p.outer().below(c, c.Rectangle)
	p.drawIn(c, p.insets(r.Size()).within(r))
}

func (p Plot) height(w vg.Length) vg.Length {
	in := p.insets(vg.Point{X: w, Y: 0.7 * w})
	return in.bottom + in.top + vg.Length(cmp.Or(p.Aspect, 0.7))*(w-in.left-in.right) + p.outer().strip(w)
}

func (p Plot) insets(size vg.Point) (in insets) {
	p = p.remarked()
	g := p.axes(vg.Point{X: 0.85 * size.X, Y: 0.8 * size.Y})
	label, small := sans(labelSize), sans(tickSize)
	in.top, in.right = 2, 3
	if p.Title != "" {
		in.top = paper.Height(p.Title, sans(titleSize)) + titleGap
	}
	if y := widest(majors(g.Y)); y > 0 {
		in.left += y + tickGap + tickLength
		in.top = max(in.top, paper.Height("0", small)/2)
	}
	if x := majors(g.X); len(x) > 0 {
		in.bottom += tallest(x) + tickGap + tickLength
		// Labels at the ends of the axis stick out by half of their width.
		for _, t := range x {
			at, half := g.X.Norm(t.Value), paper.Width(t.Label, small)/2
			in.right = max(in.right, half-vg.Length(1-at)*0.85*size.X)
			in.left = max(in.left, half-vg.Length(at)*0.85*size.X)
		}
	}
	if p.Y.title() != "" {
		in.left += paper.Height(p.Y.title(), label) + labelGap + 0.25*labelSize
	}
	if p.X.title() != "" {
		in.bottom += paper.Height(p.X.title(), label) + labelGap + 0.25*labelSize
	}
	if p.Bar != nil {
		in.right = barGap + p.Bar.width()
	}
	return in
}

// majors are the labelled marks within the range of an axis.
func majors(a plot.Axis) (out []plot.Tick) {
	for _, t := range a.Tick.Marker.Ticks(a.Min, a.Max) {
		if at := a.Norm(t.Value); !t.IsMinor() && at > -1e-6 && at < 1+1e-6 {
			out = append(out, t)
		}
	}
	return out
}

func widest(ticks []plot.Tick) (w vg.Length) {
	for _, t := range ticks {
		w = max(w, paper.Width(t.Label, sans(tickSize)))
	}
	return w
}

func tallest(ticks []plot.Tick) (h vg.Length) {
	for _, t := range ticks {
		if t.Label != " " {
			h = max(h, paper.Height(t.Label, sans(tickSize)))
		}
	}
	return h
}

func (p Plot) drawIn(c vg.Canvas, data vg.Rectangle) {
	p = p.remarked()
	d := draw.Canvas{Canvas: c, Rectangle: data}
	g := p.axes(data.Size())
	grid := draw.LineStyle{Color: LightGrey, Width: gridWidth}
	for _, t := range majors(g.X) {
		if x := d.X(g.X.Norm(t.Value)); !p.NoGrid && len(p.X.Names) == 0 {
			d.StrokeLine2(grid, x, d.Min.Y, x, d.Max.Y)
		}
	}
	for _, t := range majors(g.Y) {
		if y := d.Y(g.Y.Norm(t.Value)); !p.NoGrid && len(p.Y.Names) == 0 {
			d.StrokeLine2(grid, d.Min.X, y, d.Max.X, y)
		}
	}
	for _, it := range p.Items {
		it.Plot(d, g)
	}
	p.X.draw(d, g.X, true)
	p.Y.draw(d, g.Y, false)
	if p.Title != "" {
		paper.Write(d, p.Title, textStyle(titleSize, draw.XCenter, draw.YBottom),
			vg.Point{X: d.Center().X, Y: d.Max.Y + titleGap})
	}
	if p.Bar != nil {
		at := vg.Rectangle{Min: vg.Point{X: d.Max.X + barGap, Y: d.Min.Y},
			Max: vg.Point{X: d.Max.X + barGap + p.Bar.width(), Y: d.Max.Y}}
		p.Bar.Draw(draw.Canvas{Canvas: c, Rectangle: at})
	}
}

// draw draws a line along the data area, its marks with their labels, and the axis's label.
func (a Axis) draw(d draw.Canvas, g plot.Axis, across bool) {
	labels, title := textStyle(tickSize, draw.XRight, draw.YCenter), textStyle(labelSize, draw.XCenter, draw.YBottom)
	room, gap := widest, vg.Length(labelGap+0.25*labelSize)
	title.Rotation = math.Pi / 2
	if across {
		labels, title = textStyle(tickSize, draw.XCenter, draw.YTop), textStyle(labelSize, draw.XCenter, draw.YTop)
		room, gap = tallest, labelGap
	}
	// at is the place at a share of the axis, so far outward.
	at := func(share float64, out vg.Length) vg.Point {
		if across {
			return vg.Point{X: d.X(share), Y: d.Min.Y - out}
		}
		return vg.Point{X: d.Min.X - out, Y: d.Y(share)}
	}
	stroke := func(from, to vg.Point) {
		d.StrokeLine2(draw.LineStyle{Color: DarkGrey, Width: axisWidth}, from.X, from.Y, to.X, to.Y)
	}
	stroke(at(0, 0), at(1, 0))
	if ticks := majors(g); len(ticks) > 0 {
		for _, t := range ticks {
			paper.Write(d, t.Label, labels, at(g.Norm(t.Value), tickLength+tickGap))
		}
		gap += tickLength + tickGap + room(ticks)
	}
	for _, t := range g.Tick.Marker.Ticks(g.Min, g.Max) {
		share := g.Norm(t.Value)
		if from := at(share, 0); d.Contains(from) && !a.unmarked && len(a.Names) == 0 {
			stroke(from, at(share, markLength(t)))
		}
	}
	if s := a.title(); s != "" {
		paper.Write(d, s, title, at(0.5, gap))
	}
}

func markLength(t plot.Tick) vg.Length {
	if t.IsMinor() {
		return tickLength * 0.55
	}
	return tickLength
}
