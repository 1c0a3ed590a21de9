package paper

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// pdfCanvas is a one-page PDF document. It holds paths and images only (text is outlines) and a fixed date, so that its
// bytes are a function of what was drawn. Gonum's own vgpdf joins lines with spikes, darkens translucent colours and
// turns images upside down.
type pdfCanvas struct {
	doc    *fpdf.Fpdf
	w, h   vg.Length
	images int
}

func newPDF(w, h vg.Length) *pdfCanvas {
	doc := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: w.Points(), Ht: h.Points()}})
	doc.SetCreationDate(time.Unix(0, 0).UTC())
	doc.SetModificationDate(time.Unix(0, 0).UTC())
	doc.SetCatalogSort(true)
	doc.SetLineJoinStyle("round") // as on the other canvases
	doc.AddPage()
	doc.TransformBegin()
	c := &pdfCanvas{doc: doc, w: w, h: h}
	vg.Initialize(c)
	return c
}

// at is a point in the coordinates of fpdf, which grow downward.
func (c *pdfCanvas) at(p vg.Point) (x, y float64) { return p.X.Points(), (c.h - p.Y).Points() }

func (c *pdfCanvas) Size() (w, h vg.Length) { return c.w, c.h }

func (c *pdfCanvas) SetLineWidth(w vg.Length) { c.doc.SetLineWidth(w.Points()) }

func (c *pdfCanvas) SetLineDash(pattern []vg.Length, offset vg.Length) {
	dashes := make([]float64, len(pattern))
	for i, d := range pattern {
		dashes[i] = d.Points()
	}
	c.doc.SetDashPattern(dashes, offset.Points())
}

func (c *pdfCanvas) SetColor(col color.Color) {
	if col == nil {
		col = color.Black
	}
	ink := color.NRGBAModel.Convert(col).(color.NRGBA)
	r, g, b := int(ink.R), int(ink.G), int(ink.B)
	c.doc.SetFillColor(r, g, b)
	c.doc.SetDrawColor(r, g, b)
	c.doc.SetAlpha(float64(ink.A)/255, "Normal")
}

// Transformations are those of the page, whose vertical coordinate grows upward.
func (c *pdfCanvas) matrix(a, b, cc, d, e, f float64) {
	c.doc.Transform(fpdf.TransformMatrix{A: a, B: b, C: cc, D: d, E: e, F: f})
}

func (c *pdfCanvas) Rotate(angle float64) {
	sin, cos := math.Sincos(angle)
	c.matrix(cos, sin, -sin, cos, 0, 0)
}

func (c *pdfCanvas) Translate(p vg.Point) { c.matrix(1, 0, 0, 1, p.X.Points(), p.Y.Points()) }

func (c *pdfCanvas) Scale(x, y float64) { c.matrix(x, 0, 0, y, 0, 0) }

func (c *pdfCanvas) Push() { c.doc.TransformBegin() }

func (c *pdfCanvas) Pop() { c.doc.TransformEnd() }

func (c *pdfCanvas) Stroke(p vg.Path) { c.draw(p, "D") }

func (c *pdfCanvas) Fill(p vg.Path) { c.draw(p, "F") }

func (c *pdfCanvas) draw(p vg.Path, how string) {
	for _, q := range p {
		x, y := c.at(q.Pos)
		switch q.Type {
		case vg.MoveComp:
			c.doc.MoveTo(x, y)
		case vg.LineComp:
			c.doc.LineTo(x, y)
		case vg.CloseComp:
			c.doc.ClosePath()
		case vg.CurveComp:
			ax, ay := c.at(q.Control[0])
			if len(q.Control) == 2 {
				bx, by := c.at(q.Control[1])
				c.doc.CurveBezierCubicTo(ax, ay, bx, by, x, y)
				continue
			}
			// a quadratic as a cubic
			fromX, fromY := c.doc.GetXY()
			c.doc.CurveBezierCubicTo(fromX+(ax-fromX)*2/3, fromY+(ay-fromY)*2/3, x+(ax-x)*2/3, y+(ay-y)*2/3, x, y)
		case vg.ArcComp:
			const degree = math.Pi / 180
			c.doc.ArcTo(x, y, q.Radius.Points(), q.Radius.Points(), 0, q.Start/degree, (q.Start+q.Angle)/degree)
		}
	}
	c.doc.DrawPath(how)
}

// FillString draws text as outlines.
func (c *pdfCanvas) FillString(f font.Face, pt vg.Point, str string) { fillOutline(c, f, pt, str) }

func (c *pdfCanvas) DrawImage(rect vg.Rectangle, img image.Image) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		c.doc.SetError(err)
		return
	}
	c.images++
	name, options := fmt.Sprint(c.images), fpdf.ImageOptions{ImageType: "png"}
	c.doc.RegisterImageOptionsReader(name, options, &b)
	x, y := c.at(vg.Point{X: rect.Min.X, Y: rect.Max.Y})
	c.doc.ImageOptions(name, x, y, rect.Size().X.Points(), rect.Size().Y.Points(), false, options, 0, "")
}

// WriteTo writes the document, after which nothing more can be drawn.
func (c *pdfCanvas) WriteTo(w io.Writer) (int64, error) {
	c.doc.TransformEnd()
	var b bytes.Buffer
	if err := c.doc.Output(&b); err != nil {
		return 0, err
	}
	return b.WriteTo(w)
}
