package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coupling/data"
	"coupling/figures"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/durable"
	"coupling/lab/gallery"
	"coupling/lab/store"
)

type plan struct {
	figs    []lab.Figure           // the cheapest first
	todo    map[string][]store.Job // missing cells by figure, those that figures share with the first that was named
	cells   int
	missing int
	seconds float64 // CPU seconds, estimated
}

// planFigures counts the cells that figs lack, each once, and puts the cheapest figures first.
func planFigures(s *store.Store, figs []lab.Figure, set lab.Setting) plan {
	p := plan{figs: slices.Clone(figs), todo: map[string][]store.Job{}}
	cost := map[string]float64{}
	seen := map[store.Key]bool{}
	for _, f := range figs {
		if _, ok := f.Sizes[set.Preset]; !ok {
			lab.Check(usagef("%s has no preset %q", f.Name, set.Preset))
		}
		jobs := f.Jobs(set)
		var fresh []store.Job // cells that no earlier figure has
		for _, j := range jobs {
			if key := j.Record().Key; !seen[key] {
				seen[key] = true
				fresh = append(fresh, j)
			}
		}
		missing := s.Missing(fresh)
		p.todo[f.Name] = missing
		cost[f.Name] = f.Seconds[set.Preset] * float64(len(missing)) / float64(max(len(jobs), 1))
		p.seconds += cost[f.Name]
		p.missing += len(missing)
	}
	p.cells = len(seen)
	slices.SortStableFunc(p.figs, func(a, b lab.Figure) int { return cmp.Compare(cost[a.Name], cost[b.Name]) })
	return p
}

func (p plan) String() string {
	text := fmt.Sprintf("%s, %s, %d to compute", plural(len(p.figs), "figure"), plural(p.cells, "cell"), p.missing)
	if p.seconds > 0 {
		text += fmt.Sprintf(", about %s of one core", duration(p.seconds))
	}
	return text
}

// duration words seconds for people: "12 s", "4 min", "3 h".
func duration(seconds float64) string {
	switch {
	case seconds <= 0:
		return ""
	case seconds < 1:
		return "< 1 s"
	case seconds < 100:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 100*60:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.0f h", seconds/3600)
}

// make computes, draws and writes figs. One that fails does not stop the others: its page says why.
func (f *figMakeCmd) make(a *app, figs []lab.Figure, brief bool) error {
	set, absent := f.setting()
	if absent != nil && !errors.Is(absent, device.ErrNoDevice) {
		return absent
	}
	s := lab.Must(a.store())
	p := planFigures(s, figs, set)
	if absent != nil && p.missing > 0 {
		return fmt.Errorf("%d of %s not in the store, and %w", p.missing, plural(p.cells, "cell"), absent)
	}
	a.printf("%s: %s\n", set.Preset, p)
	if f.DryRun {
		return printWork(a, p, set)
	}
	lab.Check(usage(prefix(fmt.Sprintf("--out %s cannot be written", f.Out), durable.Writable(f.Out))))
	if f.Readme != "" {
		lab.Check(usage(prefix(fmt.Sprintf("--readme %s cannot be written", f.Readme), durable.Writable(f.Readme))))
	}
	began := time.Now()
	var pages []gallery.Page
	var errs []error
	for _, fig := range p.figs {
		if a.run.drained() {
			break
		}
		page, err := f.makeOne(a, s, fig, set, brief)
		if err != nil && a.run.drained() {
			errs = append(errs, err)
			break // an earlier page of this figure stays
		}
		if err != nil {
			page = gallery.Describe(fig, set)
			page.Error = strings.TrimPrefix(err.Error(), fig.Name+": ")
			errs = append(errs, err)
		}
		pages = append(pages, page)
	}
	sum := gallery.Summarise(pages)
	if len(pages) > 0 {
		failed := ""
		if sum.Drawn < len(pages) {
			failed = fmt.Sprintf(", %d failed", len(pages)-sum.Drawn)
		}
		a.printf("%s drawn%s; %v; %.0f s\n", plural(sum.Drawn, "figure"), failed, sum.Claims,
			time.Since(began).Seconds())
	}
	if left := len(p.figs) - len(pages); a.run.drained() && left > 0 {
		a.printf("%s left; the same command goes on from here\n", plural(left, "figure"))
	}
	if n := sum.Claims.Failed(); f.Check && n > 0 && len(errs) == 0 {
		errs = append(errs, exitError{exitClaims, fmt.Errorf("%s not met", plural(n, "claim"))})
	}
	if missing := data.Missing(); missing != nil {
		a.note("coupling: %s: not on this machine, and no server answers: drawn from the samples inside the program; "+
			"fix: coupling doctor prints the line that downloads each\n",
			strings.Join(missing, ", "))
	}
	if len(pages) > 0 {
		errs = append(errs, f.writeIndex(a, pages))
	}
	if f.Readme != "" {
		errs = append(errs, blame(figures.WriteReadme(f.Readme, f.Out, figs)))
	}
	return errors.Join(errs...)
}

// writeIndex writes the gallery over the pages of this run and of earlier ones in the folder.
func (f *figMakeCmd) writeIndex(a *app, pages []gallery.Page) (err error) {
	defer lab.End(&err)
	_, err = gallery.WriteIndex(f.Out, figures.Chapters(append(pages, lab.Must(gallery.ReadPages(f.Out))...)))
	lab.Check(blame(err))
	a.printf("gallery: %s\n", filepath.Join(f.Out, "index.html"))
	return nil
}

func (f *figMakeCmd) makeOne(
	a *app, s *store.Store, fig lab.Figure, set lab.Setting, brief bool,
) (gallery.Page, error) {
	jobs := fig.Jobs(set)
	for again := false; ; again = true {
		t := a.compute(s, store.Local{Workers: f.Workers, Drain: a.run.drain}, fig.Name, slices.Values(jobs))
		a.printf("%s: %s\n", fig.Name, t)
		if err := t.err(); err != nil {
			return gallery.Page{}, fmt.Errorf("%s: %w", fig.Name, err)
		}
		page, err := gallery.Write(s, fig, set, f.Out, f.Format)
		if errors.Is(err, store.ErrCorrupt) && !again && dropCorrupt(a, s, jobs) {
			continue // an artifact has changed since it was stored: compute its cell again
		}
		if err != nil {
			return page, blame(err)
		}
		if brief {
			printClaims(a, page)
		} else {
			page.Print(a.out, f.Out)
		}
		return page, nil
	}
}

// dropCorrupt removes the cells whose artifacts do not have their checksums.
func dropCorrupt(a *app, s *store.Store, jobs []store.Job) (dropped bool) {
	for _, j := range jobs {
		r, err := j.Recall(s)
		if err == nil {
			err = s.Verify(r)
		}
		if errors.Is(err, store.ErrCorrupt) {
			a.note("coupling: %v; computing it again\n", err)
			dropped = s.Remove(j.Record()) == nil || dropped
		}
	}
	return dropped
}

// printClaims prints one line on the claims of a page, and those that differ.
func printClaims(a *app, page gallery.Page) {
	if len(page.Claims) > 0 {
		score, _ := gallery.Count(page.Claims)
		a.printf("  %s\n", score)
	}
	for _, c := range page.Claims {
		if c.Verdict == lab.Differs || c.Verdict == lab.Nothing {
			a.printf("  %s: %s: %s (%s)\n", c.Verdict, c.What, c.Got, c.Expected)
		}
	}
}

// How fast networks are, for predictions. A step of DCGAN takes products at 75 GFLOP/s where large
// ones run at 95 (the tables of package lab/nn/peers). An H200 has 67 TFLOP/s in float32 by
// NVIDIA's data sheet, of which large products reach some 52 (a guess that devicetest's model makes
// too), and a step is some 500 kernels, 1 µs each in a recorded graph.
const (
	stepShare    = .75
	productsH200 = 52e12
	launchesH200 = 500e-6
)

func secondsH200(w lab.Work) float64 {
	return max(w.FLOP/(stepShare*productsH200), w.Steps*launchesH200)
}

func printWork(a *app, p plan, set lab.Setting) (err error) {
	cpu := lab.Must(device.Open("cpu"))
	defer func() { err = errors.Join(err, cpu.Close()) }() // runs after End, which has set err
	defer lab.End(&err)
	here := lab.Must(productRate(os.Getenv("COUPLING_DEVICE")))
	w := table(a.out)
	fmt.Fprintf(w, "figure\tits networks\tsteps\there\tan H200\tsizes\n")
	row := func(name string, of lab.Work, sizes string) {
		fmt.Fprintf(w, "%s\t%.2g FLOP\t%.2g\t%s\t%s\t%s\n", name, of.FLOP, of.Steps, duration(of.FLOP/(stepShare*here)),
			duration(secondsH200(of)), sizes)
	}
	var all lab.Work
	for _, f := range p.figs {
		var of lab.Work
		for _, j := range p.todo[f.Name] {
			of = of.Plus(j.Work(cpu))
		}
		if of.FLOP > 0 {
			row(f.Name, of, f.Sizes[set.Preset])
		}
		all = all.Plus(of)
	}
	if all.FLOP == 0 {
		return nil
	}
	row("all", all, "")
	lab.Check(w.Flush())
	a.printf("FLOP of products and convolutions, counted by a pass through each network; a step of training is three "+
		"passes. Cells that figures share stand with the first.\n"+
		"Here: products of 1024 × 1024 at %.3g GFLOP/s, as just measured, and %g of that in steps. H200, never "+
		"measured: %g of %g TFLOP/s, and at least %g ms a step.\n"+
		"Not counted: judges, plans between atoms, scores of mixtures, DP-MERF and DP-SGD.\n", here/1e9, stepShare,
		stepShare, productsH200/1e12, 1e3*launchesH200)
	return nil
}

// productRate measures FLOP a second of large products in float32: the best of a few.
func productRate(name string) (best float64, err error) {
	dev := lab.Must(device.Open(name))
	defer func() { err = errors.Join(err, dev.Close()) }()
	defer lab.End(&err)
	defer dev.Scope().Close()
	const side = 1024
	a, b, c := dev.New(device.Float32, side, side), dev.New(device.Float32, side, side),
		dev.New(device.Float32, side, side)
	for range 5 {
		began := time.Now()
		device.Gemm(c, 1, a.N(), b.N(), 0)
		lab.Check(dev.Sync())
		best = max(best, 2*side*side*side/time.Since(began).Seconds())
	}
	return best, nil
}
