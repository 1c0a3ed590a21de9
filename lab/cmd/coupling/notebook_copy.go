package main

import (
	"os"
	"path/filepath"
	"strings"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/nb/ipynb"
	"coupling/lab/nb/kernel"

	"github.com/rogpeppe/go-internal/diff"
)

// A notebook that is generated from Markdown is opened as a working copy, so that what Jupyter
// saves changes no file of the checkout; any other is the user's own and is opened itself. All
// generated ones are copied together, for they link to each other.

// copyOf is the path of a notebook's working copy, and whether it has one; both
// paths are relative to the checkout.
func copyOf(c kernel.Checkout, file string) (string, bool) {
	if !exists(strings.TrimSuffix(c.Path(file), ".ipynb") + ".md") {
		return file, false
	}
	return filepath.Join(".coupling", "notebooks", filepath.Base(file)), true
}

// workingCopy returns what to open for a notebook, and says where it differs from the tracked one.
func workingCopy(a *app, c kernel.Checkout, file string) (work string, err error) {
	defer lab.End(&err)
	work, ok := copyOf(c, file)
	if !ok {
		return file, nil
	}
	for _, f := range append(lab.Must(notebookFiles(c, nil)), file) {
		to, ok := copyOf(c, f)
		if !ok || exists(c.Path(to)) {
			continue
		}
		lab.Check(durable.Write(c.Path(to), lab.Must(os.ReadFile(c.Path(f)))))
	}
	if len(notebookDiff(c, file, work)) > 0 {
		a.note("%s is your working copy, and differs from %s: "+
			"coupling notebook diff %s shows how; to start over, move it away\n",
			work, file, strings.TrimSuffix(filepath.Base(file), ".ipynb"))
	}
	return work, nil
}

// notebookDiff compares the text and code of two notebooks; what cells have shown is left out.
func notebookDiff(c kernel.Checkout, from, to string) []byte {
	text := func(file string) []byte {
		return []byte(lab.Must(readNotebook(c.Path(file))).Markdown())
	}
	return diff.Diff(from, text(from), to, text(to)) // nil if they are equal
}

func readNotebook(path string) (*ipynb.Notebook, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	nb, err := ipynb.Decode(b)
	return nb, prefix(path, err)
}

type notebookDiffCmd struct {
	Name string `arg:""`
}

// Run shows what was changed, as Markdown: what goes into the notebook's source.
func (d notebookDiffCmd) Run(a *app) error {
	c := orUsage(kernel.Find(""))
	file := lab.Must(notebookFiles(c, []string{d.Name}))[0]
	work, ok := copyOf(c, file)
	switch {
	case !ok:
		return usagef("notebook %q has no working copy: it is your own and opened in place", d.Name)
	case !exists(c.Path(work)):
		a.note("notebook %q was not opened yet: nothing changed\n", d.Name)
		return nil
	}
	_, err := a.out.Write(notebookDiff(c, file, work))
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
