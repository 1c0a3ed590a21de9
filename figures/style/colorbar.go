package style

import (
	"image"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/hue"
	"coupling/figures/style/paper"
	"coupling/figures/style/raster"
	"coupling/figures/style/tick"
)

// Scale sends values to colours.
type Scale struct {
	// Map is the colour map; nil means hue.Viridis.
	Map hue.Map
	// Lo and Hi are the values of the map's ends, positive on a logarithmic scale. Where they are
	// equal both come from the data.
	Lo, Hi float64
	// Log makes the scale logarithmic. What is below Lo, or below 10⁻⁴ of the highest value where
	// Lo comes from the data, is drawn in the colour of the lower end.
	Log bool
}

func (s Scale) colors() hue.Map {
	if s.Map == nil {
		return hue.Viridis
	}
	return s.Map
}

// fixed returns the scale with both ends set, from values where they are not.
func (s Scale) fixed(lo, hi float64) Scale {
	switch {
	case s.Lo != s.Hi:
		return s
	case s.Log && hi > 0:
		lo = hi * 1e-4
	case lo > hi || s.Log:
		lo, hi = 0.1, 1
	case lo == hi: // a constant: any range that holds it
		lo, hi = lo-max(math.Abs(lo), 1)/2, hi+max(math.Abs(hi), 1)/2
	}
	s.Lo, s.Hi = lo, hi
	return s
}

// position of a value on a fixed scale, 0 at Lo and 1 at Hi; NaN stays NaN.
func (s Scale) position(v float64) float64 {
	if s.Log {
		if v <= 0 {
			return 0
		}
		return tick.LogScale{}.Normalize(s.Lo, s.Hi, v)
	}
	return plot.LinearScale{}.Normalize(s.Lo, s.Hi, v)
}

// ColorBar is the key of a [Scale]: a vertical bar with marks. Both ends of its scale must be set when it stands
// alone; a [HeatMap] draws its own.
type ColorBar struct {
	Scale Scale
	// Label stands beside the bar.
	Label string
}

// Measures of a colour bar in points.
const (
	barWidth = 7
	barGap   = 7 // between the picture and its bar
)

func (b ColorBar) ticks(length vg.Length) []plot.Tick {
	s := b.Scale.fixed(0, 1)
	return Axis{Log: s.Log}.fitting(s.Lo, s.Hi, length*0.7, false).Ticks(s.Lo, s.Hi)
}

// width is that of the bar with its labels, for a bar of usual length.
func (b ColorBar) width() vg.Length {
	w := barWidth + tickLength + tickGap + widest(b.ticks(100))
	if b.Label != "" {
		w += labelGap + paper.Height(b.Label, sans(tickSize)) + 2
	}
	return w
}

// Draw draws the bar at the left edge of the rectangle, over its full height.
func (b ColorBar) Draw(c draw.Canvas) {
	s := b.Scale.fixed(0, 1)
	rect := vg.Rectangle{Min: c.Min, Max: vg.Point{X: c.Min.X + barWidth, Y: c.Max.Y}}
	const steps = 256
	img := image.NewRGBA(image.Rect(0, 0, 1, steps))
	for i := range steps {
		img.Set(0, i, s.colors()(1-(float64(i)+0.5)/steps))
	}
	raster.Draw(c, rect, img)
	line := draw.LineStyle{Color: DarkGrey, Width: 0.5}
	outlineBox(c, rect, line)

	sty := textStyle(tickSize, draw.XLeft, draw.YCenter)
	ticks := b.ticks(rect.Size().Y)
	right := rect.Max.X + tickLength + tickGap
	for _, t := range ticks {
		y := c.Min.Y + vg.Length(s.position(t.Value))*rect.Size().Y
		if !c.ContainsY(y) {
			continue
		}
		c.StrokeLine2(line, rect.Max.X, y, rect.Max.X+markLength(t), y)
		paper.Write(c, t.Label, sty, vg.Point{X: right, Y: y})
	}
	if b.Label != "" {
		sty.XAlign, sty.YAlign, sty.Rotation = draw.XCenter, draw.YTop, math.Pi/2
		paper.Write(c, b.Label, sty, vg.Point{X: right + widest(ticks) + labelGap, Y: c.Center().Y})
	}
}
