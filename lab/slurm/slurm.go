// Package slurm computes sweeps on a Slurm cluster whose nodes share the store.
//
// [Executor] writes the missing cells as lines of a file in the store, submits one job array that
// does them (sbatch), and follows it: finished cells are read from the store, the states of tasks
// from squeue. Neither a database (sacct) nor a daemon is needed.
//
// # Failures
//
// A task that dies of its time limit, of preemption, with its node or by a signal is submitted
// again, at most [Executor.Retries] times; the cell resumes from its checkpoint (lab's
// Cell.Scratch). A task that ran out of memory, that a person cancelled, or whose command refused
// its arguments is not. Of the cells that share a task only the one in which it died is charged
// with the death. Slurm itself requeues what it preempts if the partition says so. A cell that
// failed by its own error is reported once, with that error.
//
// If the client dies, the array goes on. The next client that wants any of the same cells finds the
// array by its name in the queue and follows it instead of submitting those cells again. This needs
// no file written after sbatch, so an array cannot get lost.
//
// Two clients that submit the same cell at the same moment waste a task, never a result.
//
// # Tasks
//
// It execs COMMAND FILE INDEX --stride TASKS (package jobfile), so that Slurm's SIGTERM, which
// comes KillWait before SIGKILL, reaches the program: it ends the cell's context, the experiment
// stores its checkpoint, and the lock is released.
package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"coupling/lab/store"
)

// ErrLeave is the cause of a context's end after which [Executor.Run] returns without cancelling its
// arrays; any other cause cancels them.
var ErrLeave = errors.New("slurm: the client leaves, its arrays go on")

// Request is the resources of a task; the tags are those of a command line's flags.
type Request struct {
	Partition  string   `placeholder:"NAME"`          // Slurm partition
	Time       string   `placeholder:"T"`             // Limit of a task: 30 (minutes), 2:00:00, 1-12 (days-hours)
	Mem        string   `placeholder:"SIZE"`          // Memory of a task: 4G
	CPUs       int      `name:"cpus" placeholder:"N"` // Cores of a task
	GPUs       int      `name:"gpus" placeholder:"N"` // GPUs of a task
	ArrayLimit int      `placeholder:"N"`             // Tasks at a time
	Tasks      int      `placeholder:"N"`             // Most tasks; 0: one a cell, up to the limit of the cluster
	Modules    []string `placeholder:"NAME,…"`        // Environment modules that a task loads
	Retries    int      `default:"3"`                 // How often a cell whose task died is tried again
	Detach     bool     // Submit, and do not wait
}

// Executor implements [store.Executor] by job arrays.
type Executor struct {
	// Command runs a line of a job file; FILE INDEX --stride N are appended. The program and its
	// paths must be the same on every node.
	Command []string
	Env     []string // NAME=VALUE, exported to the tasks
	Request
	// Poll is the time between two polls; 0 means 5 s.
	Poll time.Duration
	// Drain, once closed, cancels the tasks that have not begun.
	Drain <-chan struct{}
	// Log is called with a sentence for each action; may be nil.
	Log func(string)
}

// Error is the end of a task, if the cell itself left no error.
type Error struct {
	State string // Slurm's, or "VANISHED" if the queue does not know the task
	Tries int    // tasks that died in this cell
	Log   string // the task's output, where there is any
	Tail  string // its last lines
}

func (e *Error) Error() string {
	s := fmt.Sprintf("slurm: task ended as %s, %d tried", e.State, e.Tries)
	if hint := hints[e.State]; hint != "" {
		s += " (" + hint + ")"
	}
	if e.Tail != "" {
		s += "; the end of " + e.Log + ":\n" + e.Tail
	}
	return s
}

var hints = map[string]string{
	"OUT_OF_MEMORY": "--mem asks for more",
	"TIMEOUT":       "--time asks for more, unless the experiment leaves no checkpoint",
	"CANCELLED":     "by a person",
	failedByUsage:   "the command refused it, or crashed",
}

// Run implements [store.Executor]. Jobs whose cells are in the store are yielded first. It returns
// when no task of these jobs is left in the queue. The end of ctx cancels them, but see [ErrLeave].
func (e Executor) Run(ctx context.Context, s *store.Store, jobs []store.Job) iter.Seq2[store.Job, error] {
	return func(yield func(store.Job, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		f := &follower{Executor: e, store: s, open: map[store.Key]*line{}}
		f.yield = func(j store.Job, err error) bool {
			if f.broken = f.broken || !yield(j, err); f.broken {
				cancel()
			}
			return !f.broken
		}
		if err := f.run(ctx, jobs); err != nil && !f.broken {
			f.refuse(err)
		}
	}
}

// check refuses values that sbatch would misread.
func (e Executor) check() error {
	if len(e.Command) == 0 || !filepath.IsAbs(e.Command[0]) {
		return fmt.Errorf("slurm: command %q: want the absolute path of a program and its arguments", e.Command)
	}
	for name, v := range map[string]string{"partition": e.Partition, "time": e.Time, "mem": e.Mem} {
		if strings.ContainsAny(v, " \t\n'\"\\#") {
			return fmt.Errorf("slurm: %s %q: has a character that has no place there", name, v)
		}
	}
	for _, m := range e.Modules {
		if strings.ContainsAny(m, " \t\n") || m == "" {
			return fmt.Errorf("slurm: module %q: want one name", m)
		}
	}
	for name, n := range map[string]int{"cpus": e.CPUs, "gpus": e.GPUs, "array limit": e.ArrayLimit, "tasks": e.Tasks,
		"retries": e.Retries} {
		if n < 0 {
			return fmt.Errorf("slurm: %s %d: must be 0 or more", name, n)
		}
	}
	return nil
}

func (e Executor) poll() time.Duration { return cmp.Or(max(e.Poll, 0), 5*time.Second) }

func (e Executor) say(format string, args ...any) {
	if e.Log != nil {
		e.Log(fmt.Sprintf(format, args...))
	}
}
