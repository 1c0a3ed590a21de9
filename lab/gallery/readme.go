package gallery

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"golang.org/x/image/draw"

	"coupling/lab"
	"coupling/lab/durable"
)

//go:embed readme.md.tmpl
var readmeSource string

var readme = template.Must(template.New("readme").Funcs(template.FuncMap{
	"plain": Plain, "sentence": sentence, "thumb": thumbName, "verdict": verdict, "cell": tableCell, "anchor": anchor,
}).Parse(readmeSource))

const (
	thumbWidth = 480   // pixels
	thumbBytes = 60000 // at most
	thumbs     = "thumbs"
)

// WriteReadme writes dir/README.md, which shows each page by a thumbnail, a sentence, its claims
// and its command, and dir/thumbs. The pictures are read from the gallery's folder out. Of a page
// that has only a name, the entry of the present README.md stays. Thumbnails of removed figures are
// deleted.
func WriteReadme(dir, out string, chapters []Chapter) (err error) {
	defer lab.End(&err)
	file := filepath.Join(dir, "README.md")
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old, kept := entries(string(text)), map[string]bool{}
	for _, c := range chapters {
		for i := range c.Pages {
			p := &c.Pages[i]
			if p.Preset == "" && p.Error == "" {
				p.Entry = old[p.Name]
				kept[anchor(p.Name)+".png"], kept[anchor(p.Name)+".jpg"] = true, true
				continue
			}
			p.thumbnail(dir, out, kept)
			if p.Source != "" {
				p.Digest = lab.Must(SourceDigest(filepath.Join(dir, filepath.FromSlash(p.Source))))
			}
			var b strings.Builder
			lab.Check(readme.ExecuteTemplate(&b, "entry", *p))
			p.Entry = b.String()
		}
	}
	lab.Check(removeOthers(filepath.Join(dir, thumbs), kept))
	return durable.WriteFile(file, 0o666, func(w io.Writer) error { return readme.Execute(w, chapters) })
}

// thumbnail writes the page's thumbnail, if it has a picture, and notes its name in kept.
func (p *Page) thumbnail(dir, out string, kept map[string]bool) {
	if len(p.Pictures) == 0 || p.Error != "" {
		return
	}
	picture := lab.Must(os.ReadFile(filepath.Join(out, filepath.FromSlash(p.Pictures[0].Shown()))))
	b, ext, err := Thumbnail(bytes.NewReader(picture), thumbWidth, thumbBytes)
	if err != nil {
		lab.Check(fmt.Errorf("gallery: thumbnail of %s: %w", p.Name, err))
	}
	name := anchor(p.Name) + ext
	p.Thumb, kept[name] = path.Join(thumbs, name), true
	lab.Check(durable.Write(filepath.Join(dir, thumbs, name), b))
}

// entries returns the entries of a README.md by figure.
func entries(text string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Split(text, "\n### `")[1:] {
		name, _, _ := strings.Cut(part, "`")
		part, _, _ = strings.Cut(part, "\n## ")
		out[name] = "### `" + strings.TrimRight(part, "\n") + "\n"
	}
	return out
}

// SourceDigest returns a digest of a Go file that comments and layout do not change: 12 hexadecimal
// digits.
func SourceDigest(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(file, -1, len(text)), text, nil, 0)
	h := sha256.New()
	for {
		switch _, kind, literal := s.Scan(); kind {
		case token.EOF:
			return hex.EncodeToString(h.Sum(nil)[:6]), nil
		case token.COMMA, token.SEMICOLON: // those at the ends of lines
		default:
			fmt.Fprintf(h, "%v %q;", kind, literal)
		}
	}
}

// removeOthers deletes the thumbnails of dir that are not in kept.
func removeOthers(dir string, kept map[string]bool) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		if ext := path.Ext(f.Name()); !kept[f.Name()] && (ext == ".png" || ext == ".jpg") {
			err = errors.Join(err, os.Remove(filepath.Join(dir, f.Name())))
		}
	}
	return err
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
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&buf, small); err != nil || buf.Len() <= limit {
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

// thumbName is the thumbnail of a page, or else the picture itself.
func thumbName(p Page) string {
	if p.Thumb != "" || len(p.Pictures) == 0 {
		return p.Thumb
	}
	return p.Pictures[0].Shown()
}

var script = regexp.MustCompile(`[_^]\{([^}]*)\}`)

// Plain removes the marks of subscripts and superscripts: "W_{1}" becomes "W1".
func Plain(text string) string { return script.ReplaceAllString(text, "$1") }

var sentenceEnd = regexp.MustCompile(`[.:!?] [A-Z]`)

// sentence returns the first sentence of a text.
func sentence(text string) string {
	if at := sentenceEnd.FindStringIndex(text); at != nil {
		text = text[:at[0]] + "."
	}
	return Plain(text)
}

// tableCell makes text safe within a Markdown table.
func tableCell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(Plain(text))
}
