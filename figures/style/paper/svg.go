package paper

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// SVG is a scalable picture as a vg.Canvas. It holds paths and images in page coordinates only: no text, no fonts,
// no styles to be resolved, so that every viewer shows the same. Make one with [NewSVG].
type SVG struct {
	w, h  vg.Length
	body  bytes.Buffer
	state []svgState
	err   error // of an image that could not be encoded
}

type svgState struct {
	ink    color.NRGBA
	width  vg.Length
	dashes []vg.Length
	offset vg.Length
	to     affine
}

// affine is a map of the plane: x' = a·x + c·y + e, y' = b·x + d·y + f.
type affine struct{ a, b, c, d, e, f float64 }

// before is the map that applies n first and then m.
func (m affine) before(n affine) affine {
	return affine{
		a: m.a*n.a + m.c*n.b, b: m.b*n.a + m.d*n.b,
		c: m.a*n.c + m.c*n.d, d: m.b*n.c + m.d*n.d,
		e: m.a*n.e + m.c*n.f + m.e, f: m.b*n.e + m.d*n.f + m.f,
	}
}

func (m affine) apply(p vg.Point) (x, y float64) {
	px, py := p.X.Points(), p.Y.Points()
	return m.a*px + m.c*py + m.e, m.b*px + m.d*py + m.f
}

// size is the factor by which the map stretches lengths on average.
func (m affine) size() float64 { return math.Sqrt(math.Abs(m.a*m.d - m.b*m.c)) }

var _ vg.CanvasWriterTo = (*SVG)(nil)

// NewSVG returns an empty picture of the given size.
func NewSVG(w, h vg.Length) *SVG {
	c := &SVG{w: w, h: h, state: []svgState{{to: affine{a: 1, d: -1, f: h.Points()}}}} // y grows downward in SVG
	vg.Initialize(c)
	return c
}

func (c *SVG) now() *svgState { return &c.state[len(c.state)-1] }

// Size returns the size of the picture.
func (c *SVG) Size() (w, h vg.Length) { return c.w, c.h }

// SetLineWidth sets the width of strokes.
func (c *SVG) SetLineWidth(w vg.Length) { c.now().width = w }

// SetLineDash sets the pattern of strokes.
func (c *SVG) SetLineDash(pattern []vg.Length, offset vg.Length) {
	c.now().dashes, c.now().offset = pattern, offset
}

// SetColor sets the colour, with its opacity, of fills and strokes.
func (c *SVG) SetColor(col color.Color) {
	if col == nil {
		col = color.Black
	}
	c.now().ink = color.NRGBAModel.Convert(col).(color.NRGBA)
}

// Rotate turns the axes by an angle in radians.
func (c *SVG) Rotate(angle float64) {
	sin, cos := math.Sincos(angle)
	c.now().to = c.now().to.before(affine{a: cos, b: sin, c: -sin, d: cos})
}

// Translate moves the origin.
func (c *SVG) Translate(p vg.Point) {
	c.now().to = c.now().to.before(affine{a: 1, d: 1, e: p.X.Points(), f: p.Y.Points()})
}

// Scale scales the axes.
func (c *SVG) Scale(x, y float64) { c.now().to = c.now().to.before(affine{a: x, d: y}) }

// Push saves the graphics state.
func (c *SVG) Push() { c.state = append(c.state, *c.now()) }

// Pop restores the graphics state.
func (c *SVG) Pop() { c.state = c.state[:len(c.state)-1] }

// Fill fills a path by the nonzero winding rule.
func (c *SVG) Fill(p vg.Path) {
	fmt.Fprintf(&c.body, "<path d=\"%s\" %s/>\n", c.data(p), paint("fill", c.now().ink))
}

// Stroke draws the line of a path.
func (c *SVG) Stroke(p vg.Path) {
	s := c.now()
	if s.width <= 0 {
		return
	}
	k := s.to.size()
	dash := ""
	if len(s.dashes) > 0 {
		var lengths []string
		for _, d := range s.dashes {
			lengths = append(lengths, number(k*d.Points()))
		}
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, strings.Join(lengths, " "))
		if s.offset != 0 {
			dash += fmt.Sprintf(` stroke-dashoffset="%s"`, number(k*s.offset.Points()))
		}
	}
	fmt.Fprintf(&c.body, "<path d=\"%s\" fill=\"none\" %s stroke-width=\"%s\"%s/>\n",
		c.data(p), paint("stroke", s.ink), number(k*s.width.Points()), dash)
}

// paint is the attribute of a fill's or stroke's colour.
func paint(what string, ink color.NRGBA) string {
	s := fmt.Sprintf(`%s="#%02x%02x%02x"`, what, ink.R, ink.G, ink.B)
	if ink.A < 255 {
		s += fmt.Sprintf(` %s-opacity="%s"`, what, number(float64(ink.A)/255))
	}
	return s
}

// data is the path in page coordinates, to a hundredth of a point.
func (c *SVG) data(p vg.Path) string {
	var b strings.Builder
	to := c.now().to
	trace(p, func(op byte, pts ...vg.Point) {
		b.WriteByte(op)
		for i, q := range pts {
			if i > 0 {
				b.WriteByte(' ')
			}
			x, y := to.apply(q)
			b.WriteString(number(math.Round(x*100)/100) + " " + number(math.Round(y*100)/100))
		}
	})
	return b.String()
}

// FillString draws text as outlines.
func (c *SVG) FillString(f font.Face, pt vg.Point, str string) {
	var path vg.Path
	outline(&path, f.Font, str, pt)
	if len(path) > 0 {
		c.Fill(path)
	}
}

// DrawImage draws an image into a rectangle.
func (c *SVG) DrawImage(rect vg.Rectangle, img image.Image) {
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(&b, img); err != nil {
		c.err = err
		return
	}
	size := rect.Size()
	m := c.now().to.before(affine{a: 1, d: -1, e: rect.Min.X.Points(), f: rect.Max.Y.Points()})
	place := fmt.Sprintf(`x="%s" y="%s"`, number(m.e), number(m.f))
	if m.a != 1 || m.b != 0 || m.c != 0 || m.d != 1 {
		place = fmt.Sprintf(`transform="matrix(%g %g %g %g %s %s)"`, m.a, m.b, m.c, m.d, number(m.e), number(m.f))
	}
	fmt.Fprintf(&c.body, "<image %s width=\"%s\" height=\"%s\" preserveAspectRatio=\"none\" xlink:href=\"data:image/png;base64,%s\"/>\n",
		place, number(size.X.Points()), number(size.Y.Points()), base64.StdEncoding.EncodeToString(b.Bytes()))
}

// WriteTo writes the picture.
func (c *SVG) WriteTo(w io.Writer) (int64, error) {
	if c.err != nil {
		return 0, c.err
	}
	width, height := number(c.w.Points()), number(c.h.Points())
	n, err := fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" "+
		"width=\"%[1]spt\" height=\"%[2]spt\" viewBox=\"0 0 %[1]s %[2]s\" stroke-linejoin=\"round\">\n%[3]s</svg>\n",
		width, height, c.body.String())
	return int64(n), err
}
