package main

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"coupling/figures"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/jobfile"
	"coupling/lab/slurm"
	"coupling/lab/store"
	"coupling/lab/sweepfile"
	"coupling/score/eval/inception"
)

type sweepCmd struct {
	Names   []string `arg:"" name:"sweep"`
	Preset  string   `default:"quick" enum:"smoke,quick,full,paper"`
	Workers int      `default:"0" min:"0"`
	Device  string   `default:"auto" env:"COUPLING_DEVICE"`
	Seed    uint64   `default:"1"`
	DryRun  bool
	Jobs    string `placeholder:"FILE"`
	On      string `default:"local" enum:"local,slurm"`

	Cluster slurm.Request `embed:"" group:"On a cluster (slurm)"`
}

func (c sweepCmd) Run(a *app) error {
	if unused := (slurm.Request{Retries: c.Cluster.Retries}); c.On == "local" && !reflect.DeepEqual(c.Cluster, unused) {
		return usagef("flags of a cluster are used only with --on slurm: see coupling sweep --help")
	}
	lab.Check(usage(isOwnInput("jobs", c.Jobs, c.Names...)))
	s := lab.Must(a.store())
	src := c.source(a, s, orUsage(c.device()))
	switch {
	case c.Jobs != "":
		var missing []store.Job
		s.Survey(src.jobs, func(j store.Job) { missing = append(missing, j) })
		lab.Check(jobfile.Write(c.Jobs, missing))
		a.printf("%s written to %s\n", plural(len(missing), "job"), c.Jobs)
		return nil
	case c.DryRun:
		return dryRun(a, s, src)
	}
	var ex store.Executor = store.Local{Workers: c.Workers, Drain: a.run.drain}
	if c.On == "slurm" {
		ex = slurm.Executor{
			Command: src.command,
			Env:     src.env,
			Request: c.Cluster,
			Drain:   a.run.drain,
			Log: func(s string) {
				if !a.quiet {
					a.note("coupling: slurm: %s\n", s)
				}
			},
		}
	}
	t := a.compute(s, ex, "sweep", src.jobs)
	if c.On == "slurm" && c.Cluster.Detach {
		a.printf("%s submitted; the same command without --detach follows them\n", plural(t.left, "cell"))
		return nil
	}
	a.printf("%v\n", t)
	return t.err()
}

func dryRun(a *app, s *store.Store, src source) error {
	var first store.Record
	experiments := map[string]int{} // missing cells
	n := s.Survey(src.jobs, func(j store.Job) {
		id := j.Record()
		if experiments[id.Experiment]++; first.Key == "" {
			first = id
		}
	})
	a.printf("%s, %d stored, %d missing\n", plural(n.Recalled+n.Missing, "cell"), n.Recalled, n.Missing)
	if n.Missing > 0 {
		a.printf("%s\n", sweepfile.EstimateTime(s, experiments))
		a.printf("the first: %s seed %d %s\n", first.Experiment, first.Seed, first.Params)
	}
	return nil
}

type jobCmd struct {
	File   string `arg:""`
	Line   int    `arg:""`
	Stride int    `default:"0" placeholder:"N"`
	Device string `default:"auto" env:"COUPLING_DEVICE"`
}

// Run does jobs of a file. SIGTERM ends it: the cell that runs leaves its
// checkpoint, and its lock is free.
func (c jobCmd) Run(a *app) error {
	jobs := orUsage(jobfile.Jobs(c.File, c.Line, c.Stride, figures.Decoders()))
	s := lab.Must(a.store())
	orUsage(chooseDevice(c.Device))
	t := a.compute(s, store.Local{Workers: 1, Drain: a.run.drain}, "job", slices.Values(jobs))
	if len(jobs) == 1 {
		a.printf("%s %s: ", jobs[0].Record().Experiment, jobs[0].Record().Key)
	}
	a.printf("%v\n", t)
	return t.err()
}

// source is what a sweep computes, and the program that does a line of it somewhere else.
type source struct {
	jobs    iter.Seq[store.Job]
	command []string
	env     []string
}

// decoders know the experiments that a sweep file may name.
var decoders = figures.Decoders

func (c sweepCmd) source(a *app, s *store.Store, device string) source {
	own := source{command: []string{lab.Must(os.Executable()), "--store", s.Dir, "job"}}
	for _, name := range []string{"COUPLING_DEVICE", "COUPLING_RECALL", inception.Variable} {
		own.env = append(own.env, name+"="+os.Getenv(name))
	}
	for _, name := range c.Names {
		if filepath.Ext(name) != "" {
			c.file(a, s, name, &own)
			return own
		}
	}
	var jobs []store.Job
	for _, f := range orUsage(figures.Select(c.Names...)) {
		jobs = append(jobs, f.Jobs(lab.Setting{Preset: lab.Preset(c.Preset), Seed: c.Seed, Device: device})...)
	}
	own.jobs = slices.Values(jobs)
	return own
}

func (c sweepCmd) file(a *app, s *store.Store, name string, own *source) {
	switch ext := filepath.Ext(name); {
	case ext != ".yaml" && ext != ".yml" && ext != ".go":
		lab.Check(usagef("%s: a sweep file ends in .yaml, .yml or .go; names of figures have no dot", name))
	case len(c.Names) > 1:
		lab.Check(usagef("%s: a sweep file stands alone", name))
	case c.Preset != "quick" || c.Seed != 1:
		lab.Check(usagef("--preset and --seed are for figures: %s has its own parameters and seeds", name))
	case ext == ".go":
		bin := filepath.Join(s.Dir, "bin")
		if c.DryRun { // also where nothing can be written
			bin = lab.Must(os.MkdirTemp("", "coupling-"))
			defer func() { _ = os.RemoveAll(bin) }()
		}
		p := orUsage(sweepfile.Build(a.run.ctx, name, bin))
		if len(p.Jobs) == 0 {
			lab.Check(usagef("%s: it lists no cells: its main must call sweepfile.Main with jobs; go doc "+
				"coupling/lab/sweepfile.Main shows how", name))
		}
		own.jobs, own.command, own.env = slices.Values(p.Jobs), p.Command(), append(own.env, "COUPLING_STORE="+s.Dir)
		return
	}
	sweep, err := sweepfile.Read(name, decoders())
	if errors.Is(err, store.ErrNoExperiment) {
		err = fmt.Errorf("%w; an experiment of your own is in a Go program: coupling sweep %s", err,
			filepath.Join(filepath.Dir(name), "main.go"))
	}
	lab.Check(usage(err))
	own.jobs = func(yield func(store.Job) bool) {
		for j, err := range sweep.Jobs() {
			if lab.Check(usage(err)); !yield(j) {
				return
			}
		}
	}
}

// device opens the device if this machine computes. For a cluster only its kind
// is named: the login node need not have it.
func (c sweepCmd) device() (kind string, err error) {
	if c.On == "local" {
		return chooseDevice(c.Device)
	}
	kind = c.Device
	if kind == "" || kind == "auto" {
		kind = "cpu"
		if c.Cluster.GPUs > 0 {
			kind = "cuda"
		}
	}
	kind, err = device.KeyOf(kind)
	lab.Check(prefix("--device", usage(err)))
	if kind != "cpu" && c.Cluster.GPUs == 0 {
		return "", errors.New("--device cuda: ask for it with --gpus too")
	}
	return kind, os.Setenv("COUPLING_DEVICE", kind)
}
