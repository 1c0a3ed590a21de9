package gallery

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
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
	"table":    func(t Table) template.HTML { return HTML(t.Table, 0) },
	"claims":   func(c []Claim) template.HTML { return HTML(ClaimTable(c), 0) },
	"verdict":  verdict,
	"failures": failures,
	"long":     func(t Table) bool { return len(t.Rows) > 20 }, // folded
}).Parse(indexSource))

// A Chapter is the figures of a paper.
type Chapter struct {
	Name, Title string
	Pages       []Page
}

// verdict sums up a figure's claims in two words.
func verdict(p Page) string {
	if p.Error != "" {
		return "failed"
	}
	switch score, _ := Count(p.Claims); {
	case score[lab.Differs] > 0:
		return "differs"
	case score[lab.Holds] > 0:
		return "holds"
	}
	return "no claims"
}

// failures folds the errors of pages into one line each, with the figures that
// they stopped.
func failures(chapters []Chapter) (out []string) {
	figures := map[string][]string{}
	for _, c := range chapters {
		for _, p := range c.Pages {
			if p.Error != "" {
				figures[p.Error] = append(figures[p.Error], p.Name)
			}
		}
	}
	for _, r := range slices.Sorted(maps.Keys(figures)) {
		out = append(out, fmt.Sprintf("Not made: %s: %s", strings.Join(figures[r], ", "), r))
	}
	return out
}

// WriteIndex writes dir/index.html, which loads nothing from elsewhere.
func WriteIndex(dir string, chapters []Chapter) error {
	return durable.WriteFile(filepath.Join(dir, "index.html"), 0o666, func(w io.Writer) error {
		return index.Execute(w, chapters)
	})
}
