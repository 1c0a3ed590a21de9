package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/jobfile"
	"coupling/lab/must"
	"coupling/lab/store"
)

// The test binary is also the program that the tasks of a cluster run:
// TEST STORE job FILE INDEX --stride N.
func TestMain(m *testing.M) {
	if os.Getenv("SLURM_TEST_WORKER") == "" {
		os.Exit(m.Run())
	}
	if err := worker(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func worker(args []string) error {
	if args[0] == "client" {
		return client(args[1], args[2])
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := lab.OpenStore(args[0])
	if err != nil {
		return err
	}
	first, err1 := strconv.Atoi(args[3])
	stride, err2 := strconv.Atoi(args[5])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	ctx = store.WithSink(ctx, func(e store.Event) {
		f, err := os.OpenFile(os.Getenv("SLURM_TEST_JOURNAL"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err == nil && e.Kind == store.Stored {
			fmt.Fprintln(f, e.Key)
		}
		f.Close()
	})
	return jobfile.Do(ctx, s, args[2], first, stride, []*store.Decoder{walk.Decoder()})
}

type steps struct {
	N     int `json:"n"`
	Steps int `json:"steps"`
	Pause int `json:"pause_ms,omitzero"` // between steps
}

type end struct {
	X float64 `json:"x"`
}

// walk sums random numbers and leaves a checkpoint after each step, whether it
// is told to end or not.
var walk = lab.Experiment[steps, end]{Name: "test/walk", Version: 1,
	Run: func(ctx context.Context, c *lab.Cell, p steps) (end, error) {
		if p.N < 0 {
			return end{}, errors.New("a negative walk")
		}
		dir, err := c.Scratch()
		if err != nil {
			return end{}, err
		}
		mark := filepath.Join(dir, "steps")
		done := 0
		if b, err := os.ReadFile(mark); err == nil {
			done, _ = strconv.Atoi(string(b))
		}
		x, rnd := float64(p.N), c.Rand("walk")
		for i := range p.Steps {
			x += rnd.NormFloat64()
			if i < done {
				continue
			}
			select {
			case <-ctx.Done():
				return end{}, context.Cause(ctx)
			case <-time.After(time.Duration(p.Pause) * time.Millisecond):
			}
			if err := durable.Write(mark, []byte(strconv.Itoa(i+1))); err != nil {
				return end{}, err
			}
		}
		return end{x}, nil
	}}

func walks(n, steps0, pause int) []store.Job {
	var jobs []store.Job
	for i := range n {
		jobs = append(jobs, walk.Jobs(3, steps{N: i, Steps: steps0, Pause: pause})...)
	}
	return jobs
}

// cluster is a Slurm of shell scripts in a folder that is put first on PATH: a
// goroutine does what the scripts were told, as the test wants it done.
type cluster struct {
	t     *testing.T
	dir   string
	store *store.Store
	tasks []fakeTask
	seen  int
	// does carries out a task of the n-th array, and returns its state; "" for one
	// that the queue forgets.
	does func(n, task int, do func() error) string
	// shares, if set, is told the lines of a task instead.
	shares func([]store.Job) string
	ran    atomic.Int64
	hold   atomic.Bool // tasks wait, until a client has asked for the queue where the file "late" is there
}

type fakeTask struct {
	name        string
	array, task int
	state       string
	file        string
	stride      int
}

var scripts = map[string]string{
	"sbatch": `
		test -e "$F/full" && { echo "sbatch: error: Batch job submission failed: no room" >&2; exit 1; }
		n=$(($(cat "$F/n")+1)); echo $n >"$F/n"; cp "$2" "$F/new"; mv "$F/new" "$F/script.$n"
		until test -e "$F/accepted.$n"; do sleep 0.005; done
		test -e "$F/mute" && { rm "$F/mute"; exit 1; }
		echo "$n;here"`,
	"squeue": `
		test -e "$F/down" && { echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; }
		if test -e "$F/stuck"; then
			rm "$F/stuck"; : >"$F/hangs"; sleep 5 >/dev/null 2>&1; : >"$F/answered"
		fi
		if test -e "$F/late"; then : >"$F/asked"; until grep -q COMPLETED "$F/queue"; do sleep 0.005; done; fi
		cat "$F/queue"`,
	"scancel":  `echo "$@" >>"$F/cancelled"`,
	"scontrol": `echo "MaxArraySize            = $(cat "$F/max")"`,
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir()}
	c.store = must.Get(lab.OpenStore(t.TempDir()))
	for name, text := range scripts {
		c.put(name, "#!/bin/sh\n"+text+"\n")
	}
	c.put("n", "0")
	c.put("max", "1001")
	c.put("queue", "")
	t.Setenv("F", c.dir)
	t.Setenv("PATH", c.dir+":"+os.Getenv("PATH"))
	c.does = func(_, _ int, do func() error) string {
		if do() != nil {
			return "FAILED"
		}
		return "COMPLETED"
	}
	return c
}

func (c *cluster) put(name, text string) {
	c.t.Helper()
	if err := durable.Write(filepath.Join(c.dir, name), []byte(text)); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(c.dir, name), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// run plays the controller until the test's end.
func (c *cluster) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			c.step()
			time.Sleep(time.Millisecond)
		}
	}()
	c.t.Cleanup(func() { cancel(); <-done })
}

// step accepts new arrays, and carries out one task.
func (c *cluster) step() {
	if b, err := os.ReadFile(filepath.Join(c.dir, fmt.Sprintf("script.%d", c.seen+1))); err == nil {
		c.seen++
		c.accept(c.seen, string(b))
		c.publish()
		c.put(fmt.Sprintf("accepted.%d", c.seen), "")
	}
	changed := false
	for i := range c.tasks {
		t := &c.tasks[i]
		if t.state != "PENDING" {
			continue
		}
		if b, _ := os.ReadFile(filepath.Join(c.dir, "cancelled")); strings.Contains(string(b), strconv.Itoa(t.array)) {
			t.state, changed = "CANCELLED", true
			continue
		}
		if _, err := os.Stat(filepath.Join(c.dir, "asked")); c.hold.Load() && err != nil {
			continue
		}
		c.ran.Add(1)
		changed = true
		if c.shares != nil {
			jobs, err := jobfile.Jobs(t.file, t.task, t.stride, []*store.Decoder{walk.Decoder()})
			if err != nil {
				c.t.Error(err)
			}
			t.state = c.shares(jobs)
			break
		}
		t.state = c.does(t.array, t.task, func() error {
			return jobfile.Do(context.Background(), c.store, t.file, t.task, t.stride, []*store.Decoder{walk.Decoder()})
		})
		break
	}
	if changed {
		c.publish()
	}
}

func (c *cluster) accept(n int, script string) {
	t := fakeTask{array: n, state: "PENDING"}
	last := 0
	for l := range strings.Lines(script) {
		l = strings.TrimSpace(l)
		if v, ok := strings.CutPrefix(l, "#SBATCH --job-name="); ok {
			t.name = v
		}
		if v, ok := strings.CutPrefix(l, "#SBATCH --array=0-"); ok {
			v, _, _ = strings.Cut(v, "%")
			last, _ = strconv.Atoi(v)
		}
		if strings.HasPrefix(l, "exec ") {
			f := strings.Fields(l)
			t.file = strings.Trim(f[len(f)-4], "'")
			t.stride, _ = strconv.Atoi(f[len(f)-1])
		}
	}
	for i := range last + 1 {
		t.task = i
		c.tasks = append(c.tasks, t)
	}
}

func (c *cluster) publish() {
	var b strings.Builder
	fmt.Fprintln(&b,
		"7                   N/A                 RUNNING             0                   a job of another kind")
	for _, t := range c.tasks {
		exit, state := 0, t.state
		if state == failedByUsage {
			exit, state = 2<<8, "FAILED"
		}
		if state != "" {
			fmt.Fprintf(&b, "%-20d%-20d%-20s%-20d%-40s\n", t.array, t.task, state, exit, t.name)
		}
	}
	c.put("queue", b.String())
}

func (c *cluster) executor() Executor {
	return Executor{
		Command: []string{"/bin/worker"},
		Request: Request{Retries: 3},
		Poll:    10 * time.Millisecond,
		Log:     func(s string) { c.t.Log(s) },
	}
}

// outcome runs the executor and returns how many jobs landed, and the errors.
func outcome(t *testing.T, ctx context.Context, e Executor, s *store.Store,
	jobs []store.Job) (landed int, errs []error) {
	t.Helper()
	for j, err := range e.Run(ctx, s, jobs) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, err := j.Recall(s); err != nil {
			t.Errorf("yielded, and yet: %v", err)
		}
		landed++
	}
	return landed, errs
}

func (c *cluster) arrays() int {
	b, err := os.ReadFile(filepath.Join(c.dir, "n"))
	if err != nil {
		c.t.Fatal(err)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}
