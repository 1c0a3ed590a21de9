package main

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"coupling/figures"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/store"
	"coupling/lab/sweepfile"
	"coupling/score/eval/inception"
)

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
