package main

import (
	"reflect"
	"slices"

	"coupling/figures"
	"coupling/lab"
	"coupling/lab/jobfile"
	"coupling/lab/slurm"
	"coupling/lab/store"
	"coupling/lab/sweepfile"
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

// Run computes the missing cells of figures or of a sweep file.
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
