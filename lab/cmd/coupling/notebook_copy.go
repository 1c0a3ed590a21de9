package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"coupling/lab/durable"
	"coupling/lab/nb/ipynb"
	"coupling/lab/nb/kernel"

	"github.com/rogpeppe/go-internal/diff"
)

// A notebook that is generated from Markdown is opened as a working copy, so
// that what Jupyter saves changes no file of the checkout; any other is the
// user's own and is opened itself. All generated ones are copied together, for
// they link to each other.

// copyOf is the path of a notebook's working copy, and whether it has one; both
// paths are relative to the checkout.
func copyOf(c kernel.Checkout, file string) (string, bool) {
	source := strings.TrimSuffix(filepath.Join(c.Root, file), ".ipynb") + ".md"
	if _, err := os.Stat(source); err != nil {
		return file, false
	}
	return filepath.Join(".coupling", "notebooks", filepath.Base(file)), true
}

// workingCopy returns what to open for a notebook, and says where it differs
// from the tracked one.
func workingCopy(a *app, c kernel.Checkout, file string) (string, error) {
	work, ok := copyOf(c, file)
	if !ok {
		return file, nil
	}
	all, err := notebookFiles(c, nil)
	if err != nil {
		return "", err
	}
	for _, f := range append(all, file) {
		to, ok := copyOf(c, f)
		if _, err := os.Stat(filepath.Join(c.Root, to)); !ok || err == nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join(c.Root, f))
		if err == nil {
			err = durable.Write(filepath.Join(c.Root, to), b)
		}
		if err != nil {
			return "", err
		}
	}
	changes, err := notebookDiff(c, file, work)
	if err == nil && len(changes) > 0 {
		name := strings.TrimSuffix(filepath.Base(file), ".ipynb")
		fmt.Fprintf(a.err, "%s is your working copy, and differs from %s: coupling notebook diff %s shows how, reset %s starts over\n", work, file, name, name)
	}
	return work, err
}

// notebookDiff compares the text and code of two notebooks; what cells have shown is left out.
func notebookDiff(c kernel.Checkout, from, to string) ([]byte, error) {
	var text [2][]byte
	for i, file := range []string{from, to} {
		nb, err := readNotebook(filepath.Join(c.Root, file))
		if err != nil {
			return nil, err
		}
		text[i] = []byte(nb.Markdown())
	}
	if bytes.Equal(text[0], text[1]) {
		return nil, nil
	}
	return diff.Diff(from, text[0], to, text[1]), nil
}

func readNotebook(path string) (*ipynb.Notebook, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	nb, err := ipynb.Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return nb, nil
}

type notebookDiffCmd struct {
	Name string `arg:"" help:"Notebook: a name in notebooks/, or a path."`
}

// Run shows what was changed, as Markdown: what goes into the notebook's source.
func (d notebookDiffCmd) Run(a *app) error {
	c, file, work, err := copied(a, d.Name)
	if err != nil {
		return err
	}
	changes, err := notebookDiff(c, file, work)
	if err == nil {
		_, err = a.out.Write(changes)
	}
	return err
}

type notebookResetCmd struct {
	Name string `arg:"" help:"Notebook: a name in notebooks/, or a path."`
}

// Run moves the working copy to a name that is free, and makes a new one; an unchanged copy is left alone.
func (r notebookResetCmd) Run(a *app) error {
	c, file, work, err := copied(a, r.Name)
	if err != nil {
		return err
	}
	tracked, errTracked := os.ReadFile(filepath.Join(c.Root, file))
	copied, errCopied := os.ReadFile(filepath.Join(c.Root, work))
	if err := cmp.Or(errTracked, errCopied); err != nil {
		return err
	}
	if bytes.Equal(tracked, copied) {
		_, err := fmt.Fprintf(a.out, "%s is unchanged: nothing to reset\n", work)
		return err
	}
	name := strings.TrimSuffix(work, ".ipynb") + "-old"
	old := name + ".ipynb"
	_, err = os.Lstat(filepath.Join(c.Root, old))
	for n := 2; err == nil; n++ {
		old = fmt.Sprintf("%s-%d.ipynb", name, n)
		_, err = os.Lstat(filepath.Join(c.Root, old))
	}
	if err := os.Rename(filepath.Join(c.Root, work), filepath.Join(c.Root, old)); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s was reset to %s; your version is saved as %s\n", work, file, old)
	return durable.Write(filepath.Join(c.Root, work), tracked)
}

// copied finds a generated notebook and its working copy; one that was not opened yet has none and stands for itself.
func copied(a *app, name string) (c kernel.Checkout, file, work string, err error) {
	if c, err = kernel.Find(""); err != nil {
		return c, "", "", usage(err)
	}
	files, err := notebookFiles(c, []string{name})
	if err != nil {
		return c, "", "", err
	}
	work, ok := copyOf(c, files[0])
	if !ok {
		return c, "", "", usage(fmt.Errorf("notebook %q has no working copy: it is your own and opened in place; diff and reset are for the notebooks of Coupling", name))
	}
	if _, err := os.Stat(filepath.Join(c.Root, work)); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(a.err, "notebook %q was not opened yet: nothing changed\n", name)
		work = files[0]
	}
	return c, files[0], work, nil
}
