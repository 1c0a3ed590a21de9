package scripts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/nb/ipynb"
)

func TestInStep(t *testing.T) {
	files := must.Get(Files())
	for name, b := range files {
		if lines := bytes.Count(b, []byte("\n")); filepath.Ext(name) == ".go" && lines > 40 {
			t.Errorf("%s has %d lines: a program spells out its parameters in at most 40", name, lines)
		}
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.FromSlash(name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the registry says: go generate ./figures", name)
		}
	}
	have := must.Get(generated("."))
	for _, name := range have {
		if files[name] == nil {
			t.Errorf("%s belongs to no figure: go generate ./figures", name)
		}
	}
}

// Each page is a notebook, too: an import and a cell.
func TestPagesAreNotebooks(t *testing.T) {
	files := must.Get(Files())
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
	cmd := exec.Command("go", "run", "scones/rate.go", "-preset", "smoke", "-out", out)
	cmd.Env = append(os.Environ(), "COUPLING_STORE="+t.TempDir())
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if pictures, err := filepath.Glob(filepath.Join(out, "scones", "rate*.png")); err != nil || len(pictures) == 0 {
		t.Errorf("%v, %v", pictures, err)
	}
}

// Every program compiles.
func TestProgramsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks every program")
	}
	files := must.Get(filepath.Glob("*/*.go"))
	for _, f := range files {
		if text, err := exec.Command("go", "vet", f).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", f, err, text)
		}
	}
}

func TestGridsAreSpelled(t *testing.T) {
	type point struct {
		A int
		B float64
		C []int
	}
	product := lab.Grid(point{C: []int{1, 2}}, lab.Vary(func(p *point, v int) { p.A = v }, 1, 2, 3),
		lab.Vary(func(p *point, v float64) { p.B = v }, .1, .2, .3, .4, .5, .6))
	s := &speller{imports: map[string]bool{}}
	base, axes := s.axes(reflect.ValueOf(product))
	if len(axes) != 2 || axes[0].field != 0 || axes[1].field != 1 ||
		len(axes[0].values)*len(axes[1].values) != len(product) {
		t.Errorf("axes of a product: %v", axes)
	}
	if got := base.Interface().(point); got.A != 0 || got.B != 0 || len(got.C) != 2 {
		t.Errorf("base of a product: %+v", got)
	}
	product[3], product[4] = product[4], product[3]
	if _, axes := s.axes(reflect.ValueOf(product)); axes != nil {
		t.Errorf("a grid in another order was taken for a product: %v", axes)
	}
}
