package data

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
)

// String describes the set in a line.
func (m *Images) String() string {
	return fmt.Sprintf("%s: %d images %d×%d×%d in %d classes, black %g, white %g", m.Name, m.n, m.c, m.h, m.w,
		len(m.Classes), m.Lo, m.Hi)
}

// Image is image i. Values outside [Lo, Hi] are clamped; of two channels, or more than three, only
// the first is shown.
func (m *Images) Image(i int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, m.w, m.h))
	row, size := m.Row(i), m.h*m.w
	at := func(channel, k int) uint8 {
		if m.c != 3 {
			channel = 0
		}
		v := (row[channel*size+k] - m.Lo) / (m.Hi - m.Lo)
		return uint8(255*min(max(v, 0), 1) + .5)
	}
	for k := range size {
		img.SetNRGBA(k%m.w, k/m.w, color.NRGBA{at(0, k), at(1, k), at(2, k), 255})
	}
	return img
}

// Picture shows the first images, up to 64 of them, in rows of 16.
func (m *Images) Picture() image.Image {
	const columns, most = 16, 64
	n := min(m.n, most)
	grid := image.NewNRGBA(image.Rect(0, 0, max(1, min(n, columns)*(m.w+1)), max(1, (n+columns-1)/columns*(m.h+1))))
	for i := range n {
		at := image.Pt(i%columns*(m.w+1), i/columns*(m.h+1))
		draw.Draw(grid, image.Rectangle{at, at.Add(image.Pt(m.w, m.h))}, m.Image(i), image.Point{}, draw.Src)
	}
	return grid
}
