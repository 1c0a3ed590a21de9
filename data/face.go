package data

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
)

// face reads one JPEG file, crops and resizes it, and puts it into row.
//
// Go's decoder and libjpeg differ in the rounding of the cosine transform and in
// smoothing subsampled colours. After the resize to 64×64 their images agree to
// 3 of 255 levels, half a level on average (compared with Pillow 9.4).
func (c CelebA) face(row []float32, path string) error {
	picture, err := decode(path)
	if err != nil {
		return err
	}
	bounds, side := picture.Bounds(), cmp.Or(c.Crop, 140)
	if bounds.Dx() < side || bounds.Dy() < side {
		return corrupt(path, "it has %d×%d pixels: want at least %d×%d", bounds.Dx(), bounds.Dy(), side, side)
	}
	top := bounds.Min.Y + margin(bounds.Dy(), side)
	left := bounds.Min.X + margin(bounds.Dx(), side)
	m := &Images{Hi: 1, n: 1, c: 3, h: side, w: side, pixels: make([]float32, 3*side*side)}
	m.fromBytes(m.pixels, planes(picture, image.Rect(left, top, left+side, top+side)))
	for _, size := range []int{c.Blur, cmp.Or(c.Size, 64)} {
		if size == 0 {
			continue
		}
		filter := c.Filter
		if filter == Bilinear {
			filter = Bilinear8
		}
		if m, err = m.Resize(size, size, filter); err != nil {
			return err
		}
	}
	copy(row, m.pixels)
	return nil
}

// decode reads a JPEG file, and refuses what would need too much memory before
// it is allocated.
func decode(path string) (image.Image, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("data: celeba: %w", err)
	}
	header, err := jpeg.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return nil, corrupt(path, "%v", err)
	}
	if header.Width*header.Height > celebaMaxPixels || header.ColorModel == color.CMYKModel {
		return nil, corrupt(path, "a JPEG of %d×%d pixels in %v: want RGB or grey values and at most %d pixels",
			header.Width, header.Height, header.ColorModel, celebaMaxPixels)
	}
	picture, err := jpeg.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, corrupt(path, "%v", err)
	}
	return picture, nil
}

// planes returns the red, green and blue bytes of a part of a picture.
func planes(picture image.Image, part image.Rectangle) []uint8 {
	size := part.Dx() * part.Dy()
	out := make([]uint8, 3*size)
	at := 0
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			r, g, b := rgb(picture, x, y)
			out[at], out[size+at], out[2*size+at] = r, g, b
			at++
		}
	}
	return out
}

func rgb(picture image.Image, x, y int) (r, g, b uint8) {
	if p, ok := picture.(*image.YCbCr); ok { // nearly always
		yi, ci := p.YOffset(x, y), p.COffset(x, y)
		return color.YCbCrToRGB(p.Y[yi], p.Cb[ci], p.Cr[ci])
	}
	r16, g16, b16, _ := picture.At(x, y).RGBA()
	return uint8(r16 >> 8), uint8(g16 >> 8), uint8(b16 >> 8)
}
