package data

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Limits of a picture, so that no file makes the program allocate too much memory.
const (
	pictureMaxFile   = 1 << 28 // bytes
	pictureMaxPixels = 1 << 26
)

// readPicture reads a PNG or JPEG file, whatever its name. It refuses a picture
// that is too large before it allocates memory for it.
func readPicture(path string) (image.Image, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	} else if info.Size() > pictureMaxFile {
		return nil, corrupt(path, "%d bytes: want at most %d", info.Size(), pictureMaxFile)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	config, decode := jpeg.DecodeConfig, jpeg.Decode
	if bytes.HasPrefix(content, []byte("\x89PNG")) {
		config, decode = png.DecodeConfig, png.Decode
	}
	header, err := config(bytes.NewReader(content))
	if err != nil {
		return nil, corrupt(path, "%v", err)
	}
	if header.Width < 1 || header.Height < 1 || header.Width > pictureMaxPixels/header.Height || header.ColorModel == color.CMYKModel {
		return nil, corrupt(path, "%d×%d pixels in %v: want RGB or grey values and at most %d pixels",
			header.Width, header.Height, header.ColorModel, pictureMaxPixels)
	}
	picture, err := decode(bytes.NewReader(content))
	if err != nil {
		return nil, corrupt(path, "%v", err)
	}
	return picture, nil
}

// Pictures is a list of picture files, which are read when needed.
type Pictures struct {
	Name    string
	Files   []string // paths
	Labels  []int    // as Images.Labels
	Classes []string

	c, h, w int // of the images
	read    func(row []float32, path string) error
}

// Len returns the number of pictures.
func (p *Pictures) Len() int { return len(p.Files) }

// Take reads the pictures with the given indices. It panics when an index is
// out of range. The error wraps [ErrCorrupt] when a picture is damaged. Pictures
// are decoded in parallel; a thousand faces take a second or two.
func (p *Pictures) Take(ctx context.Context, indices []int) (*Images, error) {
	m, err := New(len(indices), p.c, p.h, p.w)
	if err != nil {
		return nil, err
	}
	m.Name, m.Classes = p.Name, p.Classes
	if p.Labels != nil {
		m.Labels = make([]int, len(indices))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for k, i := range indices {
		if p.Labels != nil {
			m.Labels[k] = p.Labels[i]
		}
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return p.read(m.Row(k), p.Files[i])
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return m, nil
}

// Load reads all pictures: faces take 48 KiB each at 64×64, 8 GB for the training split.
func (p *Pictures) Load(ctx context.Context) (*Images, error) {
	indices := make([]int, p.Len())
	for i := range indices {
		indices[i] = i
	}
	return p.Take(ctx, indices)
}

// centre is the central square of b.
func centre(b image.Rectangle, side int) image.Rectangle {
	top, left := b.Min.Y+margin(b.Dy(), side), b.Min.X+margin(b.Dx(), side)
	return image.Rect(left, top, left+side, top+side)
}

// fromPicture returns a part of a picture as one RGB image in [0, 1].
func fromPicture(picture image.Image, part image.Rectangle) *Images {
	size := part.Dx() * part.Dy()
	bytes := make([]uint8, 3*size)
	at := 0
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			bytes[at], bytes[size+at], bytes[2*size+at] = rgb(picture, x, y)
			at++
		}
	}
	m := &Images{Hi: 1, n: 1, c: 3, h: part.Dy(), w: part.Dx(), pixels: make([]float32, 3*size)}
	m.fromBytes(m.pixels, bytes)
	return m
}

func rgb(picture image.Image, x, y int) (r, g, b uint8) {
	if p, ok := picture.(*image.YCbCr); ok { // most JPEG files
		yi, ci := p.YOffset(x, y), p.COffset(x, y)
		return color.YCbCrToRGB(p.Y[yi], p.Cb[ci], p.Cr[ci])
	}
	r16, g16, b16, _ := picture.At(x, y).RGBA()
	return uint8(r16 >> 8), uint8(g16 >> 8), uint8(b16 >> 8)
}
