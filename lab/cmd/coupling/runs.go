package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/internal/interrupt"
	"coupling/lab/runs"
	"coupling/lab/store"

	"github.com/go-json-experiment/json/jsontext"
)

type runsCmd struct {
	Ls     runsLsCmd     `cmd:"" default:"withargs"`
	Show   runsShowCmd   `cmd:""`
	Diff   runsDiffCmd   `cmd:""`
	Serve  runsServeCmd  `cmd:""`
	Export runsExportCmd `cmd:""`
	Rm     runsRmCmd     `cmd:""`
	GC     runsGCCmd     `cmd:"" name:"gc"`
}

type runsLsCmd struct {
	Prefix string `arg:"" optional:""`
	Failed bool
}

func (c runsLsCmd) Run(a *app) error {
	s := a.existing()
	records, last := a.some(s.Records(c.Prefix)), "SECONDS"
	if c.Failed {
		records, last = a.some(s.Failures(c.Prefix)), "REASON"
	}
	w := table(a.out)
	fmt.Fprintf(w, "KEY\tEXPERIMENT\tVERSION\tSEED\tCOMPUTED\t%s\tCODE\tPARAMETERS\n", last)
	var bad []error
	var lines []func()
	codes := newCodes(a, s)
	for r, err := range records {
		if err != nil {
			bad = append(bad, err)
			continue
		}
		note := fmt.Sprintf("%.2f", r.Manifest.Seconds)
		if c.Failed {
			note, _, _ = strings.Cut(r.Error, "\n")
		}
		codes.add(r)
		head := fmt.Sprintf("%s\t%s\t%d\t%d\t%s\t%s", r.Key.Short(), r.Experiment, r.Version, r.Seed,
			r.Manifest.Start.Format("2006-01-02 15:04"), note)
		params := clip(string(r.Params), 100)
		r = store.Record{Experiment: r.Experiment, Code: r.Code}
		lines = append(lines, func() { fmt.Fprintf(w, "%s\t%s\t%s\n", head, codes.mark(r), params) })
	}
	for _, write := range lines { // when all are known
		write()
	}
	return errors.Join(append(bad, w.Flush())...)
}

// codes are the current ones: by experiment those of this program, and those of the module that the
// working directory lies in, or outside of one, of each experiment the one that computed last.
type codes struct {
	known map[string]string
	own   map[string]bool
	last  map[string]store.Record
}

func newCodes(a *app, s *store.Store) codes {
	c := codes{known: map[string]string{}, last: map[string]store.Record{}}
	for _, d := range decoders() {
		c.known[d.Experiment] = d.Code()
	}
	root, ok := durable.Nearest(".", func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		return err == nil
	})
	if ok && !s.OnlyOf(c.known) {
		var err error
		if c.own, err = store.CodesOf(root); err != nil {
			a.note("coupling: what code of %s is current is not known: %s\n", root,
				strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	return c
}

func (c codes) add(r store.Record) {
	last, seen := c.last[r.Experiment]
	if c.own == nil && (!seen || !r.Manifest.Start.Before(last.Manifest.Start)) {
		c.last[r.Experiment] = r
	}
}

func (c codes) isCurrent(r store.Record) bool {
	if code, ok := c.known[r.Experiment]; ok {
		return r.Code == code
	}
	return c.own[r.Code] || r.Code == c.last[r.Experiment].Code
}

// mark is a code's first digits, with * if it is current.
func (c codes) mark(r store.Record) string {
	switch {
	case r.Code == "":
		return "-"
	case c.isCurrent(r):
		return store.ShortCode(r.Code) + " *"
	}
	return store.ShortCode(r.Code)
}

// clip shortens s to n runes or so.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

type runsShowCmd struct {
	Key string `arg:""`
}

func (c runsShowCmd) Run(a *app) error {
	_, r := a.find(c.Key)
	return writeJSON(a, jsontext.Value(lab.Must(r.JSON())))
}

// existing returns the store, which must be there already.
func (a *app) existing() *store.Store {
	s := lab.Must(a.store())
	if _, err := os.Stat(s.Dir); err != nil {
		lab.Check(usagef("no store of results at %s; --store or $COUPLING_STORE name another", s.Dir))
	}
	return s
}

// some passes records on, and notes if there are none.
func (a *app) some(records iter.Seq2[store.Record, error]) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		none := true
		for r, err := range records {
			if none = false; !yield(r, err) {
				return
			}
		}
		if none {
			a.note("coupling: the store has no such cells\n")
		}
	}
}

// find returns the cell whose key begins with prefix, failed ones included.
func (a *app) find(prefix string) (*store.Store, store.Record) {
	s := a.existing()
	return s, orUsage(s.Find(prefix))
}

type runsRmCmd struct {
	Keys []string `arg:"" name:"key"`
}

func (c runsRmCmd) Run(a *app) error {
	for _, key := range c.Keys {
		s, r := a.find(key)
		lab.Check(s.Remove(r))
		a.printf("removed %s %s\n", r.Key, r.Experiment)
	}
	return nil
}

type runsDiffCmd struct {
	A string `arg:""`
	B string `arg:"" optional:""`
}

func (c runsDiffCmd) cells(a *app) (store.Record, store.Record) {
	if c.B != "" {
		_, ra := a.find(c.A)
		_, rb := a.find(c.B)
		return ra, rb
	}
	found := orUsage(a.existing().FindAll(c.A))
	if len(found) != 2 || found[0].Key != found[1].Key {
		lab.Check(usagef("%s: want two codes of one cell, or two cells, KEY.CODE each; in the store: %s",
			c.A, store.Names(found)))
	}
	slices.SortFunc(found, func(x, y store.Record) int { return x.Manifest.Start.Compare(y.Manifest.Start) })
	return found[0], found[1]
}

func (c runsDiffCmd) Run(a *app) error {
	ra, rb := c.cells(a)
	d := lab.Must(store.Diff(ra, rb))
	w := table(a.out)
	fmt.Fprintf(w, "\t%s\t%s\n", ra.Key.Short(), rb.Key.Short())
	for i, group := range [][]store.Difference{d.Params, d.Metrics, d.Context} {
		if len(group) > 0 {
			fmt.Fprintln(w, [...]string{"parameters that differ", "metrics", "context that differs"}[i])
		}
		for _, x := range group {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", x.Column, clip(x.A, 40), clip(x.B, 40), x.Change)
		}
	}
	return w.Flush()
}

type runsExportCmd struct {
	Prefix string `arg:"" optional:""`
	Format string `default:"csv" enum:"csv,json"`
	Output string `short:"o" placeholder:"FILE"`
}

func (c runsExportCmd) Run(a *app) error {
	s := a.existing()
	var bad []error
	write := func(w io.Writer) error { return exportRecords(w, c.Format, a.some(s.Records(c.Prefix)), &bad) }
	if c.Output == "" {
		return errors.Join(write(a.out), errors.Join(bad...))
	}
	lab.Check(usage(isOutside(filepath.Dir(c.Output), s.Dir)))
	return errors.Join(durable.WriteFile(c.Output, 0o666, write), errors.Join(bad...))
}

// exportRecords writes the records that can be read; bad are the errors of the others.
func exportRecords(w io.Writer, format string, records iter.Seq2[store.Record, error], bad *[]error) (err error) {
	defer lab.End(&err)
	var rows []store.Row
	for r, err := range records {
		if err == nil && format == "json" {
			lab.Must(w.Write(lab.Must(r.JSON())))
			continue
		}
		var row store.Row
		if err == nil {
			row, err = r.Flatten()
		}
		if err != nil {
			*bad = append(*bad, err)
			continue
		}
		rows = append(rows, row)
	}
	if format == "csv" {
		return store.WriteCSV(w, rows)
	}
	return nil
}

type runsGCCmd struct {
	Older  time.Duration `default:"24h"`
	Code   time.Duration `default:"720h"`
	DryRun bool
}

func (c runsGCCmd) Run(a *app) error {
	s := a.existing()
	gc, err := s.GC(decoders(), newCodes(a, s).isCurrent, c.Older, c.Code, c.DryRun)
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	for _, r := range gc.Cells {
		a.printf("%s %s %s v%d %s\n", verb, r.Key.Short(), r.Experiment, r.Version, store.ShortCode(r.Code))
	}
	slices.Sort(gc.Leftover)
	for _, f := range gc.Leftover {
		a.printf("%s %s\n", verb, f)
	}
	a.printf("%s %s and %s\n", verb, plural(len(gc.Cells), "cell"), plural(len(gc.Leftover), "leftover"))
	return err
}

type runsServeCmd struct {
	Port    int    `default:"0" min:"0" max:"65535"`
	Gallery string `default:"out" placeholder:"DIR"`
}

func (c runsServeCmd) Run(a *app) error {
	s := a.existing()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.Port))
	lab.Check(usage(prefix("--port", err)))
	page := runs.New(s, c.Gallery)
	a.printf("http://%s%s\n", l.Addr(), page.Path())
	a.note("coupling: for this machine only; from another: ssh -L, with the same port at both ends. Ctrl-C ends it\n")
	ctx, stop := interrupt.Context(a.run.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
