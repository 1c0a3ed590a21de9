package paper

import (
	"errors"
	"fmt"

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
