package sample

import (
	"fmt"
	"image"
	"image/png"
	"io"

	"coupling/data"
)

// columns is the number of images in a line of a sheet.
const columns = 50

// levels is the number of values that pixels take, at equal distances from black to white: 256 for bytes, in a PNG of
// 8 bits, or up to 65,536 for grey values, in one of 16 bits.
type levels int

// unit is the distance of two levels in the PNG, as wide as fits, so that a viewer shows white as nearly white.
func (l levels) unit() int {
	if l <= 256 {
		return 255 / int(l-1)
	}
	return 65535 / int(l-1)
}

// value is the k-th level of m.
func (l levels) value(m *data.Images, k int) float32 {
	return float32(float64(m.Lo) + float64(k)*(float64(m.Hi)-float64(m.Lo))/float64(l-1))
}

// decode reads the first m.Len() images of a sheet into m.
func (l levels) decode(r io.Reader, m *data.Images) error {
	picture, err := png.Decode(r)
	if err != nil {
		return fmt.Errorf("sheet: %w", err)
	}
	n, _, height, width := m.Shape()
	if b := picture.Bounds(); b.Dx() < min(n, columns)*width || b.Dy() < (n+columns-1)/columns*height {
		return fmt.Errorf("sheet: %d×%d pixels are too few for %d images of %d×%d", b.Dx(), b.Dy(), n, width, height)
	}
	level, err := reader(picture)
	if err != nil {
		return err
	}
	for i := range n {
		for at, row := 0, m.Row(i); at < len(row); at++ {
			k := level(i%columns*width+at%width, i/columns*height+at/width%height, at/(height*width))
			row[at] = l.value(m, k/l.unit())
		}
	}
	return nil
}

// reader returns the function that reads a channel of a pixel.
func reader(picture image.Image) (func(x, y, channel int) int, error) {
	switch p := picture.(type) {
	case *image.Gray:
		return func(x, y, _ int) int { return int(p.GrayAt(x, y).Y) }, nil
	case *image.Gray16:
		return func(x, y, _ int) int { return int(p.Gray16At(x, y).Y) }, nil
	case *image.RGBA:
		return func(x, y, channel int) int { return int(p.Pix[p.PixOffset(x, y)+channel]) }, nil
	}
	return nil, fmt.Errorf("sheet: a PNG of %T: want grey values or RGB without transparency", picture)
}
