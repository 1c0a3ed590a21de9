package gallery

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"path"
	"regexp"
	"strings"

	"coupling/lab"
	"coupling/lab/durable"

	"golang.org/x/image/draw"
)

//go:embed index.html.tmpl
var indexSource string

var index = template.Must(template.New("index").Funcs(template.FuncMap{
	"anchor":  anchor,
	"plain":   Plain,
	"ext":     func(file string) string { return strings.TrimPrefix(path.Ext(file), ".") },
	"table":   func(t Table) template.HTML { return HTML(t.Table, 0) },
	"claims":  func(c []Claim) template.HTML { return HTML(ClaimTable(c), 0) },
	"verdict": Verdict,
	"class":   class,
	"long":    func(t Table) bool { return len(t.Rows) > 20 }, // folded
}).Parse(indexSource))

// A Chapter is the figures of a paper.
type Chapter struct {
	Name, Title string
	Pages       []Page
}

// A Summary is the content of summary.json in a folder of figures; PAPER/FIGURE.json has each figure's claims.
type Summary struct {
	Figures int       `json:"figures"`
	Drawn   int       `json:"drawn"`
	Claims  lab.Score `json:"claims"` // of the figures that were drawn
	// Files is the SHA-256 of each file beside summary.json, by name.
	Files map[string]string `json:"files"`
}

// Summarise counts the figures that were drawn, and what came of their claims.
func Summarise(pages []Page) Summary {
	out := Summary{Figures: len(pages)}
	var claims []Claim
	for _, p := range pages {
		if p.Error == "" {
			out.Drawn++
			claims = append(claims, p.Claims...)
		}
	}
	out.Claims, _ = Count(claims)
	return out
}

// Verdict sums up a figure's claims in two words.
func Verdict(p Page) string {
	if p.Error != "" {
		return "failed"
	}
	switch score, _ := Count(p.Claims); {
	case score.Failed() > 0:
		return "differs"
	case score[lab.Holds] > 0:
		return "holds"
	case len(p.Claims) > 0:
		return "not asked"
	}
	return "no claims"
}

// WriteIndex writes dir/index.html, which loads nothing from elsewhere, and dir/summary.json, and returns the
// summary. The error wraps [durable.ErrForeign] if one of them is there and not of a gallery.
func WriteIndex(dir string, chapters []Chapter) (Summary, error) {
	var pages []Page
	for _, c := range chapters {
		pages = append(pages, c.Pages...)
	}
	return writeSummary(dir, Summarise(pages), func(to *durable.Folder) error {
		return to.WriteFile("index.html", func(w io.Writer) error { return index.Execute(w, chapters) })
	})
}

// writeSummary writes summary.json beside other files.
func writeSummary(dir string, s Summary, others func(*durable.Folder) error) (Summary, error) {
	const manifest = "summary.json"
	to, err := durable.OpenFolder(dir, manifest)
	if err != nil {
		return s, err
	}
	defer to.Close()
	to.Keep = true
	if err := others(to); err != nil {
		return s, err
	}
	s.Files = to.Files()
	return s, to.Commit(s)
}

// Thumbnail returns the PNG of r at most width pixels wide, as a PNG, or as a JPEG
// where that has more than limit bytes; ext is ".png" or ".jpg".
func Thumbnail(r io.Reader, width, limit int) (b []byte, ext string, err error) {
	img, err := png.Decode(r)
	if err != nil {
		return nil, "", err
	}
	size := img.Bounds().Size()
	width = min(width, size.X)
	small := image.NewRGBA(image.Rect(0, 0, width, max(1, size.Y*width/size.X)))
	draw.CatmullRom.Scale(small, small.Bounds(), img, img.Bounds(), draw.Src, nil)
	var buf bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&buf, small); err != nil ||
		buf.Len() <= limit {
		return buf.Bytes(), ".png", err
	}
	for quality := 90; quality > 0; quality -= 10 {
		buf.Reset()
		if err := jpeg.Encode(&buf, small, &jpeg.Options{Quality: quality}); err != nil || buf.Len() <= limit {
			return buf.Bytes(), ".jpg", err
		}
	}
	return nil, "", fmt.Errorf("a picture of %d×%d pixels is not below %d bytes", size.X, size.Y, limit)
}

func anchor(name string) string { return strings.ReplaceAll(name, "/", "-") }

var script = regexp.MustCompile(`[_^]\{([^}]*)\}`)

// Plain removes the marks of subscripts and superscripts: "W_{1}" becomes "W1".
func Plain(text string) string { return script.ReplaceAllString(text, "$1") }
