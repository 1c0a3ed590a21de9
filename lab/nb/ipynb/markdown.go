package ipynb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"coupling/lab"
)

// FromMarkdown makes a notebook without outputs. A fenced block marked go is a code cell; what lies
// between is text, of which each heading of the first or second level begins a new cell:
//
//	# Title
//
//	Text.
//
//	```go
//	%%
//	fmt.Println("a cell")
//	```
//
// Other fences stay in the text. A cell's id is made of the heading it stands under and its place
// there ("two-ways-2"), so that changing one section leaves the ids of all others as they were. The
// error names the line of a fence that is never closed.
func FromMarkdown(md string) (*Notebook, error) {
	m := maker{used: map[string]int{}}
	lines := strings.Split(strings.ReplaceAll(md, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "```"):
			end := i + 1
			for end < len(lines) && strings.TrimRight(lines[end], " ") != "```" {
				end++
			}
			if end == len(lines) {
				return nil, fmt.Errorf("ipynb: line %d: the fence %q is never closed", i+1, line)
			}
			if strings.TrimSpace(line) == "```go" {
				m.flush()
				m.add(Code, strings.Join(lines[i+1:end], "\n"))
			} else {
				m.text = append(m.text, lines[i:end+1]...)
			}
			i = end
		case strings.HasPrefix(line, "# "), strings.HasPrefix(line, "## "):
			m.flush()
			m.section = slug(strings.TrimLeft(line, "# "))
			m.text = append(m.text, line)
		default:
			m.text = append(m.text, line)
		}
	}
	m.flush()
	if len(m.cells) == 0 {
		return nil, fmt.Errorf("ipynb: nothing in %d lines of Markdown", len(lines))
	}
	return &Notebook{m.cells}, nil
}

// Markdown returns the text and code of the notebook, without output, as [FromMarkdown] reads it.
func (nb *Notebook) Markdown() string { return nb.markdown(func(Cell, string) string { return "" }) }

// markdown adds the result of shown after each cell of code.
func (nb *Notebook) markdown(shown func(c Cell, heading string) string) string {
	var b strings.Builder
	heading := ""
	for _, c := range nb.Cells {
		if c.Type == Code {
			fmt.Fprintf(&b, "```go\n%s\n```\n\n%s", c.Source, shown(c, heading))
		} else {
			if all := headings.FindAllStringSubmatch(c.Source, -1); all != nil {
				heading = all[len(all)-1][1]
			}
			fmt.Fprintf(&b, "%s\n\n", c.Source)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

type maker struct {
	cells   []Cell
	text    []string // of the cell being read
	section string
	used    map[string]int
}

func (m *maker) flush() {
	if text := strings.Trim(strings.Join(m.text, "\n"), "\n"); text != "" {
		m.add(Markdown, text)
	}
	m.text = nil
}

func (m *maker) add(kind, source string) {
	id := m.section
	if id == "" {
		id = "start"
	}
	m.used[id]++
	m.cells = append(m.cells, Cell{ID: fmt.Sprintf("%s-%d", id, m.used[id]), Type: kind, Source: source})
}

// slug keeps what an id may hold (letters, digits, dashes of ASCII; at most 64 with
// the number): "Two ways, one plan" is two-ways-one-plan.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 48 {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// Generated returns what NAME.ipynb must be for each NAME.md of a folder.
func Generated(dir string) (out map[string][]byte, err error) {
	defer lab.End(&err)
	out = map[string][]byte{}
	for _, source := range lab.Must(filepath.Glob(filepath.Join(dir, "*.md"))) {
		nb, err := FromMarkdown(string(lab.Must(os.ReadFile(source))))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		out[strings.TrimSuffix(source, ".md")+".ipynb"] = lab.Must(nb.Encode())
	}
	return out, nil
}

// Generate writes NAME.ipynb for each NAME.md in the folder dir.
func Generate(dir string) (err error) {
	defer lab.End(&err)
	for name, b := range lab.Must(Generated(dir)) {
		lab.Check(os.WriteFile(name, b, 0o666))
	}
	return nil
}
