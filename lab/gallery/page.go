package gallery

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/store"

	"github.com/go-json-experiment/json"
)

// A Page is one figure as written to the gallery.
type Page struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	Shows    string    `json:"shows"`
	Preset   string    `json:"preset"`
	Size     string    `json:"size,omitzero"` // what the preset computes
	Seed     uint64    `json:"seed"`
	Device   string    `json:"device"`
	Command  string    `json:"command,omitzero"` // remakes the figure
	Pictures []Picture `json:"pictures"`
	Tables   []Table   `json:"tables"`
	Notes    []string  `json:"notes"`
	Claims   []Claim   `json:"claims"`
	Cells    Cells     `json:"cells"`
	Error    string    `json:"error,omitzero"` // why there is no figure
	// Files is the SHA-256 of each file beside the page's own, by name.
	Files  map[string]string `json:"files,omitzero"`
	Source string            `json:"source,omitzero"` // the study's file, below the folder of figures
}

// A Picture is a picture's files, relative to the gallery's folder.
type Picture struct {
	Caption string   `json:"caption"`
	Files   []string `json:"files"`
}

// Shown returns the file that a browser shows.
func (p Picture) Shown() string {
	for _, ext := range []string{".png", ".svg"} {
		for _, f := range p.Files {
			if path.Ext(f) == ext {
				return f
			}
		}
	}
	return ""
}

// A Table is a table and the CSV file that holds it.
type Table struct {
	lab.Table
	File string `json:"file"`
}

// Cells sums up the manifests of the cells behind a figure.
type Cells struct {
	Count    int      `json:"count"`
	Other    int      `json:"other_code,omitzero"` // computed by code that differs from the drawing program's
	Versions []string `json:"versions"`            // experiment@version
	Seconds  float64  `json:"seconds"`             // of computing, summed over cells
	Days     []string `json:"days"`                // on which they were computed
	Commits  []string `json:"commits"`
	Devices  []string `json:"devices"`
	Data     []string `json:"data,omitzero"` // what cells say in a parameter named data, if it is not ""
	Go       []string `json:"go"`
	// Inception is what cells say in a parameter of that name: the weights in whose features distances are.
	Inception []string `json:"inception,omitzero"`
}

// Write draws fig from finished cells, checks its claims, and writes all of it below dir:
// PAPER/FIGURE[-PICTURE].FORMAT, PAPER/FIGURE[-TABLE].csv and PAPER/FIGURE.json. A panic of the
// figure's functions is an error, so that one bad figure does not end a run of many.
func Write(s *store.Store, fig lab.Figure, set lab.Setting, dir string, formats []string) (page Page, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic: %v\n%s", x, debug.Stack())
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", fig.Name, err)
		}
	}()
	defer lab.End(&err)
	page = Describe(fig, set)
	exhibit := lab.Must(fig.Draw(s, set))
	to := lab.Must(durable.OpenFolder(filepath.Join(dir, path.Dir(fig.Name)), path.Base(fig.Name)+".json"))
	defer to.Close()
	to.Keep = true // pictures of formats that are not drawn this time
	write := func(file string, fill func(io.Writer) error) { lab.Check(to.WriteFile(path.Base(file), fill)) }
	for _, p := range exhibit.Pictures {
		shown := Picture{Caption: p.Caption}
		for _, format := range formats {
			file := join(fig.Name, p.Name) + "." + format
			write(file, func(w io.Writer) error { return p.Drawing.Save(w, format) })
			shown.Files = append(shown.Files, file)
		}
		page.Pictures = append(page.Pictures, shown)
	}
	for _, t := range exhibit.Tables {
		file := join(fig.Name, t.Name) + ".csv"
		write(file, func(w io.Writer) error {
			return csv.NewWriter(w).WriteAll(append([][]string{t.Header}, t.Rows...))
		})
		page.Tables = append(page.Tables, Table{t, file})
	}
	page.Notes = exhibit.Notes
	page.Claims = Claims(lab.Must(fig.Claims(s, set)))
	page.Cells = cells(s, fig, set)
	if slices.Contains(page.Cells.Data, "sample") && page.Size != "" {
		page.Size += "; of these images only the small sample that Coupling brings along"
	}
	if len(page.Cells.Inception) > 0 && strings.HasPrefix(page.Command, "bin/coupling") {
		page.Command += " --inception FILE" // of weights, which users bring
	}
	page.Files = to.Files()
	return page, to.Commit(page)
}

// edited stands where a preset's name would, if a program has changed the parameters of a figure.
const edited = "edited parameters"

// Describe returns the page of a figure that has not been drawn. If its parameters were edited, the
// page has no size, no command and no message: these are the presets'.
func Describe(fig lab.Figure, set lab.Setting) Page {
	if fig.Edited != nil && fig.Edited(set) {
		return Page{Name: fig.Name, Title: fig.Title, Preset: edited, Seed: set.Seed, Device: set.Device}
	}
	return Page{
		Name: fig.Name, Title: fig.Title, Shows: fig.Shows,
		Preset: string(set.Preset), Size: fig.Sizes[set.Preset],
		Seed: set.Seed, Device: set.Device, Command: command(fig, set), Source: fig.File,
	}
}

// command returns the line that makes a figure: of Coupling's own, its command, of any other this program.
func command(fig lab.Figure, set lab.Setting) string {
	if strings.HasPrefix(fig.Constructor, "coupling/") {
		line := fmt.Sprintf("bin/coupling fig %s --preset %s --seed %d", fig.Name, set.Preset, set.Seed)
		if set.Device != "" && set.Device != "cpu" {
			line += " --device " + set.Device
		}
		return line
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if at, inModule := strings.CutPrefix(info.Path, info.Main.Path); inModule {
			return fmt.Sprintf("go run .%s -preset %s -seed %d", at, set.Preset, set.Seed)
		}
	}
	return "" // of go run FILE.go
}

// Print prints the files of a page in the folder dir, and its claims.
func (p Page) Print(out io.Writer, dir string) {
	var files []string
	for _, x := range p.Pictures {
		files = append(files, x.Files...)
	}
	for _, t := range p.Tables {
		files = append(files, t.File)
	}
	for _, file := range files {
		fmt.Fprintf(out, "  wrote %s\n", filepath.Join(dir, filepath.FromSlash(file)))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range p.Claims {
		fmt.Fprintf(w, "  %s\t%s\t%s\t(%s)\n", c.Verdict, c.What, c.Got, c.Expected)
	}
	_ = w.Flush()
}

func join(figure, part string) string {
	if part == "" {
		return figure
	}
	return figure + "-" + part
}

func cells(s *store.Store, fig lab.Figure, set lab.Setting) (c Cells) {
	for _, j := range fig.Jobs(set) {
		r := lab.Must(j.Recall(s))
		m := r.Manifest
		c.Count++
		if j.OtherCode(r) {
			c.Other++
		}
		c.Seconds += m.Seconds
		commit := m.Commit[:min(12, len(m.Commit))]
		if m.Dirty {
			commit += "+changes"
		}
		note(&c.Versions, fmt.Sprintf("%s@%d", r.Experiment, r.Version))
		note(&c.Commits, commit)
		note(&c.Days, m.Start.Format(time.DateOnly))
		note(&c.Devices, m.Device)
		var from struct {
			Data string `json:"data"`
		}
		if json.Unmarshal(r.Params, &from) == nil {
			note(&c.Data, from.Data)
		}
		params := store.Record{Params: r.Params, Value: []byte("null")}
		for name, value := range lab.Must(params.Flatten()) {
			if weights, ok := value.(string); ok && strings.HasSuffix(name, ".inception") {
				note(&c.Inception, weights)
			}
		}
		note(&c.Go, m.Go)
	}
	return c
}

// note adds s to a sorted set of non-empty strings.
func note(set *[]string, s string) {
	if i, found := slices.BinarySearch(*set, s); !found && s != "" {
		*set = slices.Insert(*set, i, s)
	}
}

// ReadPages returns the pages that dir holds, ordered by name, so that figures
// made one at a time still share an index.
func ReadPages(dir string) (out []Page, err error) {
	defer lab.End(&err)
	files := lab.Must(filepath.Glob(filepath.Join(dir, "*", "[^.]*.json"))) // .new-NAME.json: another process draws
	for _, f := range files {
		var p Page
		if err := json.Unmarshal(lab.Must(os.ReadFile(f)), &p); err != nil || !strings.Contains(p.Name, "/") {
			continue // not one of ours
		}
		out = append(out, p)
	}
	return out, nil
}
