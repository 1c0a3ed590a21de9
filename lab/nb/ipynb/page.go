package ipynb

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"coupling/lab/gallery"
)

// The output of cells is between two comments, so that a page can be compared with its notebook
// without it.
const (
	outputBegin = "<!-- output -->\n\n"
	outputEnd   = "<!-- /output -->\n\n"
)

var output = regexp.MustCompile(`(?s)` + outputBegin + `.*?` + outputEnd + `?`)

// PageSource is the page without the output of its cells; it is the same before and after the
// notebook is executed.
func PageSource(page string) string { return output.ReplaceAllString(page, "") }

// PagePictures lists the pictures that a page shows.
func PagePictures(page string) (names []string) {
	for _, found := range shownPicture.FindAllStringSubmatch(page, -1) {
		names = append(names, found[1])
	}
	return names
}

var shownPicture = regexp.MustCompile(`<img src="([^"/]*)" alt="what the cell shows">`)

// Page is the notebook for readers: Markdown that a code host shows, with what
// cells have shown behind them, and pictures of at most 640 pixels beside it,
// called NAME-1.png and so on. A film shows three of its frames.
func (nb *Notebook) Page(name string) (md string, pictures map[string][]byte, err error) {
	p := &page{name: name, pictures: map[string][]byte{}}
	md = "<!-- make pages wrote this from " + name + ".md: edit that. -->\n\n" + nb.markdown(p.shown)
	return strings.ReplaceAll(md, ".ipynb)", ".md)"), p.pictures, p.err
}

type page struct {
	name     string
	pictures map[string][]byte
	err      error
}

func (p *page) shown(c Cell) string {
	var b strings.Builder
	for _, o := range c.Outputs {
		png, html, text := o.Text("image/png"), o.Text("text/html"), strings.TrimSpace(o.Text("text/plain"))
		switch {
		case png != "":
			fmt.Fprintf(&b, "%s\n\n", p.picture(png, pageWidth))
		case html != "":
			fmt.Fprintf(&b, "%s\n\n", p.html(html))
		case text != "" && o["name"] != "stderr":
			fmt.Fprintf(&b, "```text\n%s\n```\n\n", text)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return outputBegin + b.String() + outputEnd
}

const (
	pageWidth  = 640   // pixels of a picture
	frameWidth = 280   // of a frame of a film
	pageBytes  = 60000 // of a picture, at most
)

// picture keeps a PNG, in base64, as a file.
func (p *page) picture(encoded string, width int) string {
	b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
	if err == nil {
		var ext string
		if b, ext, err = gallery.Thumbnail(bytes.NewReader(b), width, pageBytes); err == nil {
			name := fmt.Sprintf("%s-%d%s", p.name, len(p.pictures)+1, ext)
			p.pictures[name] = b
			return fmt.Sprintf(`<img src="%s" alt="what the cell shows">`, name)
		}
	}
	p.err = fmt.Errorf("ipynb: picture %d of %s: %w", len(p.pictures)+1, p.name, err)
	return ""
}

var (
	film     = regexp.MustCompile(`(?s)<div[^>]*class="nb-film">\s*<label[^>]*>(.*?)<input`)
	frame    = regexp.MustCompile(`(?s)<div class="nb-frame" data-value="([^"]*)"[^>]*>(.*?)</div>`)
	embedded = regexp.MustCompile(`<img[^>]*src="data:image/png;base64,([^"]*)">`)
	// unwanted matches HTML that a code host drops or shows badly.
	unwanted = regexp.MustCompile(`(?s)<script.*?</script>|<(button|select|output).*?</(button|select|output)>|<input[^>]*>| (style|class)="[^"]*"`)
	blank    = regexp.MustCompile(`\n\s*\n`) // would end the HTML
)

func (p *page) html(html string) string {
	width := pageWidth
	if f := film.FindStringSubmatch(html); f != nil {
		frames := frame.FindAllStringSubmatch(html, -1)
		html, width = "<table><tr>", frameWidth
		for _, i := range []int{0, len(frames) / 2, len(frames) - 1} {
			html += fmt.Sprintf("<td>%s= %s<br>%s</td>", f[1], frames[i][1], frames[i][2])
			if !embedded.MatchString(frames[i][2]) { // a table: below each other
				html += "</tr><tr>"
			}
		}
		html = strings.TrimSuffix(html+"</tr>", "<tr></tr>") + "</table>"
	}
	html = embedded.ReplaceAllStringFunc(html, func(img string) string {
		return p.picture(embedded.FindStringSubmatch(img)[1], width)
	})
	return blank.ReplaceAllString(strings.TrimSpace(unwanted.ReplaceAllString(html, "")), "\n")
}
