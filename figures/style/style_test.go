package style_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"coupling/figures/style"
	"coupling/figures/style/hue"
	_ "coupling/lab/draws"
	"coupling/lab/must"

	"github.com/lucasb-eyer/go-colorful"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/cmpimg"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"
)

func items(it ...plot.Plotter) style.Plot { return style.Plot{Items: it} }

func save(f style.Figure, format string) []byte {
	var b bytes.Buffer
	must.Do(f.Save(&b, format))
	return b.Bytes()
}

func picture(f style.Figure) image.Image {
	return must.Get(png.Decode(bytes.NewReader(save(f, "png"))))
}

// dots are the rows of the dots of exactly a colour, from the top.
func dots(img image.Image, c color.Color) (rows []int) {
	r, g, b, _ := c.RGBA()
	bounds := img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if p, q, s, _ := img.At(x, y).RGBA(); p == r && q == g && s == b {
				rows = append(rows, y)
			}
		}
	}
	return rows
}

func count(img image.Image, c color.Color) int { return len(dots(img, c)) }

// TestSameBytes: a figure is the same twice and with other numbers of processors, in all formats, and the PDF can be
// read.
func TestSameBytes(t *testing.T) {
	for _, name := range []string{"panels", "pairs", "table"} {
		for _, format := range []string{"png", "svg", "pdf"} {
			f := gallery()[name]
			f.DPI = goldenDPI
			a := save(f, format)
			before := runtime.GOMAXPROCS(1)
			b := save(f, format)
			runtime.GOMAXPROCS(before)
			if !bytes.Equal(a, b) {
				t.Errorf("%s.%s differs from one time to the next", name, format)
			}
			if format == "pdf" {
				if same, err := cmpimg.Equal("pdf", a, b); err != nil || !same {
					t.Errorf("%s.pdf: readable and equal: %t, error %v", name, same, err)
				}
			}
		}
	}
}

// TestBadData: what contradicts itself is refused, with the argument in the message.
func TestBadData(t *testing.T) {
	m := mat.NewDense(2, 3, nil)
	one := []float64{1}
	for want, body := range map[string]style.Drawer{
		"2 X and 1 Y":   items(style.Line{X: []float64{1, 2}, Y: one}),
		"1 Lo and 0 Hi": items(style.Line{X: one, Y: one, Lo: one}),
		"0 X and 1 Y":   items(style.Points{Y: one}),
		"At = 2 of 2":   items(style.Bars{At: 2, Of: 2}),
		"x 1 to 0":      items(style.Heat{M: m, X0: 1, Y1: 1}),
		"Plan 2×3": items(style.Coupling{Source: mat.NewDense(2, 2, nil),
			Target: mat.NewDense(2, 2, nil), Plan: m}),
		"Source, Target and Plan": items(style.Coupling{}),
		"Rows add up to 1 of 2":   style.HeatMap{M: m, Rows: []style.Block{{N: 1}}},
		"N = -1":                  style.HeatMap{M: m, Cols: []style.Block{{N: -1}, {N: 4}}},
		"shape 2×1×1":             style.ImageGrid{C: 2, H: 1, W: 1},
		"shape 0×0×4":             style.ImageGrid{W: 4},
		"image 1 has 3 values":    style.ImageGrid{H: 2, W: 2, Images: [][]float32{nil, {1, 2, 3}}},
		"row 0 has 2 cells":       style.Table{Header: []string{"a"}, Rows: [][]string{{"b", "c"}}},
		"panel (b)":               style.Panels{Items: []style.Drawer{nil, items(style.Points{Y: one})}},
		"item 0 of the plot":      items(style.Points{X: one}),
		"panel (a): panel (a): st": style.Panels{Items: []style.Drawer{
			style.Panels{Items: []style.Drawer{items(style.Points{X: one})}}}},
	} {
		err := style.Figure{Body: body}.Save(io.Discard, "svg")
		if !errors.Is(err, style.ErrData) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error %v, want ErrData that says %q", err, want)
		}
	}
	if err := (style.Figure{Width: -1}).Save(io.Discard, "svg"); !errors.Is(err, style.ErrData) {
		t.Errorf("a negative width: error %v, want ErrData", err)
	}
}

// TestEmptiness: nothing, one point, one value and the largest numbers all make a picture without NaN in it.
func TestEmptiness(t *testing.T) {
	nan, inf, big := math.NaN(), math.Inf(1), math.MaxFloat64
	line := func(y ...float64) plot.Plotter {
		l := style.Line{Y: y, Marks: true}
		for i := range y {
			l.X = append(l.X, float64(i))
		}
		return l
	}
	bodies := map[string]style.Drawer{
		"nothing":         nil,
		"no items":        style.Plot{},
		"empty line":      items(style.Line{}),
		"one point":       items(line(3)),
		"zero":            items(line(0)),
		"constant":        items(line(7, 7, 7)),
		"all NaN":         items(line(nan, nan)),
		"all infinite":    items(line(inf, -inf)),
		"largest":         items(line(-big, big)),
		"one largest":     items(line(big), line(-big)),
		"no points":       items(style.Points{}, style.Bars{}),
		"reversed limits": style.Plot{X: style.Axis{Min: 2, Max: 1}, Items: []plot.Plotter{line(1, 2)}},
		"no panels":       style.Panels{},
		"empty panel": style.Panels{Items: []style.Drawer{nil, style.Plot{}}, Letters: true,
			Bar: &style.ColorBar{}},
		"no matrix":       style.HeatMap{},
		"empty matrix":    style.HeatMap{M: &mat.Dense{}},
		"NaN matrix":      style.HeatMap{M: mat.NewDense(1, 1, []float64{nan})},
		"constant matrix": style.HeatMap{M: mat.NewDense(2, 2, []float64{3, 3, 3, 3})},
		"zero log matrix": style.HeatMap{M: mat.NewDense(2, 2, nil), Scale: style.Scale{Log: true}},
		"largest matrix":  style.HeatMap{M: mat.NewDense(1, 2, []float64{-big, big})},
		"no images":       style.ImageGrid{H: 2, W: 2},
		"no table":        style.Table{},
		"headings only":   style.Table{Header: []string{"a", "b"}},
		"no legend":       style.Legend{},
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			for _, log := range []bool{false, true} {
				if p, ok := body.(style.Plot); ok {
					p.X.Log, p.Y.Log = log, log
					body = p
				}
				if s := string(save(style.Figure{Body: body}, "svg")); strings.Contains(s, "NaN") ||
					strings.Contains(s, "Inf") {
					t.Error("the picture has NaN or Inf in it")
				}
				save(style.Figure{Body: body, DPI: 60}, "png")
			}
		})
	}
}

// TestAnyData: no data whatsoever makes drawing panic, and everything stays near the page.
func TestAnyData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 6).Draw(t, "n")
		value := rapid.OneOf(rapid.Float64(),
			rapid.SampledFrom([]float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, math.MaxFloat64}))
		draw := func(name string) (v []float64) {
			for range n {
				v = append(v, value.Draw(t, name))
			}
			return v
		}
		x, y, lo, hi := draw("x"), draw("y"), draw("lo"), draw("hi")
		p := style.Plot{
			X: style.Axis{Log: rapid.Bool().Draw(t, "log x"), Invert: rapid.Bool().Draw(t, "invert")},
			Y: style.Axis{Log: rapid.Bool().Draw(t, "log y"), Min: value.Draw(t, "min"), Max: value.Draw(t, "max")},
			Items: []plot.Plotter{
				style.Line{Name: "a", X: x, Y: y, Lo: lo, Hi: hi, Marks: true},
				style.Points{Name: "b", X: y, Y: x},
				style.Bars{Y: y},
				style.Rule{At: value.Draw(t, "rule"), Label: "r"},
				style.Note{X: value.Draw(t, "note"), Y: 1, Text: "n", DX: 5},
			},
		}
		var b bytes.Buffer
		must.Do((style.Figure{Body: p}).Save(&b, "svg"))
		// A number is clipped at 10⁶ points when it is written; nothing should come near that.
		for _, bad := range []string{"NaN", "Inf", "1000000"} {
			if strings.Contains(b.String(), bad) {
				t.Fatalf("%s in the picture", bad)
			}
		}
	})
}

// TestCrispPixels: each pixel of an image grid is a square of dots of one colour, in its place.
func TestCrispPixels(t *testing.T) {
	const h, w = 5, 4
	im := make([]float32, h*w)
	for i := range im {
		im[i] = float32(i+1) / float32(h*w+1)
	}
	img := picture(style.Figure{Body: style.ImageGrid{Images: [][]float32{im}, H: h, W: w},
		Width: 40 * vg.Millimeter})
	level := func(i int) color.Gray { return color.Gray{Y: uint8(math.Round(255 * float64(im[i])))} }
	n := count(img, level(0))
	side := int(math.Round(math.Sqrt(float64(n))))
	if side < 10 || side*side != n {
		t.Fatalf("the first pixel covers %d dots, want a square", n)
	}
	for i := range im {
		if got := count(img, level(i)); got != n {
			t.Errorf("pixel %d covers %d dots, the first %d", i, got, n)
		}
	}
}

func TestImageValues(t *testing.T) {
	grid := func(g style.ImageGrid) image.Image {
		g.H, g.W, g.Columns = 1, 1, 1
		return picture(style.Figure{Body: g, Width: 10 * vg.Millimeter})
	}
	for _, c := range []struct {
		name string
		g    style.ImageGrid
		want color.Color
	}{
		{"clipped", style.ImageGrid{Images: [][]float32{{-3}}}, color.Gray{Y: 0}},
		{"middle of [−1, 1]", style.ImageGrid{Images: [][]float32{{0}}, Lo: -1, Hi: 1}, color.Gray{Y: 128}},
		{"NaN", style.ImageGrid{Images: [][]float32{{float32(math.NaN())}}}, color.Gray{Y: 128}},
		{"inverted", style.ImageGrid{Images: [][]float32{{1}}, Invert: true}, color.Gray{Y: 0}},
		{"planes", style.ImageGrid{C: 3, Images: [][]float32{{1, 0, 0.2}}}, color.RGBA{R: 255, B: 51, A: 255}},
	} {
		if count(grid(c.g), c.want) < 100 {
			t.Errorf("%s: no pixel of colour %v", c.name, c.want)
		}
	}
}

// TestHeatMapCells: colours are those of the scale, row 0 is at the top, and a field's is at the bottom.
func TestHeatMapCells(t *testing.T) {
	m := mat.NewDense(2, 2, []float64{0, 1, 2, 3})
	for _, c := range []struct {
		name      string
		body      style.Drawer
		firstIsUp bool
	}{
		{"heat map", style.HeatMap{M: m, NoBar: true}, true},
		{"field", style.Plot{Items: []plot.Plotter{style.Heat{M: m, X1: 1, Y1: 1}}, NoGrid: true}, false},
	} {
		img := picture(style.Figure{Body: c.body})
		zero, three := dots(img, hue.Viridis(0)), dots(img, hue.Viridis(1))
		if len(zero) < 1000 || len(three) < 1000 {
			t.Fatalf("%s: the ends of the scale are not in the picture", c.name)
		}
		if up := zero[0] < three[0]; up != c.firstIsUp {
			t.Errorf("%s: row 0 above the last row: %t, want %t", c.name, up, c.firstIsUp)
		}
	}
}

// TestBadge: the badge is in the picture and readable, and makes it higher.
func TestBadge(t *testing.T) {
	plain := style.Figure{Body: errorCurves()}
	marked := plain
	marked.Badge = "quick: n = 500; smaller than the paper's"
	_, h0 := plain.Size()
	_, h1 := marked.Size()
	if h1 <= h0 {
		t.Errorf("%v high with a badge, %v without: it must not cover the picture", h1, h0)
	}
	pale := color.NRGBA{R: 0xFF, G: 0xF8, B: 0xE1, A: 255}
	if count(picture(plain), pale) > 0 || count(picture(marked), pale) < 1000 {
		t.Error("the badge's box is not where it should be")
	}
	luminance := func(c color.Color) float64 {
		of, _ := colorful.MakeColor(c)
		_, y, _ := of.Xyz()
		return y
	}
	// WCAG 2 AA for small text
	if c := (luminance(pale) + .05) / (luminance(color.NRGBA{R: 0x6B, G: 0x52, B: 0x10, A: 255}) + .05); c < 4.5 {
		t.Errorf("the badge's text has contrast %.1f", c)
	}
}

func TestSizes(t *testing.T) {
	for width, dots := range map[vg.Length]int{style.OneColumn: 669, style.TwoColumns: 1386, style.Screen: 1102} {
		if got := picture(style.Figure{Width: width, Height: 50}).Bounds().Dx(); got != dots {
			t.Errorf("%.0f mm is %d dots wide at %d dpi, want %d", width/vg.Millimeter, got, style.DPI, dots)
		}
	}
	w, h := style.Figure{Body: style.HeatMap{M: mat.NewDense(3, 3, nil), NoBar: true, NoTicks: true}}.Size()
	if math.Abs(float64(w-h)) > 4 {
		t.Errorf("a square matrix makes a figure of %v × %v", w, h)
	}
}

// TestSeries: no two of the first 168 series have the same look.
func TestSeries(t *testing.T) {
	seen := map[string]int{}
	for k := range 168 {
		key := fmt.Sprintf("%v %v %T%v", style.Series(k).Color, style.Series(k).Dashes, style.Series(k).Glyph,
			style.Series(k).Glyph)
		if j, ok := seen[key]; ok {
			t.Errorf("series %d looks like series %d", k, j)
		}
		seen[key] = k
	}
}

// TestGonumPlot: a plot of gonum takes part, with our items.
func TestGonumPlot(t *testing.T) {
	p := plot.New()
	p.Title.Text = "by hand"
	p.Add(style.Line{X: []float64{1, 10, 100}, Y: []float64{1, 0.1, 0.01}, Name: "ours"})
	f := must.Get(plotter.NewScatter(plotter.XYs{{X: 3, Y: 0.3}}))
	p.Add(f)
	save(style.Figure{Body: style.Panels{Items: []style.Drawer{p, items(f)}}}, "pdf")
}

// TestLegend: only several named items make a legend, and one name makes one entry.
func TestLegend(t *testing.T) {
	a, b := style.Line{Name: "a"}, style.Points{Name: "b", Series: 1}
	if got := len(style.Key(a, b, a, style.Line{}, style.Rule{})); got != 2 {
		t.Errorf("%d entries, want 2", got)
	}
	height := func(items ...plot.Plotter) vg.Length {
		_, h := style.Figure{Body: style.Plot{Items: items}}.Size()
		return h
	}
	if one, none := height(a), height(style.Line{}); one != none {
		t.Errorf("a plot of one series is %v high, without a name %v: one series needs no legend", one, none)
	}
	if two, none := height(a, b), height(style.Line{}); two <= none {
		t.Error("two series have no legend")
	}
}

func TestBlocks(t *testing.T) {
	got := style.Blocks([]uint8{0, 0, 3, 3, 3, 7}, func(l uint8) string { return fmt.Sprint(l) })
	if s := fmt.Sprint(got); s != "[{0 2} {3 3} {7 1}]" {
		t.Errorf("Blocks = %s", s)
	}
}
