package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/jobfile"
	"coupling/lab/slurm"
)

// cluster is what a task may ask for.
type cluster struct {
	Partition  string   `help:"Slurm partition." placeholder:"NAME"`
	Time       string   `help:"Limit of a task: 30 (minutes), 2:00:00, 1-12 (days-hours); for kubernetes in seconds." placeholder:"T"`
	Mem        string   `help:"Memory of a task: 4G (slurm), 4Gi (kubernetes)." placeholder:"SIZE"`
	CPUs       int      `name:"cpus" help:"Cores of a task." placeholder:"N"`
	GPUs       int      `name:"gpus" help:"GPUs of a task." placeholder:"N"`
	ArrayLimit int      `help:"Tasks at a time." placeholder:"N"`
	Tasks      int      `help:"At most so many tasks, which share the cells; default one a cell, as far as the cluster allows." placeholder:"N"`
	Modules    []string `help:"Environment modules that a task loads." placeholder:"NAME,…"`
	Retries    int      `default:"3" help:"How often a cell whose task died is tried again."`
	Detach     bool     `help:"Submit, and do not wait (slurm)."`
	Image      string   `help:"Container image that has this command (kubernetes)." placeholder:"IMAGE"`
	Command    []string `default:"coupling" help:"The command inside the image (kubernetes)."`
	Claim      string   `help:"PersistentVolumeClaim of the store (kubernetes)." placeholder:"NAME"`
	Mount      string   `default:"/store" help:"Where pods see the store (kubernetes)."`
	Hosts      string   `help:"Machines that share the store, for parallel --sshlogin." placeholder:"LIST"`
	Output     string   `short:"o" help:"File for the manifest or script; default standard output." placeholder:"FILE"`
}

// slurm returns the executor.
func (c cluster) slurm(a *app, s *lab.Store, src source) (lab.Executor, error) {
	if c.Retries < 0 {
		return nil, usage(fmt.Errorf("--retries %d: must be 0 or more", c.Retries))
	}
	retries := c.Retries
	if retries == 0 {
		retries = -1
	}
	return slurm.Executor{
		Command: src.command, Env: src.env, Partition: c.Partition, Time: c.Time, Mem: c.Mem, CPUs: c.CPUs, GPUs: c.GPUs,
		ArrayLimit: c.ArrayLimit, Tasks: c.Tasks, Modules: c.Modules, Retries: retries, Drain: a.run.drain, Detach: c.Detach,
		Log: func(s string) {
			if !a.quiet {
				fmt.Fprintf(a.err, "coupling: slurm: %s\n", s)
			}
		},
	}, nil
}

// lines writes the missing cells into the store, under a name that their keys
// make, and returns it; nothing if none is missing.
func (c cluster) lines(a *app, s *lab.Store, src source) (name, file string, tasks int, err error) {
	if src.halving != nil {
		return "", "", 0, usage(errors.New("halving needs to see what lands: --on local or slurm"))
	}
	missing := s.Missing(src.jobs)
	if len(missing) == 0 {
		fmt.Fprintf(a.err, "%s, none missing\n", plural(len(src.jobs), "cell"))
		return "", "", 0, nil
	}
	h := sha256.New()
	for _, j := range missing {
		h.Write([]byte(j.Record().Key))
	}
	name = "coupling-" + hex.EncodeToString(h.Sum(nil)[:6])
	file = filepath.Join(s.Dir, "jobs", name+".jsonl")
	if err := jobfile.Write(file, missing); err != nil {
		return "", "", 0, err
	}
	if tasks = len(missing); c.Tasks > 0 {
		tasks = min(tasks, c.Tasks)
	}
	fmt.Fprintf(a.err, "%s written to %s\n", plural(len(missing), "job"), file)
	return name, file, tasks, nil
}

func (c cluster) kubernetes(a *app, s *lab.Store, src source) error {
	if len(src.command) == 2 {
		return usage(fmt.Errorf("%s: a Go file brings a program of its own, which the image does not have: --on slurm or parallel", src.command[0]))
	}
	name, file, tasks, err := c.lines(a, s, src)
	if err != nil || tasks == 0 {
		return err
	}
	seconds := 0
	if c.Time != "" {
		if _, err := fmt.Sscanf(c.Time+"$", "%d$", &seconds); err != nil {
			return usage(fmt.Errorf("--time %q: want seconds", c.Time))
		}
	}
	k := jobfile.Kubernetes{
		Name: name, Image: c.Image, Command: append(c.Command, "--store", c.Mount, "job"),
		File: path.Join(c.Mount, "jobs", filepath.Base(file)), Tasks: min(tasks, 100_000), Parallel: c.ArrayLimit, Retries: c.Retries,
		Claim: c.Claim, Mount: c.Mount, CPUs: c.CPUs, Memory: c.Mem, GPUs: c.GPUs, Seconds: seconds, Device: os.Getenv("COUPLING_DEVICE"),
	}
	return c.write(a, k.Write)
}

func (c cluster) parallel(a *app, s *lab.Store, src source, workers int) error {
	_, file, tasks, err := c.lines(a, s, src)
	if err != nil || tasks == 0 {
		return err
	}
	p := jobfile.Parallel{
		Command: append([]string{"env"}, append(src.env, src.command...)...), File: file, Tasks: tasks, Jobs: workers,
		Log: strings.TrimSuffix(file, ".jsonl") + ".log", Hosts: c.Hosts, Retries: c.Retries,
	}
	return c.write(a, p.Write)
}

func (c cluster) write(a *app, fill func(io.Writer) error) error {
	if c.Output == "" {
		return wrong(fill(a.out))
	}
	return wrong(durable.WriteFile(c.Output, 0o666, fill))
}

// wrong marks what a manifest lacks as the request's fault.
func wrong(err error) error {
	if err == nil {
		return nil
	}
	return usage(err)
}
