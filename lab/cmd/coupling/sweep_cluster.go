package main

import (
	"fmt"

	"coupling/lab"
	"coupling/lab/slurm"
)

// cluster is what a task of Slurm may ask for.
type cluster struct {
	Partition  string   `help:"Slurm partition." placeholder:"NAME"`
	Time       string   `help:"Limit of a task: 30 (minutes), 2:00:00, 1-12 (days-hours)." placeholder:"T"`
	Mem        string   `help:"Memory of a task: 4G." placeholder:"SIZE"`
	CPUs       int      `name:"cpus" help:"Cores of a task." placeholder:"N"`
	GPUs       int      `name:"gpus" help:"GPUs of a task." placeholder:"N"`
	ArrayLimit int      `help:"Tasks at a time." placeholder:"N"`
	Tasks      int      `help:"Largest number of tasks, which share the cells; default one for each cell, up to the cluster's limit." placeholder:"N"`
	Modules    []string `help:"Environment modules that a task loads." placeholder:"NAME,…"`
	Retries    int      `default:"3" help:"How often a cell whose task died is tried again."`
	Detach     bool     `help:"Submit, and do not wait."`
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
