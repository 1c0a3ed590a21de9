package nb

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"image"
	"image/png"
	"reflect"
	"strings"

	"coupling/lab"
	"coupling/lab/gallery"
	"coupling/lab/store"

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
		for _, v := range Must(viewsOf(x)) {
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
func picture(b []byte, scale float64) view {
	c := lab.Must(png.DecodeConfig(bytes.NewReader(b)))
	return view{png: b, width: max(1, int(scale*float64(c.Width)))}
}

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
	vs, err := viewsOf(x)
	if err != nil || len(vs) == 1 {
		return append(vs, view{})[0], err
	}
	var all []string
	for _, v := range vs {
		all = append(all, v.markup())
	}
	return view{html: strings.Join(all, "\n")}, nil
}

func viewsOf(x any) (vs []view, err error) {
	defer lab.End(&err)
	return views(x), nil
}

// views is viewsOf that ends at an error.
func views(x any) []view {
	var b bytes.Buffer
	switch x := x.(type) {
	case nil:
		lab.Check(errors.New("nb: nothing to show: nil"))
	case lab.Exhibit:
		return exhibit(x)
	case lab.Picture:
		vs := views(x.Drawing)
		if x.Caption != "" {
			vs = append(vs, view{html: caption(x.Caption)})
		}
		return vs
	case pictured:
		return append(views(x.Picture()), view{html: caption(fmt.Sprint(x))})
	case lab.Drawing:
		lab.Check(x.Save(&b, "png"))
		return []view{picture(b.Bytes(), onPage)}
	case *plot.Plot:
		c := vgimg.New(14*vg.Centimeter, 9*vg.Centimeter)
		x.Draw(draw.New(c))
		lab.Must((vgimg.PngCanvas{Canvas: c}).WriteTo(&b))
		return []view{picture(b.Bytes(), 1)}
	case image.Image:
		lab.Check(png.Encode(&b, x))
		return []view{picture(b.Bytes(), 1)}
	case lab.Table:
		return []view{{html: table(x)}}
	case []lab.Claim:
		return []view{{html: claimTable(x)}}
	case mat.Matrix:
		return []view{{html: fmt.Sprintf("<pre>%.4g</pre>", mat.Formatted(x, mat.Excerpt(4)))}}
	case HTML:
		return []view{{html: string(x)}}
	case error:
		lab.Check(x)
	}
	if rows := rowsOf(x); len(rows) > 0 {
		return []view{{html: table(results(rows))}}
	}
	return []view{{html: "<pre>" + html.EscapeString(fmt.Sprint(x)) + "</pre>", text: fmt.Sprint(x)}}
}

type pictured interface{ Picture() image.Image }

func exhibit(e lab.Exhibit) (out []view) {
	for _, p := range e.Pictures {
		out = append(out, views(p)...)
	}
	for _, t := range e.Tables {
		out = append(out, view{html: table(t)})
	}
	for _, n := range e.Notes {
		out = append(out, view{html: caption(n)})
	}
	return out
}

func caption(s string) string { return fill("caption", s) }

const maxRows = 24

func table(t lab.Table) string {
	text := string(gallery.HTML(t, maxRows))
	if t.Caption != "" {
		text = caption(t.Caption) + text
	}
	return text
}

func claimTable(claims []lab.Claim) string { return table(gallery.ClaimTable(gallery.Claims(claims))) }

// rowsOf are the rows of a []lab.Result; nil for other types.
func rowsOf(x any) (rows []store.Row) {
	v := reflect.ValueOf(x)
	if v.Kind() != reflect.Slice {
		return nil
	}
	for i := range v.Len() {
		r, ok := v.Index(i).Interface().(interface{ Row() (store.Row, error) })
		if !ok {
			return nil
		}
		rows = append(rows, lab.Must(r.Row()))
	}
	return rows
}

// results is the table of a sweep: the parameters that differ, and the values.
func results(rows []store.Row) lab.Table {
	var shown []string
	t := lab.Table{Rows: make([][]string, len(rows))}
	for _, c := range store.Columns(rows) {
		cells := map[string]bool{}
		for _, r := range rows {
			cells[store.FormatCell(r[c])] = true
		}
		name, isParam := strings.CutPrefix(c, "param.")
		if len(cells) > 1 && (isParam || c == "seed") || strings.HasPrefix(c, "value") {
			shown, t.Header = append(shown, c), append(t.Header, strings.TrimPrefix(name, "value."))
		}
	}
	for i, r := range rows {
		for _, c := range shown {
			t.Rows[i] = append(t.Rows[i], store.FormatCell(r[c]))
		}
	}
	return t
}
