package paper

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// PDF is a one-page PDF document as a vg.Canvas. It holds paths and images only (text is outlines), no dates and no
// identifiers, so its bytes are a function of what was drawn. Make one with [NewPDF].
type PDF struct {
	w, h   vg.Length
	page   bytes.Buffer
	state  []pdfState
	alphas []uint8 // graphics states in the order of first use
	images []pdfImage
}

type pdfState struct{ ink color.NRGBA }

type pdfImage struct {
	w, h      int
	rgb, mask []byte // mask is nil for an opaque image
}

var _ vg.CanvasWriterTo = (*PDF)(nil)

// NewPDF returns an empty page of the given size.
func NewPDF(w, h vg.Length) *PDF {
	c := &PDF{w: w, h: h, state: []pdfState{{color.NRGBA{A: 255}}}}
	c.page.WriteString("1 j\n") // round joins, as on the other canvases
	vg.Initialize(c)
	return c
}

// Size returns the size of the page.
func (c *PDF) Size() (w, h vg.Length) { return c.w, c.h }

// op writes operands and an operator.
func (c *PDF) op(name string, args ...float64) {
	for _, a := range args {
		c.page.WriteString(number(a))
		c.page.WriteByte(' ')
	}
	c.page.WriteString(name)
	c.page.WriteByte('\n')
}

// SetLineWidth sets the width of strokes.
func (c *PDF) SetLineWidth(w vg.Length) { c.op("w", w.Points()) }

// SetLineDash sets the pattern of strokes.
func (c *PDF) SetLineDash(pattern []vg.Length, offset vg.Length) {
	c.page.WriteString("[")
	for _, d := range pattern {
		c.page.WriteString(number(d.Points()) + " ")
	}
	c.page.WriteString("] " + number(offset.Points()) + " d\n")
}

// SetColor sets the colour, with its opacity, of fills and strokes.
func (c *PDF) SetColor(col color.Color) {
	if col == nil {
		col = color.Black
	}
	ink := color.NRGBAModel.Convert(col).(color.NRGBA)
	r, g, b := float64(ink.R)/255, float64(ink.G)/255, float64(ink.B)/255
	c.op("rg", r, g, b)
	c.op("RG", r, g, b)
	if s := &c.state[len(c.state)-1]; s.ink.A != ink.A {
		c.setAlpha(ink.A)
	}
	c.state[len(c.state)-1].ink = ink
}

func (c *PDF) setAlpha(a uint8) {
	k := bytes.IndexByte(c.alphas, a)
	if k < 0 {
		k = len(c.alphas)
		c.alphas = append(c.alphas, a)
	}
	fmt.Fprintf(&c.page, "/A%d gs\n", k)
}

// Rotate turns the axes by an angle in radians.
func (c *PDF) Rotate(a float64) {
	sin, cos := math.Sincos(a)
	c.matrix(cos, sin, -sin, cos, 0, 0)
}

// Translate moves the origin.
func (c *PDF) Translate(p vg.Point) { c.matrix(1, 0, 0, 1, p.X.Points(), p.Y.Points()) }

// Scale scales the axes.
func (c *PDF) Scale(x, y float64) { c.matrix(x, 0, 0, y, 0, 0) }

// matrix concatenates a transformation; its entries need more digits than lengths do.
func (c *PDF) matrix(m ...float64) {
	for _, a := range m {
		c.page.WriteString(strconv.FormatFloat(a, 'f', 6, 64) + " ")
	}
	c.page.WriteString("cm\n")
}

// Push saves the graphics state.
func (c *PDF) Push() {
	c.op("q")
	c.state = append(c.state, c.state[len(c.state)-1])
}

// Pop restores the graphics state.
func (c *PDF) Pop() {
	c.op("Q")
	c.state = c.state[:len(c.state)-1]
}

// Stroke draws the line of a path.
func (c *PDF) Stroke(p vg.Path) {
	c.path(p)
	c.op("S")
}

// Fill fills a path by the nonzero winding rule.
func (c *PDF) Fill(p vg.Path) {
	c.path(p)
	c.op("f")
}

func (c *PDF) path(p vg.Path) {
	var last vg.Point
	trace(p, func(op byte, pts ...vg.Point) {
		switch op {
		case 'M':
			c.op("m", pts[0].X.Points(), pts[0].Y.Points())
		case 'L':
			c.op("l", pts[0].X.Points(), pts[0].Y.Points())
		case 'Z':
			c.op("h")
			return
		case 'Q': // a quadratic as a cubic
			a, to := pts[0], pts[1]
			c.curve(last.Add(a.Sub(last).Scale(2./3)), to.Add(a.Sub(to).Scale(2./3)), to)
		case 'C':
			c.curve(pts[0], pts[1], pts[2])
		}
		last = pts[len(pts)-1]
	})
}

func (c *PDF) curve(a, b, to vg.Point) {
	c.op("c", a.X.Points(), a.Y.Points(), b.X.Points(), b.Y.Points(), to.X.Points(), to.Y.Points())
}

// FillString draws text as outlines.
func (c *PDF) FillString(f font.Face, pt vg.Point, str string) {
	var path vg.Path
	outline(&path, f.Font, str, pt)
	if len(path) > 0 {
		c.Fill(path)
	}
}

// DrawImage draws an image into a rectangle. Viewers are told not to smooth it.
func (c *PDF) DrawImage(rect vg.Rectangle, img image.Image) {
	b := img.Bounds()
	m := pdfImage{w: b.Dx(), h: b.Dy()}
	opaque := true
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			p := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			m.rgb = append(m.rgb, p.R, p.G, p.B)
			m.mask = append(m.mask, p.A)
			opaque = opaque && p.A == 255
		}
	}
	if opaque {
		m.mask = nil
	}
	c.Push()
	size := rect.Size()
	c.matrix(size.X.Points(), 0, 0, size.Y.Points(), rect.Min.X.Points(), rect.Min.Y.Points())
	fmt.Fprintf(&c.page, "/I%d Do\n", len(c.images))
	c.Pop()
	c.images = append(c.images, m)
}
