package nb

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"image"
	"image/png"
	"strings"

	"coupling/lab"
	"coupling/lab/gallery"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// HTML is shown unchanged.
type HTML string

// Show shows things below the cell, in order: figures (a [lab.Drawing]: every
// style.Figure), gonum plots, images, what has a method Picture() image.Image (a
// plan, a data set) with its text, a [lab.Exhibit], [lab.Picture] or [lab.Table], a
// sweep ([]lab.Result) as a table, claims ([]lab.Claim), a matrix, [HTML].
// Anything else is shown as text. The cell ends if one cannot be drawn.
func Show(things ...any) {
	for _, x := range things {
		vs, err := views(x)
		Check(err)
		for _, v := range vs {
			screen.put("", v)
		}
	}
	screen.sync()
}

// A view is something in the forms that a notebook can show.
type view struct {
	png        []byte
	width      int // in pixels of the page
	html, text string
}

// onPage is the size of a figure's millimetre on the page: pictures are drawn for print, and a
// screen is read from farther away.
const onPage = 1.25 * 96 / 200

// picture is a PNG, scaled on the page.
func picture(b []byte, scale float64) (view, error) {
	c, err := png.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return view{}, fmt.Errorf("nb: picture: %w", err)
	}
	return view{png: b, width: max(1, int(scale*float64(c.Width)))}, nil
}

// markup is the view as HTML.
func (v view) markup() string {
	if v.png == nil {
		if v.html == "" {
			return "<pre>" + html.EscapeString(v.text) + "</pre>"
		}
		return v.html
	}
	return fmt.Sprintf(`<img alt="figure" width="%d" style="max-width:100%%;height:auto" src="%s">`, v.width,
		v.dataURI())
}

func (v view) dataURI() string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(v.png)
}

// viewOf is x in one piece.
func viewOf(x any) (view, error) {
	vs, err := views(x)
	if err != nil || len(vs) == 1 {
		return append(vs, view{})[0], err
	}
	var all []string
	for _, v := range vs {
		all = append(all, v.markup())
	}
	return view{html: strings.Join(all, "\n")}, nil
}

// views are the parts of x.
func views(x any) ([]view, error) {
	one := func(v view, err error) ([]view, error) { return []view{v}, err }
	switch x := x.(type) {
	case nil:
		return nil, errors.New("nb: nothing to show: nil")
	case lab.Exhibit:
		return exhibit(x)
	case lab.Picture:
		vs, err := views(x.Drawing)
		if x.Caption != "" {
			vs = append(vs, view{html: caption(x.Caption)})
		}
		return vs, err
	case pictured:
		vs, err := views(x.Picture())
		return append(vs, view{html: caption(fmt.Sprint(x))}), err
	case lab.Drawing:
		var b bytes.Buffer
		if err := x.Save(&b, "png"); err != nil {
			return nil, fmt.Errorf("nb: %w", err)
		}
		return one(picture(b.Bytes(), onPage))
	case *plot.Plot:
		return one(gonumPlot(x))
	case image.Image:
		var b bytes.Buffer
		if err := png.Encode(&b, x); err != nil {
			return nil, fmt.Errorf("nb: %w", err)
		}
		return one(picture(b.Bytes(), 1))
	case lab.Table:
		return one(view{html: table(x)}, nil)
	case []lab.Claim:
		return one(view{html: claimTable(x)}, nil)
	case mat.Matrix:
		return one(view{html: matrix(x)}, nil)
	case HTML:
		return one(view{html: string(x)}, nil)
	case error:
		return nil, x
	}
	if rows, err := rowsOf(x); err != nil || len(rows) > 0 {
		return one(view{html: table(results(rows))}, err)
	}
	return one(view{html: "<pre>" + html.EscapeString(fmt.Sprint(x)) + "</pre>", text: fmt.Sprint(x)}, nil)
}

// pictured is a type with a picture.
type pictured interface{ Picture() image.Image }

func exhibit(e lab.Exhibit) (out []view, err error) {
	for _, p := range e.Pictures {
		vs, err := views(p)
		if err != nil {
			return nil, err
		}
		out = append(out, vs...)
	}
	for _, t := range e.Tables {
		out = append(out, view{html: table(t)})
	}
	for _, n := range e.Notes {
		out = append(out, view{html: caption(n)})
	}
	return out, nil
}

func gonumPlot(p *plot.Plot) (view, error) {
	c := vgimg.New(14*vg.Centimeter, 9*vg.Centimeter)
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&b); err != nil {
		return view{}, fmt.Errorf("nb: %w", err)
	}
	return picture(b.Bytes(), 1)
}

func caption(s string) string {
	return `<p style="max-width:46em;color:#555;font-size:92%">` + html.EscapeString(s) + "</p>"
}

// maxRows is the largest number of rows that a notebook shows of a table.
const maxRows = 24

func table(t lab.Table) string {
	text := string(gallery.HTML(t, maxRows))
	if t.Caption != "" {
		text = caption(t.Caption) + text
	}
	return text
}

func claimTable(claims []lab.Claim) string { return table(gallery.ClaimTable(gallery.Claims(claims))) }

// matrix shows the corner of a matrix.
func matrix(m mat.Matrix) string {
	const most = 8
	r, c := m.Dims()
	t := lab.Table{Caption: fmt.Sprintf("%d × %d", r, c), Header: []string{""}}
	for j := range min(c, most) {
		t.Header = append(t.Header, fmt.Sprint(j))
	}
	for i := range min(r, most) {
		row := []string{fmt.Sprint(i)}
		for j := range min(c, most) {
			row = append(row, fmt.Sprintf("%.4g", m.At(i, j)))
		}
		t.Rows = append(t.Rows, row)
	}
	return table(t)
}
