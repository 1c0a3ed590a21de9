// Package scripts writes, for each figure of the registry, what a reader may
// start from: a short program that makes the figure, and a page of Markdown with the
// notebook's cell that does.
//
//	go run figures/scripts/tour/digits.go -out out
//
// go generate ./figures writes the files, and a test demands that they are what
// the registry says.
package scripts

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"coupling/figures"
	"coupling/lab"
)

var (
	//go:embed program.go.tmpl
	programText string
	//go:embed cell.md.tmpl
	cellText string

	functions = template.FuncMap{"wrap": wrap}
	program   = template.Must(template.New("program").Funcs(functions).Parse(programText))
	cell      = template.Must(template.New("cell").Funcs(functions).Parse(cellText))
)

// entry is what the templates know of a figure.
type entry struct {
	Name, Title, Shows, Paper, File string
	Sizes                           []size
	// Imports, Constructor and Grid are what the program spells out: see [grid].
	Imports           []string
	Constructor, Grid string
}

type size struct{ Preset, Computes string }

// Files returns the content of each generated file, by its path in this folder.
func Files() (out map[string][]byte, err error) {
	defer lab.End(&err)
	papers := map[string]string{}
	for _, p := range figures.Papers() {
		papers[p.Name] = p.Title
	}
	out = map[string][]byte{}
	for _, f := range figures.All() {
		if f.Constructor == "" {
			continue
		}
		e := entry{Name: f.Name, Title: f.Title, Shows: f.Shows, Paper: papers[f.Paper()],
			File: filepath.ToSlash(f.Name)}
		e.spell(f)
		for _, p := range lab.Presets {
			if f.Sizes[p] != "" {
				e.Sizes = append(e.Sizes, size{string(p), f.Sizes[p]})
			}
		}
		var code, page bytes.Buffer
		lab.Check(program.Execute(&code, e))
		e.Grid = indented(e.Grid)
		lab.Check(cell.Execute(&page, e))
		formatted, err := format.Source(code.Bytes())
		if err != nil {
			return nil, fmt.Errorf("scripts: %s: %w", f.Name, err)
		}
		out[f.Name+".go"], out[f.Name+".md"] = formatted, page.Bytes()
	}
	return out, nil
}

// indented returns statements as a cell has them: formatted, by four blanks a level.
func indented(statements string) string {
	b := lab.Must(format.Source([]byte(statements)))
	return regexp.MustCompile(`(?m)^\t+`).ReplaceAllStringFunc(string(b), func(tabs string) string {
		return strings.Repeat("    ", len(tabs))
	})
}

// spell fills what a reader may edit: the constructor of the study, and its quick grid.
func (e *entry) spell(f lab.Figure) {
	pkg, name, _ := strings.Cut(path.Base(f.Constructor), ".")
	e.Constructor = pkg + "." + name
	e.Grid, e.Imports = grid(gridOn("official", f), gridOn("sample", f))
	e.Imports = append(e.Imports, path.Dir(f.Constructor)+"/"+pkg, "coupling/lab") // lab.StudyOf
	slices.Sort(e.Imports)
	e.Imports = slices.Compact(e.Imports)
}

// gridOn returns a figure's quick grid on some data, wherever the files are.
func gridOn(origin string, f lab.Figure) any {
	const name = "COUPLING_DATA"
	old := os.Getenv(name) // empty is as good as unset
	lab.Check(os.Setenv(name, origin))
	defer func() { lab.Check(os.Setenv(name, old)) }()
	return f.Grid(lab.Setting{Preset: lab.Quick, Seed: 1, Device: "cpu"})
}

// Write writes the files into the folder dir, and removes those of figures that
// are no more.
func Write(dir string) (err error) {
	defer lab.End(&err)
	files := lab.Must(Files())
	for _, path := range lab.Must(generated(dir)) {
		if files[path] == nil {
			lab.Check(os.Remove(filepath.Join(dir, path)))
		}
	}
	for name, b := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		lab.Check(errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, b, 0o666)))
	}
	return nil
}

// generated lists the generated files of dir, which are those in folders of papers.
func generated(dir string) (names []string, err error) {
	for _, p := range figures.Papers() {
		found, e := fs.Glob(os.DirFS(dir), p.Name+"/*")
		names, err = append(names, found...), errors.Join(err, e)
	}
	return names, err
}

// wrap breaks text into lines of comments.
func wrap(prefix, text string) string {
	var lines []string
	line := prefix
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 118 && line != prefix {
			lines, line = append(lines, line), prefix
		}
		line += " " + word
	}
	return strings.Join(append(lines, line), "\n")
}
