package style

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Plot is one pair of axes and what is drawn between them. Items are this package's [Line],
// [Points], [Bars], [Heat], [Coupling], [Rule] and [Note], or any plotter of gonum.
// The first item is drawn first.
//
// NaN and infinite values, and values that are not positive on a logarithmic axis, are left out: a
// line breaks there.
type Plot struct {
	Title string
	X, Y  Axis
	Items []plot.Plotter
	// NoLegend leaves out the legend below, which lists the items that have a Name, if there are
	// two or more.
	NoLegend bool
	// Bar is a colour bar on the right, from [Heat.Bar].
	Bar *ColorBar
	// Square makes a unit of x as long as a unit of y.
	Square bool
	// NoGrid leaves out the grid.
	NoGrid bool
	// Aspect is height over width of the data area where the figure's height is free; zero means 0.7.
	Aspect float64
}

// ranger is an item that knows its range on linear or logarithmic axes.
type ranger interface {
	ranges(x, y Axis) (ex, ey extent)
}

func (p Plot) check() error {
	for i, it := range p.Items {
		if c, ok := it.(checker); ok {
			if err := c.check(); err != nil {
				return fmt.Errorf("style: item %d of the plot: %w", i, err)
			}
		}
	}
	return nil
}

// axes prepares a gonum plot with the ranges and scales of p, for items to be drawn on a data area
// of a size.
func (p Plot) axes(size vg.Point) *plot.Plot {
	g := plot.New()
	ex, ey := p.extents()
	g.X.Min, g.X.Max = p.X.bounds(ex)
	g.Y.Min, g.Y.Max = p.Y.bounds(ey)
	if p.Square && !p.X.Log && !p.Y.Log {
		squareUp(g, size)
	}
	g.X.Scale, g.Y.Scale = p.X.scale(), p.Y.scale()
	g.X.Tick.Marker = p.X.fitting(g.X.Min, g.X.Max, size.X, true)
	g.Y.Tick.Marker = p.Y.fitting(g.Y.Min, g.Y.Max, size.Y, false)
	return g
}

// squareUp widens one range until units are as long on both axes.
func squareUp(g *plot.Plot, size vg.Point) {
	if size.X <= 0 || size.Y <= 0 {
		return
	}
	perX, perY := (g.X.Max-g.X.Min)/size.X.Points(), (g.Y.Max-g.Y.Min)/size.Y.Points()
	grow := func(a *plot.Axis, by float64) {
		mid, half := (a.Min+a.Max)/2, (a.Max-a.Min)/2*by
		a.Min, a.Max = mid-half, mid+half
	}
	if perX < perY {
		grow(&g.X, perY/perX)
	} else {
		grow(&g.Y, perX/perY)
	}
}

// extents is the union of the items' ranges.
func (p Plot) extents() (ex, ey extent) {
	ex, ey = span(p.X), span(p.Y)
	for _, it := range p.Items {
		switch r := it.(type) {
		case ranger:
			x, y := r.ranges(p.X, p.Y)
			ex, ey = ex.union(x), ey.union(y)
		case plot.DataRanger:
			x0, x1, y0, y1 := r.DataRange()
			ex, ey = ex.union(span(p.X, x0, x1)), ey.union(span(p.Y, y0, y1))
		}
	}
	return ex, ey
}

func (e extent) union(f extent) extent {
	return extent{
		lo:     min(e.lo, f.lo),
		hi:     max(e.hi, f.hi),
		sticky: append(e.sticky, f.sticky...),
		beyond: e.beyond + f.beyond,
		other:  e.other + f.other,
	}
}

// span is the extent of the values that an axis can show.
func span(a Axis, values ...float64) extent {
	e := extent{lo: math.Inf(1), hi: math.Inf(-1)}
	for _, v := range values {
		switch size := math.Abs(v); {
		case a.drawable(v):
			e.lo, e.hi = min(e.lo, v), max(e.hi, v)
		case size <= math.MaxFloat64 && (size >= limit || a.Log && v > 0):
			e.beyond++
		default:
			e.other++
		}
	}
	return e
}

// remarked is p whose axes name what they cannot show.
func (p Plot) remarked() Plot {
	ex, ey := p.extents()
	p.X.remark, p.Y.remark = ex.remark(), ey.remark()
	return p
}

// spans is the extent of several slices.
func spans(a Axis, slices ...[]float64) extent {
	e := span(a)
	for _, s := range slices {
		e = e.union(span(a, s...))
	}
	return e
}

// transforms are the maps from data to the canvas. Places farther than a million times the canvas
// from it are moved to that distance: no eye sees the change of slope, but clipping there would
// lose all digits.
func transforms(c draw.Canvas, p *plot.Plot) (x, y func(float64) vg.Length) {
	trX, trY := p.Transforms(&c)
	size := c.Size()
	return near(trX, c.Min.X, size.X), near(trY, c.Min.Y, size.Y)
}

func near(tr func(float64) vg.Length, from, size vg.Length) func(float64) vg.Length {
	const far = 1e6
	return func(v float64) vg.Length {
		at := tr(v)
		if math.IsInf(float64(at), 0) { // stays infinite, so that it is left out
			return at
		}
		return min(max(at, from-far*size), from+far*size)
	}
}

// finite tells whether a place exists.
func finite(p vg.Point) bool {
	s := float64(p.X) + float64(p.Y)
	return !math.IsNaN(s) && !math.IsInf(s, 0)
}
