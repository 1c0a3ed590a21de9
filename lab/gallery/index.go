package gallery

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"coupling/lab"
	"coupling/lab/durable"
)

//go:embed index.html.tmpl
var indexSource string

var index = template.Must(template.New("index").Funcs(template.FuncMap{
	"anchor":   anchor,
	"thumb":    thumbName,
	"plain":    plain,
	"ext":      func(file string) string { return strings.TrimPrefix(path.Ext(file), ".") },
	"class":    func(v lab.Verdict) string { return strings.ReplaceAll(string(v), " ", "-") },
	"verdict":  verdict,
	"failures": failures,
	"long":     func(t Table) bool { return len(t.Rows) > 20 }, // folded
}).Parse(indexSource))

// A Chapter gathers the figures whose names begin with Name and a slash.
type Chapter struct {
	Name, Title string
	Pages       []Page
}

// arrange sorts pages into chapters and drops empty chapters. Pages without a chapter come last.
func arrange(pages []Page, chapters []Chapter) []Chapter {
	out := append(slices.Clone(chapters), Chapter{Name: "other", Title: "Other figures"})
	for _, p := range pages {
		name, _, _ := strings.Cut(p.Name, "/")
		i := slices.IndexFunc(out, func(c Chapter) bool { return c.Name == name })
		if i < 0 {
			i = len(out) - 1
		}
		out[i].Pages = append(out[i].Pages, p)
	}
	return slices.DeleteFunc(out, func(c Chapter) bool { return len(c.Pages) == 0 })
}

// verdict sums up a figure's claims in two words.
func verdict(p Page) string {
	if p.Error != "" {
		return "failed"
	}
	out := "no claims"
	for _, c := range p.Claims {
		switch c.Verdict {
		case lab.Differs:
			return "differs"
		case lab.Holds:
			out = "holds"
		}
	}
	return out
}

// failures folds the errors of pages into one line each, with the figures that
// they stopped.
func failures(chapters []Chapter) (out []string) {
	figures := map[string][]string{}
	var reasons []string
	for _, c := range chapters {
		for _, p := range c.Pages {
			if p.Error == "" {
				continue
			}
			if figures[p.Error] == nil {
				reasons = append(reasons, p.Error)
			}
			figures[p.Error] = append(figures[p.Error], p.Name)
		}
	}
	for _, r := range reasons {
		out = append(out, fmt.Sprintf("Not made: %s: %s", strings.Join(figures[r], ", "), r))
	}
	return out
}

// WriteIndex writes dir/index.html over pages, grouped into chapters. The page
// loads nothing from elsewhere.
func WriteIndex(dir string, pages []Page, chapters []Chapter) error {
	return durable.WriteFile(filepath.Join(dir, "index.html"), 0o666, func(w io.Writer) error {
		return index.Execute(w, arrange(pages, chapters))
	})
}
