package slurm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coupling/lab/must"
	"coupling/lab/store"
)

func TestSweepLands(t *testing.T) {
	c := newCluster(t)
	c.run()
	jobs := walks(12, 2, 0)
	landed, errs := outcome(t, t.Context(), c.executor(), c.store, jobs)
	if landed != 12 || len(errs) > 0 || c.arrays() != 1 {
		t.Errorf("%d landed of 12 by %d arrays: %v", landed, c.arrays(), errs)
	}
	if left, _ := os.ReadDir(root(c.store)); len(left) > 0 {
		t.Errorf("%d folders left of arrays that are done", len(left))
	}
	if landed, errs = outcome(t, t.Context(), c.executor(), c.store, jobs); landed != 12 || len(errs) > 0 ||
		c.arrays() != 1 {
		t.Errorf("a second time: %d landed, %d arrays, %v", landed, c.arrays(), errs)
	}
}

// More cells than an array may have tasks: tasks share them.
func TestTasksShareCells(t *testing.T) {
	c := newCluster(t)
	c.put("max", "5")
	c.run()
	landed, errs := outcome(t, t.Context(), c.executor(), c.store, walks(17, 1, 0))
	if landed != 17 || len(errs) > 0 || c.ran.Load() != 5 {
		t.Errorf("%d landed of 17 by %d tasks, want 5: %v", landed, c.ran.Load(), errs)
	}
}

// What died of no fault of its own is submitted again, with what was left alone.
func TestDeadTasksAreSubmittedAgain(t *testing.T) {
	states := []string{"TIMEOUT", "", "PREEMPTED", "NODE_FAIL", "FAILED"}
	if testing.Short() {
		states = states[:2]
	}
	for _, state := range states {
		c := newCluster(t)
		c.does = func(n, task int, do func() error) string {
			if n == 1 && task%3 == 0 {
				return state
			}
			must.Do(do())
			return "COMPLETED"
		}
		c.run()
		landed, errs := outcome(t, t.Context(), c.executor(), c.store, walks(9, 1, 0))
		if landed != 9 || len(errs) > 0 || c.ran.Load() != 12 {
			t.Errorf("%q: %d landed of 9 by %d tasks, want 12: %v", state, landed, c.ran.Load(), errs)
		}
	}
}

func TestRetriesAreLimited(t *testing.T) {
	for state, want := range map[string]int{"NODE_FAIL": 3, "OUT_OF_MEMORY": 1, "CANCELLED": 1} {
		c := newCluster(t)
		c.does = func(_, task int, do func() error) string {
			if task == 0 && c.ran.Load() != 2 { // line 0 is alone in later arrays
				return state
			}
			must.Do(do())
			return "COMPLETED"
		}
		c.run()
		e := c.executor()
		e.Retries = 2
		landed, errs := outcome(t, t.Context(), e, c.store, walks(2, 1, 0))
		var task *Error
		if landed != 1 || len(errs) != 1 || !errors.As(errs[0], &task) || task.State != state || task.Tries != want {
			t.Errorf("%s: %d landed, %v, want one error after %d tries", state, landed, errs, want)
		}
	}
}

// A cell that kills each of its tasks costs the others in them no try.
func TestTheDeathOfATaskIsChargedToOneCell(t *testing.T) {
	for _, state := range []string{"NODE_FAIL", "OUT_OF_MEMORY", failedByUsage} {
		c := newCluster(t)
		c.put("max", "3")
		jobs := walks(12, 1, 0)
		// at a task's begin, and in the middle
		deadly := map[store.Key]bool{jobs[0].Record().Key: true, jobs[4].Record().Key: true}
		c.shares = func(lines []store.Job) string {
			for _, j := range lines {
				if deadly[j.Record().Key] {
					return state
				}
				must.Get(j.Try(t.Context(), c.store))
			}
			return "COMPLETED"
		}
		c.run()
		e := c.executor()
		e.Retries = 1
		landed, errs := outcome(t, t.Context(), e, c.store, jobs)
		if landed != 10 || len(errs) != 2 {
			t.Errorf("%s: %d landed of 10: %v", state, landed, errs)
		}
		want := 1
		if state == "NODE_FAIL" {
			want = 2
		}
		for _, err := range errs {
			var task *Error
			var ce *store.CellError
			if !errors.As(err, &task) || task.Tries != want || task.State != state || !errors.As(err, &ce) ||
				!deadly[ce.Key] {
				t.Errorf("%s: %v, want that of a deadly cell after %d tries", state, err, want)
			}
		}
	}
}

// A cell that failed in a task that is still at work is done by a new one.
func TestFailedCellIsNotPickedUp(t *testing.T) {
	c := newCluster(t)
	c.does = func(n, _ int, do func() error) string {
		if do() != nil && n == 1 {
			return "RUNNING" // with other cells
		}
		return "COMPLETED"
	}
	c.run()
	for range 2 {
		landed, errs := outcome(t, t.Context(), c.executor(), c.store, walk.Jobs(3, steps{N: -1}))
		if landed != 0 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "a negative walk") {
			t.Errorf("%d landed, %v", landed, errs)
		}
	}
	if c.arrays() != 2 {
		t.Errorf("%d arrays, want one a run", c.arrays())
	}
}

func TestStoreThatSbatchWouldMisread(t *testing.T) {
	for _, name := range []string{`a"b`, `a\b`, "a\nb"} {
		s := &store.Store{Dir: filepath.Join(t.TempDir(), name)}
		if _, err := (Executor{}).write(s, walks(1, 1, 0), 1); err == nil ||
			!strings.Contains(err.Error(), "have no place") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A cell that fails by itself is not tried again, and its error is the cell's.
func TestFailedCellIsReported(t *testing.T) {
	c := newCluster(t)
	c.run()
	jobs := append(walks(2, 1, 0), walk.Jobs(3, steps{N: -1})...)
	for range 2 { // the failure that the first run left does not count for the second
		landed, errs := outcome(t, t.Context(), c.executor(), c.store, jobs)
		var ce *store.CellError
		if landed != 2 || len(errs) != 1 || !errors.As(errs[0], &ce) ||
			!strings.Contains(ce.Err.Error(), "a negative walk") {
			t.Errorf("%d landed, %v", landed, errs)
		}
	}
	if c.arrays() != 2 {
		t.Errorf("%d arrays, want one a run", c.arrays())
	}
}

// A later client finds the array of one that was killed. A task that ends after
// the client has looked for stored cells, and before the queue answers, is not
// submitted again.
func TestEarlierArrayIsPickedUp(t *testing.T) {
	c := newCluster(t)
	c.hold.Store(true)
	c.run()
	jobs := walks(10, 1, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	first := c.executor()
	first.Log = func(s string) {
		if strings.Contains(s, "submitted") {
			cancel(ErrLeave)
		}
	}
	if landed, errs := outcome(t, ctx, first, c.store, jobs[:6]); landed != 0 || len(errs) != 6 ||
		!errors.Is(errs[0], ErrLeave) {
		t.Fatalf("%d landed, %v", landed, errs)
	}
	c.put("late", "")
	landed, errs := outcome(t, t.Context(), c.executor(), c.store, jobs)
	if landed != 10 || len(errs) > 0 || c.arrays() != 2 || c.ran.Load() != 10 {
		t.Errorf("%d landed of 10 by %d arrays and %d tasks: %v", landed, c.arrays(), c.ran.Load(), errs)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "cancelled")); err == nil {
		t.Error("the array was cancelled, and should have been left")
	}
}

// A controller that does not answer is waited for.
func TestControllerMayGoAway(t *testing.T) {
	c := newCluster(t)
	c.does = func(_, task int, do func() error) string {
		if task == 3 {
			c.put("down", "")
			time.Sleep(50 * time.Millisecond)
			must.Do(os.Remove(filepath.Join(c.dir, "down")))
		}
		must.Do(do())
		return "COMPLETED"
	}
	c.run()
	if landed, errs := outcome(t, t.Context(), c.executor(), c.store, walks(6, 1, 0)); landed != 6 || len(errs) > 0 {
		t.Errorf("%d landed, %v", landed, errs)
	}
}

// sbatch's answer may be lost after the array is in the queue.
func TestLostAnswerOfSbatch(t *testing.T) {
	c := newCluster(t)
	c.put("mute", "")
	c.run()
	landed, errs := outcome(t, t.Context(), c.executor(), c.store, walks(4, 1, 0))
	if landed != 4 || len(errs) > 0 || c.arrays() != 1 {
		t.Errorf("%d landed, %d arrays, %v", landed, c.arrays(), errs)
	}
}

func TestRefusedSubmissionIsReported(t *testing.T) {
	c := newCluster(t)
	c.put("full", "")
	landed, errs := outcome(t, t.Context(), c.executor(), c.store, walks(2, 1, 0))
	if landed != 0 || len(errs) != 2 || !strings.Contains(errs[0].Error(), "no room") {
		t.Errorf("%d landed, %v", landed, errs)
	}
	if left, _ := os.ReadDir(root(c.store)); len(left) > 0 {
		t.Errorf("%d folders left", len(left))
	}
}

// An end of ctx cancels, also while squeue hangs; a closed Drain cancels what waits and follows the rest.
func TestCancelAndDrain(t *testing.T) {
	c := newCluster(t)
	c.hold.Store(true)
	c.run()
	ctx, cancel := context.WithCancel(t.Context())
	e := c.executor()
	e.Log = func(s string) {
		if strings.Contains(s, "submitted") {
			c.put("stuck", "")
			go func() {
				for _, err := os.Stat(filepath.Join(c.dir, "hangs")); err != nil; {
					_, err = os.Stat(filepath.Join(c.dir, "hangs"))
				}
				cancel()
			}()
		}
	}
	landed, errs := outcome(t, ctx, e, c.store, walks(3, 1, 0))
	if _, err := os.Stat(filepath.Join(c.dir, "answered")); err == nil {
		t.Error("the end of the context waited for squeue")
	}
	if landed != 0 || len(errs) != 3 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("%d landed, %v", landed, errs)
	}
	if b, _ := os.ReadFile(filepath.Join(c.dir, "cancelled")); strings.TrimSpace(string(b)) != "1" {
		t.Errorf("scancel %q, want array 1", b)
	}

	d := newCluster(t)
	drain := make(chan struct{})
	d.does = func(_, task int, do func() error) string {
		if task == 1 {
			close(drain)
			for b := []byte(nil); !strings.Contains(string(b), "PENDING"); {
				b, _ = os.ReadFile(filepath.Join(d.dir, "cancelled"))
			}
		}
		must.Do(do())
		return "COMPLETED"
	}
	d.run()
	e = d.executor()
	e.Drain = drain
	landed, errs = outcome(t, t.Context(), e, d.store, walks(6, 1, 0))
	if landed != 2 || len(errs) != 0 {
		t.Errorf("drained: %d landed, want 2, %v", landed, errs)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	c := newCluster(t)
	good := c.executor()
	for want, change := range map[string]func(*Executor){
		"partition": func(e *Executor) { e.Partition = "a b" },
		"time":      func(e *Executor) { e.Time = "10\n#SBATCH" },
		"module":    func(e *Executor) { e.Modules = []string{"cuda;rm"[:4] + " x"} },
		"gpus":      func(e *Executor) { e.GPUs = -1 },
		"command":   func(e *Executor) { e.Command = []string{"coupling"} },
	} {
		e := good
		change(&e)
		if _, errs := outcome(t, t.Context(), e, c.store, walks(1, 1, 0)); len(errs) != 1 ||
			!strings.Contains(errs[0].Error(), want) {
			t.Errorf("%s: %v", want, errs)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, errs := outcome(t, t.Context(), good, c.store, walks(1, 1, 0)); len(errs) != 1 ||
		!strings.Contains(errs[0].Error(), "login node") {
		t.Errorf("no Slurm: %v", errs)
	}
}
