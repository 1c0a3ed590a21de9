package data

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/gif" // formats of pictures that image.Decode knows
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"coupling/data/batch"

	_ "golang.org/x/image/bmp" // and more of them
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
	"golang.org/x/sync/errgroup"
)

// Limits of a picture, so that no file makes the program allocate too much memory.
const (
	pictureMaxFile   = 1 << 28 // bytes
	pictureMaxPixels = 1 << 26
)

// decoded is a picture file in memory.
type decoded struct {
	image.Image
	turn int // EXIF orientation, 1 to 8
}

// size is that of the picture after it is turned.
func (p decoded) size() (w, h int) {
	if w, h = p.Bounds().Dx(), p.Bounds().Dy(); p.turn > 4 {
		w, h = h, w
	}
	return w, h
}

// transparent reports whether any pixel is.
func (p decoded) transparent() bool {
	o, ok := p.Image.(interface{ Opaque() bool })
	return ok && !o.Opaque()
}

// readPicture reads a file of any format that is imported here, whatever its name. It refuses a picture
// that is too large before it allocates memory for it.
func readPicture(path string) (p decoded, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return p, fmt.Errorf("data: %w", err)
	case !info.Mode().IsRegular():
		return p, corrupt(path, "not a file with content")
	case info.Size() > pictureMaxFile:
		return p, corrupt(path, "%d bytes: want at most %d", info.Size(), pictureMaxFile)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return p, fmt.Errorf("data: %w", err)
	}
	header, _, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return p, corrupt(path, "%v", err)
	}
	if header.Width < 1 || header.Height < 1 || header.Width > pictureMaxPixels/header.Height {
		return p, corrupt(path, "%d×%d pixels: want 1 to %d of them", header.Width, header.Height, pictureMaxPixels)
	}
	p.turn = orientation(content)
	if p.Image, _, err = image.Decode(bytes.NewReader(content)); err != nil {
		return p, corrupt(path, "%v", err)
	}
	// The first picture of a GIF may be smaller than the GIF.
	if whole := image.Rect(0, 0, header.Width, header.Height); p.Bounds() != whole {
		canvas := image.NewNRGBA(whole)
		draw.Draw(canvas, p.Bounds(), p.Image, p.Bounds().Min, draw.Src)
		p.Image = canvas
	}
	return p, nil
}

// isPictureName reports whether a file is taken for a picture.
func isPictureName(name string) bool {
	kinds := []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff"}
	return slices.Contains(kinds, strings.ToLower(filepath.Ext(name)))
}

// orientation returns the EXIF orientation of a JPEG or TIFF file, from 1 to 8; 1, upright, where it has none.
func orientation(content []byte) int {
	if !bytes.HasPrefix(content, []byte("\xff\xd8")) {
		return tiffOrientation(content)
	}
	for b := content[2:]; len(b) >= 4 && b[0] == 0xff; { // segments: marker, length, content
		size := 2 + int(binary.BigEndian.Uint16(b[2:]))
		if size < 4 || size > len(b) {
			break
		}
		if exif, is := bytes.CutPrefix(b[4:size], []byte("Exif\x00\x00")); is && b[1] == 0xe1 {
			return tiffOrientation(exif)
		}
		b = b[size:]
	}
	return 1
}

// tiffOrientation looks for tag 0x112 in the first directory of a TIFF file.
func tiffOrientation(b []byte) int {
	var order binary.ByteOrder = binary.LittleEndian
	if bytes.HasPrefix(b, []byte("MM\x00*")) {
		order = binary.BigEndian
	} else if !bytes.HasPrefix(b, []byte("II*\x00")) {
		return 1
	}
	if len(b) < 8 || int64(order.Uint32(b[4:]))+2 > int64(len(b)) {
		return 1
	}
	b = b[order.Uint32(b[4:]):]
	for n, e := order.Uint16(b), b[2:]; n > 0 && len(e) >= 12; n, e = n-1, e[12:] {
		if turn := order.Uint16(e[8:]); order.Uint16(e) == 0x112 && turn >= 1 && turn <= 8 {
			return int(turn)
		}
	}
	return 1
}

// turned returns one image turned and mirrored as the EXIF orientation has it: 1 is upright, 6 a quarter turn
// clockwise.
func (m *Images) turned(turn int) *Images {
	if turn == 1 {
		return m
	}
	high, wide := m.h, m.w
	if turn > 4 {
		high, wide = wide, high
	}
	out := m.header(1, m.c, high, wide)
	out.pixels, out.bytes = slices.Clone(m.pixels), slices.Clone(m.bytes)
	for k := range m.Dim() {
		c, y, x := k/(m.h*m.w), k/wide%high, k%wide
		if turn > 4 {
			y, x = x, y
		}
		switch turn {
		case 2, 8:
			x = m.w - 1 - x
		case 3, 7:
			y, x = m.h-1-y, m.w-1-x
		case 4, 6:
			y = m.h - 1 - y
		}
		if at := (c*m.h+y)*m.w + x; m.bytes == nil {
			out.pixels[k] = m.pixels[at]
		} else {
			out.bytes[k] = m.bytes[at]
		}
	}
	return out
}

// Pictures is a list of picture files, which are read when needed.
type Pictures struct {
	Name    string
	Files   []string // paths
	Labels  []int    // as Images.Labels
	Classes []string

	c, h, w  int // of the images
	read     func(k int) (*Images, error)
	progress func(done, of int) // nil: it is not called
}

// Len returns the number of pictures.
func (p *Pictures) Len() int { return len(p.Files) }

// Take reads the pictures with the given indices. It panics when an index is
// out of range. The error wraps [ErrCorrupt] when pictures are damaged, and names
// them all, up to a hundred. Pictures are decoded in parallel; a thousand faces take a second or two.
func (p *Pictures) Take(ctx context.Context, indices []int) (*Images, error) {
	n := len(indices)
	if err := checkShape(n, p.c, p.h, p.w); err != nil {
		return nil, err
	}
	m := &Images{Name: p.Name, Classes: p.Classes, Hi: 1, n: n, c: p.c, h: p.h, w: p.w}
	m.bytes = make([]uint8, n*m.Dim())
	if p.Labels != nil {
		m.Labels = make([]int, n)
	}
	// Pictures that were resized in floating point, or are grey, are float32, and so are all if one is.
	float, errs := make([]bool, n), make([]error, n)
	pixels := sync.OnceValue(func() []float32 { return make([]float32, n*m.Dim()) })
	var done atomic.Int64
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
			one, err := p.read(i)
			errs[k] = err
			if float[k] = err == nil && one.bytes == nil; float[k] {
				copy(pixels()[k*m.Dim():], one.pixels)
			} else if err == nil {
				copy(m.bytes[k*m.Dim():], one.bytes)
			}
			if read := int(done.Add(1)); p.progress != nil {
				p.progress(read, n)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if slices.Contains(float, true) {
		m.pixels = pixels()
		for k, is := range float {
			if at := k * m.Dim(); !is {
				m.appendValues(m.pixels[:at], at, at+m.Dim())
			}
		}
		m.bytes = nil
	}
	return m, refused(errs)
}

// sizeError is the error of a picture whose size is not that of the first.
type sizeError struct{ size, first image.Point }

func (e sizeError) Error() string {
	return fmt.Sprintf("it has %d×%d pixels, the first picture %d×%d: want one size, or Size = %d",
		e.size.X, e.size.Y, e.first.X, e.first.Y, min(e.first.X, e.first.Y))
}

func (e sizeError) Unwrap() error { return ErrCorrupt }

// refused is an error that names all pictures that cannot be used, of each size the first one.
func refused(errs []error) error {
	var names []string
	var first error
	sizes := map[image.Point]int{}
	for _, err := range errs {
		if err == nil {
			continue
		}
		first = cmp.Or(first, err)
		if off := (sizeError{}); errors.As(err, &off) {
			if sizes[off.size]++; sizes[off.size] > 1 {
				continue
			}
		}
		names = append(names, strings.TrimPrefix(err.Error(), "data: "))
	}
	for size, n := range sizes {
		if n > 1 {
			names = append(names, fmt.Sprintf("%d in all have %d×%d pixels", n, size.X, size.Y))
		}
	}
	if len(names) < 2 {
		return first
	}
	slices.Sort(names)
	return fmt.Errorf("data: %w: %s", ErrCorrupt, some("", names))
}

// Load reads all pictures: faces take 12 KiB each at 64×64, 2 GB for the training split.
func (p *Pictures) Load(ctx context.Context) (*Images, error) {
	return p.Take(ctx, batch.All(p.Len()))
}

// centre is the central square of b.
func centre(b image.Rectangle, side int) image.Rectangle {
	top, left := b.Min.Y+margin(b.Dy(), side), b.Min.X+margin(b.Dx(), side)
	return image.Rect(left, top, left+side, top+side)
}

// fromPicture returns a part of a picture as one RGB image in [0, 1].
func fromPicture(picture decoded, part image.Rectangle) *Images {
	size := part.Dx() * part.Dy()
	m := &Images{Hi: 1, n: 1, c: 3, h: part.Dy(), w: part.Dx(), bytes: make([]uint8, 3*size)}
	at := 0
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			m.bytes[at], m.bytes[size+at], m.bytes[2*size+at] = rgb(picture.Image, x, y)
			at++
		}
	}
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
