package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/internal/interrupt"
	"coupling/lab/nb/headless"
	"coupling/lab/nb/ipynb"
	"coupling/lab/nb/jupyter"
	"coupling/lab/nb/kernel"
	"coupling/lab/store"

	"github.com/rogpeppe/go-internal/diff"
)

type notebookCmd struct {
	Open    notebookOpenCmd    `cmd:"" default:"withargs"`
	Run     notebookRunCmd     `cmd:""`
	Diff    notebookDiffCmd    `cmd:""`
	Install notebookInstallCmd `cmd:""`
}

type notebookInstallCmd struct {
	Prefix string `placeholder:"DIR"`
}

func (i notebookInstallCmd) Run(a *app) error {
	c, _ := installed(a)
	share := filepath.Join(i.Prefix, "share", "jupyter")
	if i.Prefix == "" {
		share = lab.Must(kernel.UserData())
	}
	file, display, err := c.Register(a.run.ctx, share)
	lab.Check(err)
	a.printf("kernel %s: %s, for notebooks below %s\nJupyter, JupyterLab: choose it in the menu Kernel\n"+
		"VS Code, with its Jupyter extension: Select Kernel, Jupyter Kernel, %s\n", display, file, c.Root, display)
	return nil
}

// installed returns the checkout with its kernel in place, and the notebooks of these names, which it looks for first.
func installed(a *app, names ...string) (kernel.Checkout, []string) {
	c := orUsage(kernel.Find(""))
	files := lab.Must(notebookFiles(c, names))
	if !a.quiet && c.Check() != nil {
		a.note("building the kernel, which takes a minute\n")
	}
	lab.Check(c.Install(a.run.ctx))
	return c, files
}

type notebookOpenCmd struct {
	Name      string `arg:"" optional:"" default:"00-tour"`
	IP        string `name:"ip" default:"127.0.0.1"`
	Port      int    `default:"0"`
	NoBrowser bool
	Preset    string `default:"quick" enum:"smoke,quick,full,paper"`
}

func (o *notebookOpenCmd) Run(a *app) error {
	// a wrong name is told before what is not installed
	lab.Must(notebookFiles(orUsage(kernel.Find("")), []string{o.Name}))
	lab.Must(jupyter.Find(a.run.ctx))
	c, files := installed(a, o.Name)
	file := lab.Must(workingCopy(a, c, files[0]))
	env := notebookEnv(a, o.Preset)
	ctx, stop := interrupt.Context(a.run.ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var log io.Writer
	if !a.quiet {
		log = a.err
	}
	s, err := jupyter.Start(ctx, c, jupyter.Options{
		IP: o.IP, Port: o.Port, Notebook: file, Browser: !o.NoBrowser, Output: log, Env: env,
	})
	lab.Check(err)
	a.printf("\n  %s\n\nCtrl-C ends Jupyter.\n\n", s.URL())
	if err = s.Wait(); ctx.Err() != nil {
		return nil // it was told to end
	}
	return err
}

// notebookEnv is what the cells of a notebook are told in their environment: the size of figures
// and the store. Opening the store has already set what they may recall.
func notebookEnv(a *app, preset string) []string {
	return []string{"COUPLING_PRESET=" + preset, "COUPLING_STORE=" + lab.Must(a.store()).Dir}
}

// notebookFiles returns the notebooks by name ("sweep") or path, all if there
// are no names, relative to the checkout.
func notebookFiles(c kernel.Checkout, names []string) ([]string, error) {
	all, err := filepath.Glob(c.Path("notebooks", "*.ipynb")) // sorted
	lab.Check(err)
	if len(names) == 0 {
		names = all
	}
	var out []string
	for _, name := range names {
		file := c.Path("notebooks", name+".ipynb")
		if strings.HasSuffix(name, ".ipynb") {
			file = lab.Must(filepath.Abs(name))
		}
		rel, err := filepath.Rel(c.Root, file)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, usagef("notebook %q is outside %s: a notebook needs a Go module around it, such as coupling "+
				"new makes", name, c.Root)
		}
		if !exists(file) {
			var have []string
			for _, f := range all {
				have = append(have, strings.TrimSuffix(filepath.Base(f), ".ipynb"))
			}
			return nil, usagef("notebook %q: there is none%s", name, store.DidYouMean(name, have))
		}
		out = append(out, rel)
	}
	return out, nil
}

type notebookRunCmd struct {
	Names  []string `arg:"" optional:""`
	Preset string   `default:"smoke" enum:"smoke,quick,full,paper"`
	Out    string   `placeholder:"DIR"`
	Pages  bool
	Limit  float64 `default:"3600"`
}

// Run executes the notebooks. One that fails does not stop the others; a failed write does.
func (r *notebookRunCmd) Run(a *app) error {
	if r.Pages && r.Out == "" {
		return usagef("--pages: needs --out")
	}
	c, files := installed(a, r.Names...)
	var to *durable.Folder
	if r.Out != "" {
		to = r.open(c, files)
		defer to.Close()
		claim(to, r.written(files...)...)
	}
	var errs []error
	var ran []executed
	a.run.during(func() {
		for _, f := range files {
			if a.run.drained() {
				return
			}
			e := executed{Notebook: f, Preset: r.Preset}
			nb, err := r.one(a, c, &e)
			if err != nil {
				errs, e.Error = append(errs, fmt.Errorf("%s: %w", f, err)), err.Error()
			}
			if ran = append(ran, e); nb != nil && to != nil {
				r.write(to, nb, r.written(f)[0])
			}
		}
	})
	if to != nil {
		lab.Check(commit(to, executions{ran, to.Files()}))
	}
	return errors.Join(errs...)
}

// written returns the names of what notebooks become in --out.
func (r *notebookRunCmd) written(files ...string) (names []string) {
	for _, f := range files {
		name := filepath.Base(f)
		if r.Pages {
			name = strings.TrimSuffix(name, ".ipynb") + ".md"
		}
		if slices.Contains(names, name) {
			lab.Check(usagef("--out %s: two notebooks would be %s: run one of them", r.Out, name))
		}
		names = append(names, name)
	}
	return names
}

// open opens the folder of what is executed. Its pages are ours by their first line, also in a fresh
// checkout, whose notebooks/pages has no summary.
func (r *notebookRunCmd) open(c kernel.Checkout, files []string) *durable.Folder {
	var in inputs
	for _, f := range files {
		in.paths = append(in.paths, c.Path(f))
	}
	to := openOut(r.Out, &in)
	to.Keep = true
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".ipynb") + ".md"
		if pictures, ok := oldPage(filepath.Join(r.Out, name)); ok {
			to.Own(append(pictures, name)...)
		}
	}
	return to
}

// oldPage returns the pictures of a page that an earlier run wrote.
func oldPage(path string) (pictures []string, ok bool) {
	text, err := os.ReadFile(path)
	return ipynb.PagePictures(string(text)), err == nil && strings.HasPrefix(string(text), ipynb.PageMark)
}

// executions is summary.json.
type executions struct {
	Notebooks []executed        `json:"notebooks"`
	Files     map[string]string `json:"files"` // SHA-256, also of earlier runs
}

// executed is what summary.json says of a notebook.
type executed struct {
	Notebook string  `json:"notebook"`
	Preset   string  `json:"preset"`
	Cells    int     `json:"cells"`
	Seconds  float64 `json:"seconds"`
	Error    string  `json:"error,omitzero"`
}

// one executes a notebook. With an error of a cell, nb has what was shown until then.
func (r *notebookRunCmd) one(a *app, c kernel.Checkout, e *executed) (nb *ipynb.Notebook, err error) {
	defer lab.End(&err)
	ctx, cancel := context.WithTimeout(a.run.ctx, time.Duration(r.Limit*float64(time.Second)))
	defer cancel()
	file := c.Path(e.Notebook)
	read := lab.Must(readNotebook(file))
	began := time.Now()
	// The limit interrupts a cell; the kernel outlives it, to tell what there is.
	env := notebookEnv(a, r.Preset)
	if r.Pages { // what readers see is computed by this code
		env = append(env, "COUPLING_RECALL=same")
	}
	s := lab.Must(headless.Start(a.run.ctx, c, headless.Options{Dir: filepath.Dir(file), Env: env}))
	defer s.Close()
	e.Cells, err = s.Notebook(ctx, read)
	e.Seconds = time.Since(began).Seconds()
	a.printf("%s: %s in %.1f s\n", e.Notebook, plural(e.Cells, "cell"), e.Seconds)
	return read, err
}

// write adds an executed notebook to the folder, or its page with its pictures in place of those that it had.
func (r *notebookRunCmd) write(to *durable.Folder, nb *ipynb.Notebook, name string) {
	files := map[string][]byte{}
	if r.Pages {
		md, pictures, err := nb.Page(strings.TrimSuffix(name, ".md"))
		lab.Check(err)
		old, _ := oldPage(filepath.Join(r.Out, name))
		to.Drop(old...)
		files, pictures[name] = pictures, []byte(md)
	} else {
		files[name] = lab.Must(nb.Encode())
	}
	for file, b := range files {
		lab.Check(to.WriteFile(file, durable.Bytes(b)))
	}
}

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
