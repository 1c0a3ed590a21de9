package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"coupling/figures"
	"coupling/lab"
)

type sweepCmd struct {
	Names   []string `arg:"" name:"figure" help:"Figures whose cells to compute: names, papers or patterns."`
	Preset  string   `default:"quick" enum:"smoke,quick,paper" help:"Size."`
	Workers int      `default:"0" help:"Cells at a time; 0: one a core."`
	Device  string   `default:"auto" help:"Where to compute: auto, cpu, cuda, cuda:N." env:"COUPLING_DEVICE"`
	Seed    uint64   `default:"1" help:"Seed of all random streams."`
	DryRun  bool     `help:"Only say how many cells are there and how many are missing."`
	Jobs    string   `help:"Only write the missing cells to FILE, a line each, for coupling job." placeholder:"FILE"`
}

// Run computes the missing cells of figures.
func (c sweepCmd) Run(a *app) error {
	if c.Workers < 0 {
		return usage(fmt.Errorf("--workers %d: must be 0 or more", c.Workers))
	}
	figs, err := figures.Select(c.Names...)
	if err != nil {
		return usage(err)
	}
	device, err := chooseDevice(c.Device)
	if err != nil {
		return usage(err)
	}
	s, err := a.store()
	if err != nil {
		return err
	}
	var jobs []lab.Job
	for _, f := range figs {
		more, err := f.Jobs(lab.Setting{Preset: lab.Preset(c.Preset), Seed: c.Seed, Device: device})
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		jobs = append(jobs, more...)
	}
	missing := s.Missing(jobs)
	switch {
	case c.Jobs != "":
		return c.writeJobs(a, missing)
	case c.DryRun:
		fmt.Fprintf(a.out, "%s, %d stored, %d missing\n", plural(len(jobs), "cell"), len(jobs)-len(missing), len(missing))
		return nil
	}
	t := a.compute(s, lab.Local{Workers: c.Workers, Drain: a.run.drain}, "sweep", jobs)
	fmt.Fprintln(a.out, t)
	return t.err()
}

func (c sweepCmd) writeJobs(a *app, jobs []lab.Job) error {
	err := lab.WriteFile(c.Jobs, func(w io.Writer) error {
		for _, j := range jobs {
			line, err := lab.EncodeJob(j)
			if err != nil {
				return err
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s written to %s\n", plural(len(jobs), "job"), c.Jobs)
	return nil
}

type jobCmd struct {
	File   string `arg:"" help:"Job file."`
	Line   int    `arg:"" help:"Line to do, from 0: what a cluster calls the index in an array."`
	Device string `default:"auto" help:"Where to compute: auto, cpu, cuda, cuda:N." env:"COUPLING_DEVICE"`
}

// Run does one job of a file.
func (c jobCmd) Run(a *app) error {
	b, err := os.ReadFile(c.File)
	if err != nil {
		return usage(err)
	}
	lines := slices.DeleteFunc(bytes.Split(b, []byte("\n")), func(l []byte) bool { return len(bytes.TrimSpace(l)) == 0 })
	if c.Line < 0 || c.Line >= len(lines) {
		return usage(fmt.Errorf("line %d: %s holds %s", c.Line, c.File, plural(len(lines), "job")))
	}
	j, err := lab.DecodeJob(lines[c.Line], figures.Decoders())
	if err != nil {
		return usage(err)
	}
	s, err := a.store()
	if err != nil {
		return err
	}
	if _, err := chooseDevice(c.Device); err != nil {
		return usage(err)
	}
	t := a.compute(s, lab.Local{Workers: 1, Drain: a.run.drain}, "job", []lab.Job{j})
	fmt.Fprintf(a.out, "%s %s: %s\n", j.Record().Experiment, j.Record().Key, t)
	return t.err()
}
