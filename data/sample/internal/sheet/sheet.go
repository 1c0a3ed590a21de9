// Package sheet keeps small images without loss in a PNG picture that shows them side by side.
package sheet

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"

	"coupling/data"
)

// Columns is the number of images in a line of a sheet.
const Columns = 50

// Levels is the number of values that pixels take, at equal distances from black to white: 256 for bytes, in a PNG of
// 8 bits, or up to 65,536 for grey values, in one of 16 bits.
type Levels int

// unit is the distance of two levels in the PNG, as wide as fits, so that a viewer shows white as nearly white.
func (l Levels) unit() int {
	if l <= 256 {
		return 255 / int(l-1)
	}
	return 65535 / int(l-1)
}

// value is the k-th level of m.
func (l Levels) value(m *data.Images, k int) float32 {
	return float32(float64(m.Lo) + float64(k)*(float64(m.Hi)-float64(m.Lo))/float64(l-1))
}

// Encode writes m, of one or three channels. It refuses values that are not levels.
func (l Levels) Encode(w io.Writer, m *data.Images) error {
	n, c, height, width := m.Shape()
	frame := image.Rect(0, 0, min(n, Columns)*width, (n+Columns-1)/Columns*height)
	grey, deep, colour := image.NewGray(frame), image.NewGray16(frame), image.NewRGBA(frame)
	for i := range n {
		for at, v := range m.Row(i) {
			k := int(math.Round((float64(v) - float64(m.Lo)) / (float64(m.Hi) - float64(m.Lo)) * float64(l-1)))
			if l.value(m, k) != v {
				return fmt.Errorf("sheet: image %d: value %v is none of %d levels in [%v, %v]", i, v, l, m.Lo, m.Hi)
			}
			channel, y, x := at/(height*width), i/Columns*height+at/width%height, i%Columns*width+at%width
			switch {
			case c == 3:
				p := colour.PixOffset(x, y)
				colour.Pix[p+channel], colour.Pix[p+3] = uint8(k*l.unit()), 255
			case l > 256:
				deep.SetGray16(x, y, color.Gray16{Y: uint16(k * l.unit())})
			default:
				grey.SetGray(x, y, color.Gray{Y: uint8(k * l.unit())})
			}
		}
	}
	var picture image.Image = grey
	if c == 3 {
		picture = colour
	} else if l > 256 {
		picture = deep
	}
	return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, picture)
}

// Decode reads the first m.Len() images of a sheet into m.
func (l Levels) Decode(r io.Reader, m *data.Images) error {
	picture, err := png.Decode(r)
	if err != nil {
		return fmt.Errorf("sheet: %w", err)
	}
	n, _, height, width := m.Shape()
	if b := picture.Bounds(); b.Dx() < min(n, Columns)*width || b.Dy() < (n+Columns-1)/Columns*height {
		return fmt.Errorf("sheet: %d×%d pixels are too few for %d images of %d×%d", b.Dx(), b.Dy(), n, width, height)
	}
	level, err := levels(picture)
	if err != nil {
		return err
	}
	for i := range n {
		for at, row := 0, m.Row(i); at < len(row); at++ {
			k := level(i%Columns*width+at%width, i/Columns*height+at/width%height, at/(height*width))
			row[at] = l.value(m, k/l.unit())
		}
	}
	return nil
}

// levels returns the function that reads a channel of a pixel.
func levels(picture image.Image) (func(x, y, channel int) int, error) {
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
