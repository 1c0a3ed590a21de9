// Package warp moves the pixels of images.
package warp

import "math"

// Image writes to dst what src shows after a move: the pixel in column x and row y takes the value of src at the place from(x, y), linear
// between the four pixels around it, and 0 outside. Images have c channels of h×w pixels, row after row. Values of dst are convex
// combinations of 0 and values of src, up to rounding.
func Image[T float32 | float64](dst, src []T, c, h, w int, from func(x, y float64) (u, v float64)) {
	plane := h * w
	for y := range h {
		for x := range w {
			u, v := from(float64(x), float64(y))
			if !(u > -1 && u < float64(w) && v > -1 && v < float64(h)) { // also NaN
				for k := range c {
					dst[k*plane+y*w+x] = 0
				}
				continue
			}
			left, top := int(math.Floor(u)), int(math.Floor(v))
			a, b := T(u-float64(left)), T(v-float64(top))
			for k := range c {
				one := src[k*plane : (k+1)*plane]
				at := func(row, column int) T {
					if row < 0 || row >= h || column < 0 || column >= w {
						return 0
					}
					return one[row*w+column]
				}
				dst[k*plane+y*w+x] = (1-b)*((1-a)*at(top, left)+a*at(top, left+1)) + b*((1-a)*at(top+1, left)+a*at(top+1, left+1))
			}
		}
	}
}
