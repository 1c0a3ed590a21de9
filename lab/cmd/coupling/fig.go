package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"coupling/data"
	"coupling/figures"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/gallery"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type figCmd struct {
	List figListCmd `cmd:"" help:"List the figures."`
	All  figAllCmd  `cmd:"" help:"Make every figure, and the gallery index.html."`
	Make figMakeCmd `cmd:"" default:"withargs" help:"Make figures by name, by paper or by pattern: coupling fig tour/digits."`
}

// figFlags are common to making one figure and all.
type figFlags struct {
	Preset  string   `default:"quick" enum:"smoke,quick,paper" help:"Size: smoke (seconds), quick (minutes on two cores), paper (the paper's)."`
	Device  string   `default:"auto" help:"Where to compute: auto, cpu, cuda, cuda:N." env:"COUPLING_DEVICE"`
	Workers int      `default:"0" help:"Cells at a time; 0: one a core."`
	Seed    uint64   `default:"1" help:"Seed of all random streams."`
	Out     string   `default:"out" help:"Folder to write to." placeholder:"DIR"`
	Format  []string `default:"png" help:"Formats of pictures: png, svg, pdf."`
	Check   bool     `help:"Exit with code 4 if a claim differs."`
}

func (f *figFlags) setting() (lab.Setting, error) {
	f.Format = slices.Compact(slices.Sorted(slices.Values(f.Format)))
	for _, format := range f.Format {
		switch format {
		case "png", "svg", "pdf":
		default:
			return lab.Setting{}, usage(fmt.Errorf("--format %q: want png, svg or pdf", format))
		}
	}
	if f.Workers < 0 {
		return lab.Setting{}, usage(fmt.Errorf("--workers %d: must be 0 or more", f.Workers))
	}
	if len(f.Format) == 0 {
		return lab.Setting{}, usage(errors.New("--format: want png, svg or pdf"))
	}
	device, err := chooseDevice(f.Device)
	if err != nil {
		return lab.Setting{}, usage(err)
	}
	preset, err := lab.ParsePreset(f.Preset)
	return lab.Setting{Preset: preset, Seed: f.Seed, Device: device}, err
}

// chooseDevice opens what name stands for, to see that it is there, and
// returns its kind, which figures put into their parameters where networks are
// trained. Cells find the device by COUPLING_DEVICE.
func chooseDevice(name string) (kind string, err error) {
	dev, err := device.Open(name)
	if err != nil {
		return "", fmt.Errorf("--device %q: %w", name, err)
	}
	kind = dev.Info().Kind
	if err := dev.Close(); err != nil {
		return "", fmt.Errorf("--device %q: %w", name, err)
	}
	if name == "" || name == "auto" {
		name = kind
	}
	return kind, os.Setenv("COUPLING_DEVICE", name)
}

type figListCmd struct {
	JSON bool `help:"As JSON."`
}

// listed is a figure in `fig list --json`.
type listed struct {
	Name    string                `json:"name"`
	Paper   string                `json:"paper"`
	Title   string                `json:"title"`
	Shows   string                `json:"shows"`
	Presets map[lab.Preset]string `json:"presets"`
}

// Run lists the figures.
func (c figListCmd) Run(a *app) error {
	titles := map[string]string{}
	for _, p := range figures.Papers() {
		titles[p.Name] = p.Title
	}
	var list []listed
	for _, f := range figures.All() {
		list = append(list, listed{f.Name, titles[f.Paper()], f.Title, f.Shows, f.Sizes})
	}
	if c.JSON {
		return writeJSON(a, list)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tPRESETS\tSHOWS")
	for _, f := range list {
		var presets []string
		for _, p := range lab.Presets {
			if _, ok := f.Presets[p]; ok {
				presets = append(presets, string(p))
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Name, strings.Join(presets, ","), f.Title)
	}
	return w.Flush()
}

func writeJSON(a *app, v any) error {
	if err := json.MarshalWrite(a.out, v, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.out)
	return err
}

type figMakeCmd struct {
	Names []string `arg:"" name:"name" help:"Figures: tour/digits, a paper (tour), or a pattern ('scones/tab*')."`
	figFlags
}

// Run makes the named figures.
func (c *figMakeCmd) Run(a *app) error {
	figs, err := figures.Select(c.Names...)
	if err != nil {
		return usage(err)
	}
	return c.make(a, figs)
}

type figAllCmd struct {
	figFlags
}

// Run makes every figure and the gallery.
func (c *figAllCmd) Run(a *app) error {
	if !strings.Contains(strings.Join(c.Format, " "), "png") {
		c.Format = append(c.Format, "png") // what the gallery shows
	}
	return c.make(a, figures.All())
}

// writeIndex writes the gallery over the pages of this run and those that earlier
// runs left in the folder.
func (f *figFlags) writeIndex(a *app, pages []gallery.Page) error {
	earlier, err := gallery.ReadPages(f.Out)
	if err != nil {
		return err
	}
	byName := map[string]gallery.Page{}
	for _, p := range append(earlier, pages...) {
		byName[p.Name] = p
	}
	var ordered []gallery.Page
	for _, fig := range figures.All() {
		if p, ok := byName[fig.Name]; ok {
			ordered = append(ordered, p)
		}
	}
	var chapters []gallery.Chapter
	for _, p := range figures.Papers() {
		chapters = append(chapters, gallery.Chapter{Name: p.Name, Title: p.Title})
	}
	if err := gallery.WriteIndex(f.Out, ordered, chapters); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "gallery: %s\n", filepath.Join(f.Out, "index.html"))
	return nil
}

// make computes, draws and writes figs. One that fails does not stop the
// others: its page says why.
func (f *figFlags) make(a *app, figs []lab.Figure) error {
	set, err := f.setting()
	if err != nil {
		return err
	}
	s, err := a.store()
	if err != nil {
		return err
	}
	var pages []gallery.Page
	var errs []error
	differ := 0
	for _, fig := range figs {
		if a.run.drained() {
			break
		}
		page, err := f.makeOne(a, s, fig, set)
		if err != nil && a.run.drained() {
			errs = append(errs, err)
			break // an earlier page of this figure stays
		}
		if err != nil {
			page = gallery.Describe(fig, set)
			page.Error = err.Error()
			errs = append(errs, err)
		}
		pages = append(pages, page)
		differ += countDiffering(page)
	}
	if f.Check && differ > 0 && len(errs) == 0 {
		errs = append(errs, exitError{exitClaims, fmt.Errorf("%s not met", plural(differ, "claim"))})
	}
	if missing := data.Missing(); missing != nil {
		fmt.Fprintf(a.err, "coupling: %s: not on this machine, and no server answers: drawn from the samples inside the program; fix: coupling doctor prints the line that downloads each\n",
			strings.Join(missing, ", "))
	}
	if len(pages) > 0 {
		errs = append(errs, f.writeIndex(a, pages))
	}
	return errors.Join(errs...)
}

func (f *figFlags) makeOne(a *app, s *lab.Store, fig lab.Figure, set lab.Setting) (gallery.Page, error) {
	if _, ok := fig.Sizes[set.Preset]; !ok {
		return gallery.Page{}, usage(fmt.Errorf("%s has no preset %q", fig.Name, set.Preset))
	}
	jobs, err := fig.Jobs(set)
	if err != nil {
		return gallery.Page{}, fmt.Errorf("%s: %w", fig.Name, err)
	}
	for again := false; ; again = true {
		t := a.compute(s, lab.Local{Workers: f.Workers, Drain: a.run.drain}, fig.Name, jobs)
		fmt.Fprintf(a.out, "%s (%s): %s\n", fig.Name, set.Preset, t)
		if err := t.err(); err != nil {
			return gallery.Page{}, fmt.Errorf("%s: %w", fig.Name, err)
		}
		page, err := gallery.Write(s, fig, set, gallery.Options{Dir: f.Out, Formats: f.Format})
		if errors.Is(err, lab.ErrCorrupt) && !again && dropCorrupt(a, s, jobs) {
			continue // an artifact has changed since it was stored: compute its cell again
		}
		if err != nil {
			return page, err
		}
		printPage(a, f.Out, page)
		return page, nil
	}
}

// dropCorrupt removes the cells whose artifacts do not have their checksums.
func dropCorrupt(a *app, s *lab.Store, jobs []lab.Job) (dropped bool) {
	for _, j := range jobs {
		r, err := j.Recall(s)
		if err == nil {
			err = s.Verify(r)
		}
		if errors.Is(err, lab.ErrCorrupt) {
			fmt.Fprintf(a.err, "coupling: %v; computing it again\n", err)
			dropped = s.Remove(j.Record()) == nil || dropped
		}
	}
	return dropped
}

func printPage(a *app, dir string, page gallery.Page) {
	for _, p := range page.Pictures {
		for _, file := range p.Files {
			fmt.Fprintf(a.out, "  wrote %s\n", filepath.Join(dir, filepath.FromSlash(file)))
		}
	}
	for _, t := range page.Tables {
		fmt.Fprintf(a.out, "  wrote %s\n", filepath.Join(dir, filepath.FromSlash(t.File)))
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, c := range page.Claims {
		fmt.Fprintf(w, "  %s\t%s\t%s\t(%s)\n", c.Verdict, c.What, c.Got, strings.TrimSpace(c.Expected+" "+c.Tolerance))
	}
	_ = w.Flush()
}

func countDiffering(p gallery.Page) (n int) {
	for _, c := range p.Claims {
		if c.Verdict == lab.Differs {
			n++
		}
	}
	return n
}
