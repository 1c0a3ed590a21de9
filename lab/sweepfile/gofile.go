package sweepfile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/internal/child"
	"coupling/lab/internal/interrupt"
	"coupling/lab/jobfile"
	"coupling/lab/store"
)

// Main is the main function of a Go file that declares an experiment and the cells of a sweep;
// coupling sweep FILE.go runs it, here or on a cluster.
//
//	func main() {
//		sweepfile.Main(bias.Jobs(1, lab.Grid(params{N: 100}, lab.Vary(…))...), bias.Decoder())
//	}
//
// Without arguments the program computes the cells that are missing, one a core.
// The command uses three more:
//
//	PROGRAM list                     prints the jobs, a line each
//	PROGRAM job FILE N --stride M    does lines N, N+M, … of a job file
//	PROGRAM try LINE                 does one job unless another process does; its exit code says how it went
func Main(jobs []store.Job, ds ...*store.Decoder) {
	ctx, stop := interrupt.Context(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := program(ctx, os.Stdout, os.Args[1:], jobs, ds); err != nil {
		if !errors.Is(err, errRecalled) && !errors.Is(err, store.ErrBusy) {
			fmt.Fprintln(os.Stderr, err)
		}
		code := 1
		switch {
		case ctx.Err() != nil:
			code = 130
		case errors.Is(err, errUsage):
			code = 2
		case errors.Is(err, store.ErrBusy):
			code = exitBusy
		case errors.Is(err, errRecalled):
			code = exitRecalled
		}
		os.Exit(code)
	}
}

var errUsage = errors.New("want no argument, list, job FILE N --stride M, or try LINE")

var errRecalled = errors.New("it was stored")

const (
	exitBusy     = 75 // EX_TEMPFAIL of sysexits.h
	exitRecalled = 79 // none of them
)

func program(ctx context.Context, out io.Writer, args []string, jobs []store.Job, ds []*store.Decoder) (err error) {
	defer lab.End(&err)
	if len(args) == 1 && args[0] == "list" {
		return jobfile.Encode(out, jobs)
	}
	s := lab.Must(lab.OpenStore(""))
	switch {
	case len(args) == 0:
		var errs []error
		for _, err := range (store.Local{Drain: ctx.Done()}).Run(ctx, s, s.Missing(jobs)) {
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	case len(args) == 5 && args[0] == "job" && args[3] == "--stride":
		first, err1 := strconv.Atoi(args[2])
		stride, err2 := strconv.Atoi(args[4])
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
		return jobfile.Do(ctx, s, args[1], first, stride, ds)
	case len(args) == 2 && args[0] == "try":
		held, err := lab.Must(store.DecodeJob([]byte(args[1]), ds)).Try(ctx, s)
		if held && err == nil {
			return errRecalled
		}
		return err
	}
	return fmt.Errorf("%q: %w", args, errUsage)
}

// A Program is a Go file that was built.
type Program struct {
	Path string // of the executable
	Jobs []store.Job
}

// Build builds a Go file of [Main] into dir, which must be visible wherever its jobs run, and asks
// the program for its jobs, which it computes. Its file name ends in a digest of its content, so
// that no other program of the same name replaces one that queued tasks will call.
func Build(ctx context.Context, file, dir string) (p *Program, err error) {
	defer lab.End(&err)
	file = lab.Must(filepath.Abs(file))
	lab.Check(os.MkdirAll(dir, 0o777))
	path := filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	tmp := path + "." + strconv.Itoa(os.Getpid())
	defer os.Remove(tmp)
	codes, _ := store.EncodeCodes(file) // go build reports faults of the file better
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-X coupling/lab/store.codes="+codes, "-o", tmp, file)
	build.Dir = filepath.Dir(file)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("sweep: go build %s: %w\n%s", file, err, bytes.TrimSpace(out))
	}
	if again, _ := store.EncodeCodes(file); again != codes {
		return nil, fmt.Errorf("sweep: %s or what it imports changed while it was compiled: sweep it again", file)
	}
	digest, _, err := durable.Digest(tmp)
	lab.Check(err)
	path += "-" + digest[:12]
	lab.Check(os.Rename(tmp, path)) // over itself, if it is there
	list := exec.CommandContext(ctx, path, "list")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("sweep: %s list: %w", path, err)
	}
	p = &Program{Path: path}
	for line := range bytes.Lines(out) {
		id, err := store.ParseJob(line)
		if err != nil {
			return nil, fmt.Errorf("sweep: %s list: does its main call sweepfile.Main? %w", path, err)
		}
		p.Jobs = append(p.Jobs, store.ExternalJob(id, p.try(id, string(bytes.TrimSpace(line)))))
	}
	return p, nil
}

// Command runs a line of a job file; see package jobfile.
func (p *Program) Command() []string { return []string{p.Path, "job"} }

// patience is what a program has to end after it was asked to, for a person waits. Its cell keeps its checkpoints.
const patience = time.Second

// try computes one cell by running the program. When ctx ends it is terminated, and soon killed; it
// does not outlive this process. What it prints goes to standard error.
func (p *Program) try(id store.Record, line string) func(context.Context, *store.Store) (bool, error) {
	return func(ctx context.Context, s *store.Store) (bool, error) {
		cmd := exec.CommandContext(ctx, p.Path, "try", line)
		cmd.Env = append(os.Environ(), "COUPLING_STORE="+s.Dir)
		var last tail
		cmd.Stdout, cmd.Stderr = os.Stderr, io.MultiWriter(os.Stderr, &last)
		program, err := child.Launch(cmd, syscall.SIGKILL, patience, func() {})
		if err == nil {
			err = program.Wait()
		}
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case cmd.ProcessState.ExitCode() == exitBusy:
			return false, store.ErrBusy
		case cmd.ProcessState.ExitCode() == exitRecalled:
			store.Report(ctx, id, store.Event{Kind: store.Recalled})
			return true, nil
		case err != nil:
			return false, fmt.Errorf("%w: %s", err, cmp.Or(string(bytes.TrimSpace(last.end)), "it printed no error"))
		}
		store.Report(ctx, id, store.Event{Kind: store.Stored})
		return false, nil
	}
}

// A tail keeps the end of what is written to it.
type tail struct{ end []byte }

const tailSize = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.end = append(t.end, p...)
	t.end = slices.Delete(t.end, 0, max(0, len(t.end)-tailSize))
	return len(p), nil
}
