package ot

import (
	"image"
	"image/color"
	"math"
)

// pictureSide is how many pixels a side of a Picture has at most.
const pictureSide = 400

// Picture is the plan as grey pixels, sources downwards: black is the largest entry, white is 0,
// and the grey level is the square root of the entry. Where there are more entries than pixels, a
// pixel shows the largest of its block. One pass, without the matrix.
func (p *Plan) Picture() image.Image {
	n, m := p.Dims()
	h, w := min(n, pictureSide), min(m, pictureSide)
	block, top := make([]float64, h*w), 0.
	row, cost := make([]float64, m), make([]float64, m)
	for i := range n {
		p.t.Row(i, row, cost)
		for j, t := range row {
			at := i*h/n*w + j*w/m
			block[at] = max(block[at], t)
			top = max(top, t)
		}
	}
	scale := max(1, pictureSide/2/max(h, w)) // small plans in large pixels
	img := image.NewGray(image.Rect(0, 0, scale*w, scale*h))
	for y := range scale * h {
		for x := range scale * w {
			img.SetGray(x, y,
				color.Gray{Y: 255 -
					uint8(255*math.Sqrt(block[y/scale*w+x/scale]/max(top, math.SmallestNonzeroFloat64)))})
		}
	}
	return img
}
