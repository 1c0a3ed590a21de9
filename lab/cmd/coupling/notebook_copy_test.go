//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/nb/ipynb"
	"coupling/lab/nb/kernel"
)

// A generated notebook is opened as a copy, which can be compared; one's own is opened itself.
func TestWorkingCopy(t *testing.T) {
	c := kernel.Checkout{Root: t.TempDir()}
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(c.Root, "notebooks", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777),
			os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	put("../go.mod", "module own\n\ntool github.com/janpfeifer/gonb\n")
	for name, text := range map[string]string{"a": "# A\n", "b": "# B\n", "own": "# Own\n"} {
		put(name+".md", text)
	}
	must.Do(ipynb.Generate(filepath.Join(c.Root, "notebooks")))
	must.Do(os.Remove(filepath.Join(c.Root, "notebooks", "own.md")))
	t.Chdir(c.Root)
	var out, errs strings.Builder
	a := &app{out: &out, err: &errs}
	opened, err := workingCopy(a, c, filepath.Join("notebooks", "a.ipynb"))
	if err != nil || opened != filepath.Join(".coupling", "notebooks", "a.ipynb") || errs.Len() > 0 {
		t.Fatalf("%s, %v, %s", opened, err, errs.String())
	}
	if _, err := os.Stat(filepath.Join(".coupling", "notebooks", "b.ipynb")); err != nil {
		t.Error("what the notebook links to is not beside it:", err)
	}
	if own, err := workingCopy(a, c, filepath.Join("notebooks", "own.ipynb")); err != nil ||
		own != filepath.Join("notebooks", "own.ipynb") {
		t.Errorf("%s, %v", own, err)
	}
	edited := strings.Replace(read(opened), "# A", "# Edited", 1)
	must.Do(os.WriteFile(opened, []byte(edited), 0o666))
	if again, err := workingCopy(a, c, filepath.Join("notebooks", "a.ipynb")); err != nil || again != opened ||
		!strings.Contains(errs.String(), "coupling notebook diff a") {
		t.Errorf("%s, %v, %q", again, err, errs.String())
	}
	if err := ended((notebookDiffCmd{"a"}), a); err != nil || !strings.Contains(out.String(), "-# A\n+# Edited\n") {
		t.Errorf("%v: %s", err, out.String())
	}
	must.Do(os.Remove(opened))
	errs.Reset()
	if err := ended((notebookDiffCmd{"a"}), a); err != nil ||
		!strings.Contains(errs.String(), "not opened yet: nothing changed") {
		t.Errorf("%v, %s", err, errs.String())
	}
	if err := ended((notebookDiffCmd{"own"}), a); err == nil || !strings.Contains(err.Error(), "no working copy") {
		t.Error(err)
	}
}

func read(file string) string {
	b := must.Get(os.ReadFile(file))
	return string(b)
}

// ended is the error that a command ends with, by return or by lab.Must.
func ended(c interface{ Run(*app) error }, a *app) (err error) {
	defer lab.End(&err)
	return c.Run(a)
}
