package style

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Histogram shows how a sample is distributed. NaN and infinite values are left out.
type Histogram struct {
	// Name stands in the legend.
	Name string
	// Data is the sample.
	Data []float64
	// Edges of the bins, increasing; values outside are left out. Nil: equal bins over the data, as many as the rule of
	// Freedman and Diaconis (1981) says, between 1 and 200. Give them to compare histograms.
	Edges []float64
	// Density scales the bars to an area of one.
	Density bool
	// Series chooses the colour by [Series]; Color replaces it.
	Series int
	Color  color.Color
}

func (h Histogram) legendName() string { return h.Name }

func (h Histogram) check() error {
	for i, e := range h.Edges {
		if e-e != 0 || (i > 0 && !(h.Edges[i-1] < e)) {
			return fmt.Errorf("style: Histogram %q: Edges[%d] = %v: must be finite and increase: %w", h.Name, i, e, ErrData)
		}
	}
	if len(h.Edges) == 1 {
		return fmt.Errorf("style: Histogram %q: one edge makes no bin: %w", h.Name, ErrData)
	}
	return nil
}

// bars returns the edges and the heights of the bins.
func (h Histogram) bars() (edges, heights []float64) {
	data := make([]float64, 0, len(h.Data))
	for _, v := range h.Data {
		if v-v == 0 {
			data = append(data, v)
		}
	}
	slices.Sort(data)
	edges = h.Edges
	if len(edges) == 0 {
		edges = binEdges(data)
	}
	if len(edges) < 2 {
		return nil, nil
	}
	heights = make([]float64, len(edges)-1)
	var n float64
	for _, v := range data {
		k, found := slices.BinarySearch(edges, v)
		if !found || k == len(edges)-1 { // the last bin holds its upper edge
			k--
		}
		if k >= 0 && k < len(heights) {
			heights[k]++
			n++
		}
	}
	if h.Density && n > 0 {
		for k := range heights {
			heights[k] /= n * (edges[k+1] - edges[k])
		}
	}
	return edges, heights
}

// binEdges are those of equal bins of width 2·IQR·n^(−1/3) over sorted data.
func binEdges(data []float64) []float64 {
	if len(data) == 0 {
		return nil
	}
	n, lo, hi := len(data), data[0], data[len(data)-1]
	if lo == hi {
		half := max(math.Abs(lo)/2, 0.5)
		return []float64{lo - half, lo + half}
	}
	bins := math.Ceil(math.Sqrt(float64(n)))
	if width := 2 * (data[3*(n-1)/4] - data[(n-1)/4]) / math.Cbrt(float64(n)); width > 0 {
		bins = math.Ceil(hi/width - lo/width)
	}
	k := int(min(max(bins, 1), 200))
	edges := make([]float64, k+1)
	for i := range edges {
		t := float64(i) / float64(k)
		edges[i] = lo*(1-t) + hi*t
	}
	edges[k] = hi
	return edges
}

func (h Histogram) ranges(x, y Axis) (ex, ey extent) {
	edges, heights := h.bars()
	ex, ey = span(x, edges...), span(y, append(heights, 0)...)
	ey.sticky = []float64{0}
	return ex, ey
}

func (h Histogram) color() color.Color { return colorOr(h.Color, h.Series) }

// Plot draws the bars as one shape with an outline.
func (h Histogram) Plot(c draw.Canvas, p *plot.Plot) {
	edges, heights := h.bars()
	x, y := transforms(c, p)
	base := y(0)
	if !finite(vg.Point{Y: base}) {
		base = c.Min.Y
	}
	var top []vg.Point
	for k, v := range heights {
		at := y(v)
		if !finite(vg.Point{Y: at}) {
			at = base
		}
		top = append(top, vg.Point{X: x(edges[k]), Y: at}, vg.Point{X: x(edges[k+1]), Y: at})
	}
	if len(top) == 0 {
		return
	}
	shape := append([]vg.Point{{X: top[0].X, Y: base}}, top...)
	shape = append(shape, vg.Point{X: top[len(top)-1].X, Y: base})
	for _, q := range shape {
		if !finite(q) {
			return // edges that are not positive on a logarithmic axis
		}
	}
	c.FillPolygon(Fade(h.color(), 0.3), c.ClipPolygonXY(shape))
	c.StrokeLines(draw.LineStyle{Color: h.color(), Width: 0.9}, c.ClipLinesXY(shape)...)
}

// Thumbnail draws a box for a legend.
func (h Histogram) Thumbnail(c *draw.Canvas) {
	fill(c, c.Rectangle, Fade(h.color(), 0.3))
	outlineBox(c, c.Rectangle, draw.LineStyle{Color: h.color(), Width: 0.9})
}
