package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
)

type notebookCmd struct {
	Open    notebookOpenCmd    `cmd:"" default:"withargs"`
	Run     notebookRunCmd     `cmd:""`
	Diff    notebookDiffCmd    `cmd:""`
	Reset   notebookResetCmd   `cmd:""`
	Install notebookInstallCmd `cmd:""`
}

type notebookInstallCmd struct {
	Prefix string `placeholder:"DIR"`
}

// Run installs the kernel and registers it.
func (i notebookInstallCmd) Run(a *app) error {
	c, _ := installed(a)
	share := filepath.Join(i.Prefix, "share", "jupyter")
	if i.Prefix == "" {
		share = lab.Must(kernel.UserData())
	}
	file, display, err := c.Register(a.run.ctx, share)
	lab.Check(err)
	_, err = fmt.Fprintf(a.out,
		"kernel %s: %s, for notebooks below %s\nJupyter, JupyterLab: choose it in the menu Kernel\n"+
			"VS Code, with its Jupyter extension: Select Kernel, Jupyter Kernel, %s\n", display, file, c.Root, display)
	return err
}

// installed returns the checkout with its kernel in place, and the notebooks of these names, which it looks for first.
func installed(a *app, names ...string) (kernel.Checkout, []string) {
	c := orUsage(kernel.Find(""))
	files := lab.Must(notebookFiles(c, names))
	if !a.quiet && c.Check() != nil {
		fmt.Fprintln(a.err, "building the kernel, which takes a minute")
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

// Run opens the notebook and stays until Jupyter ends.
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
	fmt.Fprintf(a.out, "\n  %s\n\nCtrl-C ends Jupyter.\n\n", s.URL())
	err = s.Wait()
	if ctx.Err() != nil {
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
	all, err := filepath.Glob(filepath.Join(c.Root, "notebooks", "*.ipynb")) // sorted
	lab.Check(err)
	if len(names) == 0 {
		names = all
	}
	var out []string
	for _, name := range names {
		file := filepath.Join(c.Root, "notebooks", name+".ipynb")
		if strings.HasSuffix(name, ".ipynb") {
			file = lab.Must(filepath.Abs(name))
		}
		rel, err := filepath.Rel(c.Root, file)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, usagef("notebook %q is outside %s: a notebook needs a Go module around it, such as coupling new "+
				"makes", name, c.Root)
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

// Run executes the notebooks and says how long each took. One that fails does
// not stop the others.
func (r *notebookRunCmd) Run(a *app) error {
	if r.Pages && r.Out == "" {
		return usagef("--pages: needs --out")
	}
	c, files := installed(a, r.Names...)
	for _, f := range files {
		if r.Out != "" {
			lab.Check(usage(isOwnInput("out", filepath.Join(r.Out, filepath.Base(f)), filepath.Join(c.Root, f))))
		}
	}
	var errs []error
	var ran []executed
	a.run.during(func() {
		for _, f := range files {
			if a.run.drained() {
				return
			}
			e := executed{Notebook: f, Preset: r.Preset}
			if err := r.one(a, c, f, &e); err != nil {
				errs, e.Error = append(errs, fmt.Errorf("%s: %w", f, err)), err.Error()
			}
			ran = append(ran, e)
		}
	})
	if r.Out != "" {
		write := func(w io.Writer) error { return encodeJSON(w, ran) }
		errs = append(errs, durable.WriteFile(filepath.Join(r.Out, summaryFile), 0o666, write))
	}
	return errors.Join(errs...)
}

// executed is what summary.json says of a notebook.
type executed struct {
	Notebook string  `json:"notebook"`
	Preset   string  `json:"preset"`
	Cells    int     `json:"cells"`
	Seconds  float64 `json:"seconds"`
	Error    string  `json:"error,omitzero"`
}

func (r *notebookRunCmd) one(a *app, c kernel.Checkout, file string, e *executed) (err error) {
	defer lab.End(&err)
	ctx, cancel := context.WithTimeout(a.run.ctx, time.Duration(r.Limit*float64(time.Second)))
	defer cancel()
	nb := lab.Must(readNotebook(filepath.Join(c.Root, file)))
	began := time.Now()
	// The limit interrupts a cell; the kernel outlives it, to tell what there is.
	env := notebookEnv(a, r.Preset)
	if r.Pages { // what readers see is computed by this code
		env = append(env, "COUPLING_RECALL=same")
	}
	s := lab.Must(headless.Start(a.run.ctx, c, headless.Options{Dir: filepath.Dir(filepath.Join(c.Root, file)),
		Env: env}))
	defer s.Close()
	times, failed := s.Notebook(ctx, nb)
	slowest := headless.Timing{}
	for _, t := range times {
		if t.Elapsed > slowest.Elapsed {
			slowest = t
		}
	}
	e.Cells, e.Seconds = len(times), time.Since(began).Seconds()
	fmt.Fprintf(a.out, "%s: %s in %.1f s, the slowest (%s) %.1f s\n", file, plural(e.Cells, "cell"), e.Seconds,
		slowest.ID, slowest.Elapsed.Seconds())
	name := filepath.Base(file)
	switch {
	case r.Out == "":
		return failed
	case r.Pages:
		return errors.Join(failed, writePage(r.Out, nb, strings.TrimSuffix(name, ".ipynb")))
	}
	b, err := nb.Encode()
	if err == nil {
		err = durable.Write(filepath.Join(r.Out, name), b)
	}
	return errors.Join(failed, err)
}

// writePage writes a page with its pictures, in place of those that it had.
func writePage(dir string, nb *ipynb.Notebook, name string) error {
	md, files, err := nb.Page(name)
	if err != nil {
		return err
	}
	old, _ := os.ReadFile(filepath.Join(dir, name+".md")) // none: nothing to remove
	for _, file := range ipynb.PagePictures(string(old)) {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, file)))
	}
	files[name+".md"] = []byte(md)
	for file, b := range files {
		err = errors.Join(err, durable.Write(filepath.Join(dir, file), b))
	}
	return err
}
