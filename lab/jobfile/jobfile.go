// Package jobfile is the common interface to clusters: a file with one job on each line, and a
// command that runs line N. N is the index of a task in a Slurm array (package slurm), of a pod in
// an indexed Kubernetes Job, or of a job of GNU parallel.
//
//	coupling job FILE N --stride M
//
// runs the lines N, N+M, N+2M, …: if there are more cells than a scheduler takes tasks, M tasks
// share them, and each task's share is a sample of the whole sweep. Results come back through the
// store. A line whose cell is stored costs one look-up, so a task that died can simply be started
// again.
package jobfile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/store"
)

// Write writes the jobs to a file, a line each.
func Write(path string, jobs []store.Job) error {
	return durable.WriteFile(path, 0o666, func(w io.Writer) error { return Encode(w, jobs) })
}

// Encode writes the jobs, a line each.
func Encode(w io.Writer, jobs []store.Job) (err error) {
	defer lab.End(&err)
	for _, j := range jobs {
		lab.Must(w.Write(append(lab.Must(store.EncodeJob(j)), '\n')))
	}
	return nil
}

// Read returns the identities of the cells in a file, by line.
func Read(path string) (out []store.Record, err error) {
	defer lab.End(&err)
	for i, line := range lab.Must(split(path)) {
		r, err := store.ParseJob(line)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, i, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Jobs returns the jobs in lines first, first+stride, … of a file; a stride of 0: line first alone.
func Jobs(path string, first, stride int, ds []*store.Decoder) (out []store.Job, err error) {
	defer lab.End(&err)
	lines := lab.Must(split(path))
	if first < 0 || first >= len(lines) {
		return nil, fmt.Errorf("line %d of %s, which has %d: no such line", first, path, len(lines))
	}
	if stride < 0 {
		return nil, fmt.Errorf("stride %d: must be 0 or more", stride)
	}
	for n := first; n < len(lines); n += cmp.Or(stride, len(lines)) {
		j, err := store.DecodeJob(lines[n], ds)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, n, err)
		}
		out = append(out, j)
	}
	return out, nil
}

// Do runs the lines first, first+stride, … of a file one after the other, which is the work of a
// task. It ends early when ctx does; the cell then stores its checkpoint and releases its lock. A
// cell that fails does not stop the others.
func Do(ctx context.Context, s *store.Store, path string, first, stride int, ds []*store.Decoder) error {
	jobs, err := Jobs(path, first, stride, ds)
	if err != nil {
		return err
	}
	var errs []error
	for _, err := range (store.Local{Workers: 1, Drain: ctx.Done()}).Run(ctx, s, jobs) {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, context.Cause(ctx))...)
}

// split returns the lines that are not empty.
func split(path string) ([][]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("job file: %w", err)
	}
	var out [][]byte
	for line := range bytes.Lines(b) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out = append(out, line)
		}
	}
	return out, nil
}

// Quote returns the words quoted for a shell.
func Quote(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}
