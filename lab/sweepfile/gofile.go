package sweepfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"coupling/lab"
	"coupling/lab/jobfile"
)

// Main is the main function of a Go file that declares an experiment and the
// cells of a sweep; coupling sweep FILE.go does the rest, wherever it is told to.
//
//	func main() {
//		sweepfile.Main(bias.Jobs(1, lab.Grid(params{N: 100}, lab.Vary(…))...), bias.Decoder())
//	}
//
// Without arguments the program computes the cells that are missing, one a core.
// The command uses two more:
//
//	PROGRAM list                         prints the jobs, a line each
//	PROGRAM job FILE N --stride M        does lines N, N+M, … of a job file
func Main(jobs []lab.Job, ds ...lab.Decoder) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := program(ctx, os.Stdout, os.Args[1:], jobs, ds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code := 1
		if ctx.Err() != nil {
			code = 130
		} else if errors.Is(err, errUsage) {
			code = 2
		}
		os.Exit(code)
	}
}

var errUsage = errors.New("want no argument, list, or job FILE N --stride M")

func program(ctx context.Context, out io.Writer, args []string, jobs []lab.Job, ds []lab.Decoder) error {
	if len(args) == 1 && args[0] == "list" {
		for _, j := range jobs {
			line, err := lab.EncodeJob(j)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
				return err
			}
		}
		return nil
	}
	s, err := lab.OpenStore("")
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		var errs []error
		for _, err := range (lab.Local{Drain: ctx.Done()}).Run(ctx, s, s.Missing(jobs)) {
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
	}
	return fmt.Errorf("%q: %w", args, errUsage)
}

// A Program is a Go file that was built.
type Program struct {
	Path string // of the executable
	Jobs []lab.Job
}

// Build builds a Go file of [Main] into dir, where all who do its jobs must find
// the program, and asks it for its jobs. They are computed by the program. Its
// name ends in a digest of its content: another program of the same name, or a
// later state of this one, does not take the place of one that tasks in a queue
// will call.
func Build(ctx context.Context, file, dir string) (*Program, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	path := filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	tmp := path + "." + strconv.Itoa(os.Getpid())
	defer os.Remove(tmp)
	build := exec.CommandContext(ctx, "go", "build", "-o", tmp, file)
	build.Dir = filepath.Dir(file)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("sweep: go build %s: %w\n%s", file, err, bytes.TrimSpace(out))
	}
	digest, err := sha256File(tmp)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	path += "-" + digest[:12]
	if err := os.Rename(tmp, path); err != nil { // over itself, if it is there
		return nil, fmt.Errorf("sweep: %w", err)
	}
	list := exec.CommandContext(ctx, path, "list")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("sweep: %s list: %w", path, err)
	}
	p := &Program{Path: path}
	for line := range bytes.Lines(out) {
		id, err := lab.ParseJob(line)
		if err != nil {
			return nil, fmt.Errorf("sweep: %s list: does its main call sweepfile.Main? %w", path, err)
		}
		p.Jobs = append(p.Jobs, lab.Foreign(id, p.do(id)))
	}
	return p, nil
}

func sha256File(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Command does a line of a job file; see package jobfile.
func (p *Program) Command() []string { return []string{p.Path, "job"} }

// do computes one cell by running the program, which is told to end when ctx does.
func (p *Program) do(id lab.Record) func(context.Context, *lab.Store) error {
	return func(ctx context.Context, s *lab.Store) error {
		dir, err := os.MkdirTemp("", "coupling")
		if err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		file := filepath.Join(dir, "line")
		if err := jobfile.Write(file, []lab.Job{lab.Foreign(id, nil)}); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, p.Path, "job", file, "0", "--stride", "1")
		cmd.Env = append(os.Environ(), "COUPLING_STORE="+s.Dir)
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return &lab.CellError{Experiment: id.Experiment, Key: id.Key, Seed: id.Seed, Params: id.Params,
				Err: fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))}
		}
		lab.Report(ctx, id, lab.Event{Kind: lab.Stored})
		return nil
	}
}
