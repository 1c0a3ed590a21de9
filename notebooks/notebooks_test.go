package notebooks

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coupling/lab/must"
	"coupling/lab/nb/headless"
	"coupling/lab/nb/ipynb"
	"coupling/lab/nb/kernel"
)

func TestInStep(t *testing.T) {
	files := must.Get(ipynb.Generated("."))
	for name, want := range files {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what its source says: go generate ./notebooks, or copy your changes into the .md", name)
		}
	}
	have := must.Get(filepath.Glob("*.ipynb"))
	for _, name := range have {
		if files[name] == nil {
			t.Errorf("%s has no source .md", name)
		}
	}
}

// Each notebook at the smallest sizes, from its first cell to its last, in the real kernel: no cell fails, and
// each that has a main program shows something.
func TestEveryNotebookRuns(t *testing.T) {
	if os.Getenv("COUPLING_TEST_NOTEBOOKS") == "" {
		t.Skip("needs minutes: make test-notebooks, or COUPLING_TEST_NOTEBOOKS=1")
	}
	c := must.Get(kernel.Find(""))
	if err := c.Build(t.Context()); err != nil {
		t.Skipf("the kernel cannot be built here: %v", err)
	}
	files, err := filepath.Glob("*.ipynb")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	store := os.Getenv("COUPLING_STORE")
	if store == "" {
		store = t.TempDir()
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".ipynb"), func(t *testing.T) { execute(t, c, file, store) })
	}
}

// limit is generous: a warm run is told to take a minute at most, a cold one
// compiles half of the project.
const limit = 5 * time.Minute

func execute(t *testing.T, c kernel.Checkout, file, store string) {
	b := must.Get(os.ReadFile(file))
	nb := must.Get(ipynb.Decode(b))
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	// No proxy: cells are built from what Go has.
	s, err := headless.Start(ctx, c,
		headless.Options{Env: []string{"COUPLING_PRESET=smoke", "COUPLING_STORE=" + store, "GOPROXY=off"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	began := time.Now()
	cells, err := s.Notebook(ctx, nb)
	if err != nil {
		t.Errorf("%v", err)
	}
	t.Logf("%d cells in %.2f s", cells, time.Since(began).Seconds())
	for _, cell := range nb.Cells {
		if cell.Type == ipynb.Code && strings.Contains(cell.Source, "%%") && err == nil && !shows(cell) {
			t.Errorf("cell %s shows nothing", cell.ID)
		}
		for _, o := range cell.Outputs {
			if o.Kind() == "error" {
				t.Errorf("cell %s: %v", cell.ID, o)
			}
			if misprinted(o) {
				t.Errorf("cell %s: fmt does not know what to do with a value: %v", cell.ID, o)
			}
		}
	}
}

// misprinted reports whether a verb of fmt met a value that it does not take:
// cells are not vetted.
func misprinted(o ipynb.Output) bool {
	return strings.Contains(o.Text("text/plain")+o.Text("text/html"), "%!")
}

// shows reports whether a cell leaves something to be seen or read.
func shows(c ipynb.Cell) bool {
	for _, o := range c.Outputs {
		if o.Text("image/png")+o.Text("text/html")+o.Text("text/plain") != "" {
			return true
		}
	}
	return false
}

// pagesLimit is what the pages for readers may have in all: 4 MB.
const pagesLimit = 4 << 20

// The pages for readers are of these notebooks, and have the pictures that they name and no others.
func TestPagesInStep(t *testing.T) {
	files, err := filepath.Glob("*.ipynb")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	named := map[string]bool{}
	for _, file := range files {
		b := must.Get(os.ReadFile(file))
		nb := must.Get(ipynb.Decode(b))
		name := strings.TrimSuffix(file, ".ipynb")
		want, _ := must.Get2(nb.Page(name))
		page, err := os.ReadFile(filepath.Join("pages", name+".md"))
		if err != nil || ipynb.PageSource(string(page)) != want {
			t.Errorf(
				"pages/%s.md is of another notebook: bin/coupling notebook run %s --preset quick --out "+
					"notebooks/pages --pages (%v)", name, name, err)
		}
		if strings.Contains(string(page), "computed by other code") {
			t.Errorf(
				"pages/%s.md shows results of other code: write it with bin/coupling notebook run --pages, which "+
					"computes them again", name)
		}
		named[name+".md"] = true
		for _, picture := range ipynb.PagePictures(string(page)) {
			named[picture] = true
		}
	}
	have := must.Get(os.ReadDir("pages"))
	size := int64(0)
	for _, entry := range have {
		info := must.Get(entry.Info())
		if size += info.Size(); !named[entry.Name()] && entry.Name() != "summary.json" { // which git ignores
			t.Errorf("pages/%s belongs to no page", entry.Name())
		}
		delete(named, entry.Name())
	}
	if len(named) > 0 || size > pagesLimit {
		t.Errorf("%d bytes; not there: %v", size, named)
	}
}
