package slurm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"coupling/lab/durable"
	"coupling/lab/jobfile"
	"coupling/lab/store"
)

// A submission is one array:
//
//	STORE/slurm/NAME/lines.jsonl  the job file
//	STORE/slurm/NAME/batch.sh     what sbatch was given
//	STORE/slurm/NAME/log/N.log    what task N printed
//
// NAME, the job's name in the queue too, ends in the number of tasks that share the lines.
type submission struct {
	name, dir string
	tasks     int
	ids       []string // as the queue or sbatch told
	// progressed are the tasks with a cell that finished, or failed by its own error.
	progressed map[int]bool
}

const (
	namePrefix = "coupling-"
	linesFile  = "lines.jsonl"
)

func root(s *store.Store) string { return filepath.Join(s.Dir, "slurm") }

// write makes the submission's folder for jobs.
func (e Executor) write(s *store.Store, jobs []store.Job, most int) (*submission, error) {
	tasks := min(len(jobs), most, cmp.Or(e.Tasks, most))
	name := fmt.Sprintf("%s%s-%d", namePrefix, strings.ToLower(rand.Text()[:12]), tasks)
	sub := &submission{name: name, dir: filepath.Join(root(s), name), tasks: tasks, progressed: map[int]bool{}}
	if strings.ContainsAny(sub.dir, "\"\\\n") {
		return nil, fmt.Errorf("slurm: store %q: quotes, backslashes and line ends have no place in an sbatch script",
			s.Dir)
	}
	if err := os.MkdirAll(filepath.Join(sub.dir, "log"), 0o777); err != nil {
		return nil, fmt.Errorf("slurm: %w", err)
	}
	err := errors.Join(
		jobfile.Write(filepath.Join(sub.dir, linesFile), jobs),
		durable.WriteFile(filepath.Join(sub.dir, "batch.sh"), 0o666, e.script(sub)),
	)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(sub.dir))
	}
	return sub, nil
}

//go:embed batch.sh.tmpl
var batchSource string

var batch = template.Must(template.New("batch.sh").Funcs(template.FuncMap{
	"quote": func(word string) string { return jobfile.Quote(word) },
	"assign": func(v string) string {
		name, value, _ := strings.Cut(v, "=")
		return name + "=" + jobfile.Quote(value)
	},
}).Parse(batchSource))

// script writes the program that sbatch runs on the node for each task.
func (e Executor) script(sub *submission) func(io.Writer) error {
	return func(w io.Writer) error {
		return batch.Execute(w, struct {
			Executor
			Name, Dir, Lines string
			Last, Stride     int
		}{e, sub.name, strings.ReplaceAll(sub.dir, "%", "%%"), filepath.Join(sub.dir, linesFile), sub.tasks - 1,
			sub.tasks})
	}
}

// submit submits the array. If sbatch fails and the queue has it, only the answer was lost.
func (sub *submission) submit(ctx context.Context) error {
	out, err := command(ctx, "sbatch", "--parsable", filepath.Join(sub.dir, "batch.sh"))
	if err != nil {
		if q, qerr := queue(context.WithoutCancel(ctx)); qerr == nil && len(q[sub.name].ids) > 0 {
			sub.ids = q[sub.name].ids
			return nil
		}
		return errors.Join(err, os.RemoveAll(sub.dir))
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(out)), ";") // ID or ID;CLUSTER
	sub.ids = []string{id}
	return nil
}

// cancel removes the tasks from the queue: all, or those that have not begun.
func (sub *submission) cancel(ctx context.Context, pendingOnly bool) error {
	if len(sub.ids) == 0 {
		return nil
	}
	args := sub.ids
	if pendingOnly {
		args = append([]string{"--state=PENDING"}, args...)
	}
	_, err := command(ctx, "scancel", args...)
	return err
}

func (sub *submission) read() ([]store.Record, error) {
	return jobfile.Read(filepath.Join(sub.dir, linesFile))
}

// tail returns the log of a task and its last lines.
func (sub *submission) tail(task int) (path, text string) {
	path = filepath.Join(sub.dir, "log", fmt.Sprintf("%d.log", task))
	b, err := os.ReadFile(path)
	if err != nil {
		return "", ""
	}
	lines := strings.Split(strings.TrimSpace(string(b[max(0, len(b)-2000):])), "\n")
	return path, strings.Join(lines[max(0, len(lines)-8):], "\n")
}

// command runs one of Slurm's programs and returns what it prints. It waits for a controller that
// does not answer as long as Slurm's own clients do.
func command(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("slurm: no %s on PATH: is this a login node of a cluster? (%w)", name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("slurm: %s: %w: %s", name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// tasks is the queue's information on the arrays submitted under one name.
type tasks struct {
	ids   []string       // of the arrays, for scancel
	state map[int]string // of each task that is known
}

// live reports whether a task in this state may still do something.
func live(state string) bool {
	switch state {
	case "PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "REQUEUED", "REQUEUE_FED",
		"REQUEUE_HOLD", "SPECIAL_EXIT", "STAGE_OUT", "RESIZING", "SIGNALING", "STOPPED", "RESV_DEL_HOLD":
		return true
	}
	return false
}

func (t tasks) anyLive() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(t.state)), live)
}

// failedByUsage is the state of a task whose command crashed or refused its arguments: for good.
const failedByUsage = "FAILED with status 2"

// queue asks for all tasks that the controller remembers, by job name. Slurm
// forgets ended ones after MinJobAge (300 s unless configured).
func queue(ctx context.Context) (map[string]tasks, error) {
	out, err := command(ctx, "squeue", "--me", "--states=all", "--array", "--noheader",
		"--Format=ArrayJobID:20,ArrayTaskID:20,State:20,exit_code:20,Name:40")
	if err != nil {
		return nil, err
	}
	q := map[string]tasks{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 5 || !strings.HasPrefix(f[4], namePrefix) {
			continue // not of ours
		}
		id, state, name := f[0], f[2], f[4]
		task, err1 := strconv.Atoi(f[1])
		exit, err2 := strconv.Atoi(f[3]) // the word of wait(2)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("slurm: squeue: %q: %w", line, err)
		}
		if state == "FAILED" && exit>>8 == 2 {
			state = failedByUsage
		}
		t := q[name]
		if t.state == nil {
			t.state = map[int]string{}
		}
		if !slices.Contains(t.ids, id) {
			t.ids = append(t.ids, id)
		}
		t.state[task] = state
		q[name] = t
	}
	return q, nil
}

// maxArray asks how many tasks an array may have.
func maxArray(ctx context.Context) int {
	const usual = 1001 // Slurm's default
	out, err := command(ctx, "scontrol", "show", "config")
	if err != nil {
		return usual
	}
	for l := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(l, "=")
		if strings.TrimSpace(name) == "MaxArraySize" {
			if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n > 0 {
				return n
			}
		}
	}
	return usual
}
