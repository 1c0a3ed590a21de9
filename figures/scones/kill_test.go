//go:build linux

package scones

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"coupling/figures/figtest"
	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"
	"coupling/ot/fdiv"
)

// This test binary, told so, is a process that computes a cell and has the system kill it on the way.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SCONES_TEST_STORE"); dir != "" {
		every = 3
		after, _ := strconv.Atoi(os.Getenv("SCONES_TEST_DIES"))
		if err := compute(dir, os.Getenv("SCONES_TEST_CELL"), after); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// compute does the cell of that name, kills the process once it has heard of so many steps, if any,
// and else prints what came out.
func compute(dir, name string, after int) error {
	st, err := lab.OpenStore(dir)
	if err != nil {
		return err
	}
	ctx, heard := counted(context.Background(), after, func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})
	out, err := killable[name](ctx, st)
	if err == nil {
		fmt.Println("heard", *heard)
		fmt.Println("out", out)
	}
	return err
}

// counted returns a context in which steps are counted, and do is called at one of them.
func counted(ctx context.Context, at int, do func()) (of context.Context, heard *int) {
	heard = new(int)
	return store.WithSink(ctx, func(e store.Event) {
		if e.Kind != store.Advanced {
			return
		}
		if *heard++; *heard == at {
			do()
		}
	}), heard
}

// killable are cells as at paper, but for their sizes: networks of a few steps, stored every third:
// potentials, scores, projections and chains, of points and of pictures.
var killable = map[string]func(context.Context, *store.Store) (string, error){
	"gaussians": func(ctx context.Context, s *store.Store) (string, error) {
		p := networks.Grid(figtest.Setting)[0]
		p.Problem.Samples = 50
		r, err := lab.Do(ctx, s, networksOf, 1, p)
		return fmt.Sprint(r.Value.UVP, r.Value.Projection), err
	},
	"roll": func(ctx context.Context, s *store.Store) (string, error) {
		p := rollNets.Grid(figtest.Setting)[0]
		p.Problem.Steps = 5
		r, err := lab.Do(ctx, s, rollNetsOf, 1, p)
		return fmt.Sprint(r.Value.FarBP, r.Value.FarS, r.Value.WS, files(r)), err
	},
	"digits": func(ctx context.Context, s *store.Store) (string, error) {
		p := digitsGrid(figtest.Setting)[0]
		p.Most, p.Exact, p.Sources, p.ScoreFor, p.Steps, p.ProjFor = 100, 100, 12, 8, 8, 8
		r, err := lab.Do(ctx, s, digitsOf, 1, p)
		return fmt.Sprint(r.Value, files(r)), err
	},
	"faces": func(ctx context.Context, s *store.Store) (string, error) {
		p := facesGrid(fdiv.KL)(figtest.Setting)[0]
		p.Lambdas = p.Lambdas[:1]
		r, err := lab.Do(ctx, s, facesOf, 1, p)
		return fmt.Sprint(r.Value, files(r)), err
	},
}

// A cell whose context ends makes no further step, whichever of its networks and chains is under way.
func TestCancelledCells(t *testing.T) {
	if testing.Short() {
		t.Skip("each cell is computed three times")
	}
	t.Setenv("COUPLING_DATA", "sample")
	for name, cell := range killable {
		t.Run(name, func(t *testing.T) {
			for _, cut := range []int{1, 12, 24} {
				st := must.Get(lab.OpenStore(t.TempDir()))
				ctx, cancel := context.WithCancel(t.Context())
				ctx, heard := counted(ctx, cut, cancel)
				_, err := cell(ctx, st)
				cancel()
				if !errors.Is(err, context.Canceled) || *heard != cut {
					t.Errorf("its context ended at step %d: it made %d, %v", cut, *heard, err)
				}
			}
		})
	}
}

// files are checksums of what a cell has drawn.
func files[P, R any](r lab.Result[P, R]) string {
	var sums []string
	for _, a := range r.Artifacts {
		f, err := r.Open(a.Name)
		if err != nil {
			return err.Error()
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		sums = append(sums, fmt.Sprintf("%s %x %v", a.Name, h.Sum(nil), errors.Join(err, f.Close())))
	}
	slices.Sort(sums)
	return strings.Join(sums, ", ")
}

// child runs compute in a process and returns what it printed; the empty string of one that was killed.
func child(t *testing.T, dir, name string, after int) string {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "COUPLING_DATA=sample", "SCONES_TEST_STORE="+dir, "SCONES_TEST_CELL="+name,
		fmt.Sprint("SCONES_TEST_DIES=", after))
	c.Stderr = os.Stderr
	out, err := c.Output()
	if status, ok := errors.AsType[*exec.ExitError](err); ok &&
		status.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Cells of networks and chains that the system kills again and again, each time a third of the way
// further, end with the same bits.
func TestKilledCells(t *testing.T) {
	if testing.Short() {
		t.Skip("each cell is computed three times")
	}
	const kills = 2
	for name := range killable {
		t.Run(name, func(t *testing.T) {
			heard, want, _ := strings.Cut(child(t, t.TempDir(), name, 0), "\n")
			steps, err := strconv.Atoi(strings.TrimPrefix(heard, "heard "))
			if err != nil || steps < 16 {
				t.Fatalf("%q: %v", heard, err)
			}
			dir := t.TempDir()
			for range kills {
				if out := child(t, dir, name, steps/(kills+1)); out != "" {
					t.Fatalf("the system did not kill it: %s", out)
				}
			}
			again, got, _ := strings.Cut(child(t, dir, name, 0), "\n")
			if got != want {
				t.Errorf("it ends with\n%s, want\n%s", got, want)
			}
			if n, err := strconv.Atoi(strings.TrimPrefix(again, "heard ")); err != nil || n >= steps {
				t.Errorf("it heard of %q steps, as many as the %d of one that was not killed", again, steps)
			}
		})
	}
}
