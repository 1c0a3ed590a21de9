package paper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// ErrFormat is wrapped by the error for a format that no canvas writes.
var ErrFormat = errors.New("unknown format (want png, svg or pdf)")

// New returns an empty white canvas that writes the given format: "png" (at dpi dots per inch), "svg" or "pdf".
func New(w, h vg.Length, format string, dpi int) (vg.CanvasWriterTo, error) {
	switch format {
	case "png":
		return pngCanvas{vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(dpi)), dpi}, nil
	case "svg":
		return svgCanvas{vgsvg.New(w, h)}, nil
	case "pdf":
		return newPDF(w, h), nil
	}
	return nil, fmt.Errorf("paper: format = %q: %w", format, ErrFormat)
}

// Device returns the canvas beneath any number of draw.Canvas sections.
func Device(c vg.Canvas) vg.Canvas {
	for {
		switch d := c.(type) {
		case draw.Canvas:
			c = d.Canvas
		case *draw.Canvas:
			c = d.Canvas
		default:
			return c
		}
	}
}

// pngCanvas writes what vgimg drew, with the resolution noted so that the picture has its true size in a document.
type pngCanvas struct {
	*vgimg.Canvas
	dpi int
}

// WriteTo writes the picture as PNG.
func (c pngCanvas) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, c.Image()); err != nil {
		return 0, err
	}
	const header = 8 + 4 + 4 + 13 + 4 // signature and IHDR, which comes first
	raw := b.Bytes()
	n, err := w.Write(slices.Concat(raw[:header], resolution(c.dpi), raw[header:]))
	return int64(n), err
}

// resolution is the pHYs chunk: pixels per metre in x and y.
func resolution(dpi int) []byte {
	perMetre := uint32(math.Round(float64(dpi) / 0.0254))
	chunk := binary.BigEndian.AppendUint32(nil, 9)
	chunk = append(chunk, "pHYs"...)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = append(chunk, 1)
	return binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
}

// svgCanvas is gonum's SVG without text or fonts, so that every viewer shows the same, with round joins as on the other
// canvases, and with images that fill their rectangles.
type svgCanvas struct{ *vgsvg.Canvas }

var svgFixes = strings.NewReplacer(
	"<svg ", `<svg stroke-linejoin="round" `,
	"<image ", `<image preserveAspectRatio="none" `,
	"data:image/jpg;", "data:image/png;",
)

// FillString draws text as outlines.
func (c svgCanvas) FillString(f font.Face, pt vg.Point, str string) { fillOutline(c, f, pt, str) }

// WriteTo writes the picture.
func (c svgCanvas) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	if _, err := c.Canvas.WriteTo(&b); err != nil {
		return 0, err
	}
	n, err := io.WriteString(w, svgFixes.Replace(b.String()))
	return int64(n), err
}

// fillOutline is FillString for canvases that draw text as outlines.
func fillOutline(c vg.Canvas, f font.Face, pt vg.Point, str string) {
	var path vg.Path
	if outline(&path, f.Font, str, pt); len(path) > 0 {
		c.Fill(path)
	}
}
