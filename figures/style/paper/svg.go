package paper

import (
	"bytes"
	"io"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

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
