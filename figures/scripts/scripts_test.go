package scripts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"coupling/figures"
	"coupling/lab/nb/ipynb"
)

func TestInStep(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2*len(figures.All()) {
		t.Errorf("%d files for %d figures", len(files), len(figures.All()))
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.FromSlash(name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the registry says: go generate ./figures", name)
		}
	}
	have, err := generated(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range have {
		if files[name] == nil {
			t.Errorf("%s belongs to no figure: go generate ./figures", name)
		}
	}
}

// Each page is a notebook, too: an import and a cell.
func TestPagesAreNotebooks(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		if filepath.Ext(name) != ".md" {
			continue
		}
		nb, err := ipynb.FromMarkdown(string(b))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		code := 0
		for _, c := range nb.Cells {
			if c.Type == ipynb.Code {
				code++
			}
		}
		if code != 2 {
			t.Errorf("%s has %d cells of code", name, code)
		}
	}
}

// A program runs, and leaves its figure.
func TestAProgramRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("links the whole project")
	}
	out := t.TempDir()
	cmd := exec.Command("go", "run", "admm/cost.go", "-preset", "smoke", "-out", out)
	cmd.Env = append(os.Environ(), "COUPLING_STORE="+t.TempDir())
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if pictures, err := filepath.Glob(filepath.Join(out, "admm", "cost*.png")); err != nil || len(pictures) == 0 {
		t.Errorf("%v, %v", pictures, err)
	}
}
