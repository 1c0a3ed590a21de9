package paper

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"coupling/lab/must"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/cmpimg"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

func TestParse(t *testing.T) {
	for in, want := range map[string][]run{
		"plain":         {{text: "plain"}},
		"10^{-3} s":     {{text: "10"}, {text: "-3", script: 1}, {text: " s"}},
		"W_{2}^{2}":     {{text: "W"}, {text: "2", script: -1}, {text: "2", script: 1}},
		"10⁻³":          {{text: "10"}, {text: "−3", script: 1}},
		"x₁₂":           {{text: "x"}, {text: "12", script: -1}},
		`\b{a\i{b}}c`:   {{text: "a", bold: true}, {text: "b", bold: true, italic: true}, {text: "c"}},
		"train_loss":    {{text: "train_loss"}},
		"a^{b":          {{text: "a^{b"}},
		"^{a{b}c}":      {{text: "a{b}c", script: 1}},
		"":              nil,
		"\xffε":         {{text: "\uFFFDε"}},
		`^{\i{x}}`:      {{text: "x", script: 1, italic: true}},
		"stray } and {": {{text: "stray } and {"}},
	} {
		if diff := cmp.Diff(want, parse(in, run{}), cmp.AllowUnexported(run{})); diff != "" {
			t.Errorf("parse(%q) (−want +got):\n%s", in, diff)
		}
	}
}

// FuzzParse: no text is lost or invented except markup, and none panics when drawn.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "ε^{2}", `\b{\i{x}_{1}}`, "^{^{^{", "}}}", "\xf0\x28", "⁻¹₂"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var kept int
		for _, r := range parse(s, run{}) {
			kept += len([]rune(r.text))
		}
		if kept > len([]rune(s)) {
			t.Errorf("parse(%q) has %d runes of %d", s, kept, len([]rune(s)))
		}
		Write(newPDF(10, 10), s, text.Style{Font: Sans(8)}, vg.Point{})
		if w := Width(s, Sans(8)); w < 0 || math.IsNaN(float64(w)) {
			t.Errorf("Width(%q) = %v", s, w)
		}
	})
}

func TestWidth(t *testing.T) {
	f := Sans(10)
	// Every digit of Liberation Sans is 1139 of 2048 units wide (its hmtx table).
	if got, want := float64(Width("123", f)), 10*3*1139./2048; math.Abs(got-want) > 1e-9 {
		t.Errorf("Width(123) = %v, want %v", got, want)
	}
	if got, want := float64(Width("1^{1}", f)), 10*1139./2048*(1+scriptSize); math.Abs(got-want) > 1e-9 {
		t.Errorf("Width(1^{1}) = %v, want %v", got, want)
	}
	if Width("W_{2}^{2}", f) != Width("W_{2}", f) {
		t.Error("a superscript is not set above the subscript")
	}
	if Width("AV", f) >= Width("A", f)+Width("V", f) {
		t.Error("AV is not kerned")
	}
	if a, b := Width("long line\nx", f), Width("long line", f); a != b {
		t.Errorf("two lines are %v wide, the longer %v", a, b)
	}
	if got := Width("∇", f); got != Width("∆", f) {
		t.Errorf("∇ is not an upside-down ∆: %v wide", got)
	}
}

// bounds is the extent of the control points of a path.
func bounds(p vg.Path) (r vg.Rectangle) {
	r.Min, r.Max = vg.Point{X: 1e9, Y: 1e9}, vg.Point{X: -1e9, Y: -1e9}
	for _, q := range p {
		if q.Type == vg.CloseComp {
			continue
		}
		for _, pt := range append([]vg.Point{q.Pos}, q.Control...) {
			r.Min.X, r.Min.Y = min(r.Min.X, pt.X), min(r.Min.Y, pt.Y)
			r.Max.X, r.Max.Y = max(r.Max.X, pt.X), max(r.Max.Y, pt.Y)
		}
	}
	return r
}

// TestAlignment: text stands where Write's comment says, by the outlines of a capital.
func TestAlignment(t *testing.T) {
	const size = 10
	for _, c := range []struct {
		y            text.YAlignment
		bottom, over vg.Length // of the letter H drawn at (0, 0)
	}{
		{text.YBottom, 0, size * CapHeight}, {text.YTop, -size * CapHeight, 0},
		{text.YCenter, -size * CapHeight / 2, size * CapHeight / 2},
	} {
		sty := text.Style{Font: Sans(size), YAlign: c.y}
		r := bounds(outlines("H", sty, vg.Point{}))
		if math.Abs(float64(r.Min.Y-c.bottom)) > 0.3 || math.Abs(float64(r.Max.Y-c.over)) > 0.3 {
			t.Errorf("YAlign %v: H spans %v to %v, want %v to %v", c.y, r.Min.Y, r.Max.Y, c.bottom, c.over)
		}
	}
	sty := text.Style{Font: Sans(size), Rotation: math.Pi / 2}
	if r := bounds(outlines("HHHH", sty, vg.Point{})); r.Size().Y < 2*r.Size().X || r.Max.X > 0.1 {
		t.Errorf("turned text spans %v", r)
	}
}

// sketch uses every operation of a canvas.
func sketch(c vg.Canvas) {
	c.SetLineWidth(2)
	c.SetLineDash([]vg.Length{3, 1}, 1)
	c.SetColor(color.NRGBA{R: 200, A: 128})
	var p vg.Path
	p.Move(vg.Point{X: 10, Y: 10})
	p.Line(vg.Point{X: 90, Y: 10})
	p.QuadTo(vg.Point{X: 95, Y: 50}, vg.Point{X: 50, Y: 60})
	p.CubeTo(vg.Point{X: 40, Y: 60}, vg.Point{X: 30, Y: 50}, vg.Point{X: 20, Y: 40})
	p.Arc(vg.Point{X: 20, Y: 30}, 10, math.Pi/2, 1.5*math.Pi)
	p.Close()
	c.Stroke(p)
	c.Push()
	c.Translate(vg.Point{X: 50, Y: 50})
	c.Rotate(0.3)
	c.Scale(1, 0.5)
	c.SetColor(nil)
	c.Fill(p)
	c.Pop()
	img := image.NewNRGBA(image.Rect(0, 0, 2, 2))
	img.Set(0, 0, color.NRGBA{R: 255, A: 255})
	img.Set(1, 1, color.NRGBA{B: 255, A: 90})
	c.DrawImage(vg.Rectangle{Min: vg.Point{X: 60, Y: 60}, Max: vg.Point{X: 90, Y: 80}}, img)
	c.FillString(fonts().Lookup(Sans(9), 9), vg.Point{X: 5, Y: 85}, "plain ε")
	Halo(c, "halo", text.Style{Font: Sans(8), Color: color.Black}, vg.Point{X: 50, Y: 90})
}

func render(t *testing.T, format string) []byte {
	t.Helper()
	c := must.Get(New(100, 100, format, 96))
	sketch(c)
	var b bytes.Buffer
	n, err := c.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("%s: wrote %d of %d bytes, error %v", format, n, b.Len(), err)
	}
	return b.Bytes()
}

func TestPDFParses(t *testing.T) {
	raw := render(t, "pdf")
	if same, err := cmpimg.Equal("pdf", raw, raw); err != nil || !same {
		t.Errorf("a PDF reader finds equal: %t, error %v", same, err)
	}
	for _, word := range []string{"/ID", "/Type /Font"} {
		if bytes.Contains(raw, []byte(word)) {
			t.Errorf("the PDF has a %s", word)
		}
	}
	if !bytes.Contains(raw, []byte("/SMask")) || !bytes.Contains(raw, []byte("/ca 0.502")) {
		t.Error("the PDF lacks the transparency that was drawn")
	}
}

func TestSVGParses(t *testing.T) {
	raw := render(t, "svg")
	d := xml.NewDecoder(bytes.NewReader(raw))
	count := map[string]int{}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			count[e.Name.Local]++
		}
	}
	want := map[string]int{"svg": 1, "g": 4, "path": 5, "image": 1} // stroke, fill, text, and the halo's two
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("elements (−want +got):\n%s", diff)
	}
	if !strings.Contains(string(raw), "data:image/png;base64,") {
		t.Error("the image is not labelled as PNG")
	}
}

// TestPNGResolution reads the pHYs chunk back.
func TestPNGResolution(t *testing.T) {
	raw := render(t, "png")
	i := bytes.Index(raw, []byte("pHYs"))
	want := []byte{0, 0, 0x0E, 0xC4, 0, 0, 0x0E, 0xC4, 1} // 96 dpi = 3780 dots a metre
	if i < 0 || !bytes.Equal(raw[i+4:i+13], want) {
		t.Errorf("pHYs is %v, want %v", raw[i+4:i+13], want)
	}
	img := must.Get(png.Decode(bytes.NewReader(raw))) // checks the sums of all chunks
	if got := img.Bounds().Size(); got != (image.Point{X: 133, Y: 133}) {
		t.Errorf("100 pt at 96 dpi is %v dots, want 133", got)
	}
}

func TestUnknownFormat(t *testing.T) {
	_, err := New(10, 10, "gif", 96)
	if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), `"gif"`) {
		t.Errorf("error %v, want ErrFormat that names gif", err)
	}
}

func ExampleWidth() {
	narrow, wide := Width("10^{−3}", Sans(8)), Width("0.001 and more", Sans(8))
	fmt.Println(narrow < wide)
	// Output: true
}

// A letter that the font lacks is its number, and not a box.
func TestMissingGlyphs(t *testing.T) {
	if f := Sans(8); Width("你∇", f) != Width("[U+4F60]∇", f) || Width("ε≤∇", f) >= Width("[U+03B5]", f) {
		t.Errorf("widths %v, %v", Width("你∇", f), Width("ε≤∇", f))
	}
}
