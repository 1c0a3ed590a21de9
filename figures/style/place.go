package style

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// transforms are the maps from data to the canvas. Places farther than a million times the canvas from it are moved
// to that distance: no eye sees the change of slope, but clipping there would lose all digits.
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
