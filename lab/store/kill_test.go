package store_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/store"

	"github.com/rogpeppe/go-internal/testscript"
)

// The script in testdata/script/kill.txtar runs the test binary itself as the
// program "sweep", and kills it.

// runAsCommand returns what to do instead of testing when this process was
// started as a command by killed sweeps.
func runAsCommand() func() {
	if os.Getenv("LAB_TEST_SWEEP") == "" {
		return nil
	}
	return sweepCommand
}

const killCells = 24

// sweepCommand is `sweep STORE JOURNAL`: cells of some milliseconds, each of
// which writes an artifact, resumes from scratch, and notes in the journal that
// it was begun.
func sweepCommand() {
	dir, journal := os.Args[1], os.Args[2]
	s, err := lab.OpenStore(dir)
	if err != nil {
		fatal(err)
	}
	e := killExperiment(func(c *lab.Cell) {
		f, err := os.OpenFile(journal, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			fatal(err)
		}
		fmt.Fprintln(f, c.Key)
		f.Close()
	})
	for r, err := range lab.Sweep(context.Background(), s, e, 3, 5, killGrid()) {
		if err != nil {
			fatal(err)
		}
		fmt.Println(r.Key)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func killGrid() []point {
	ns := make([]int, killCells)
	for i := range ns {
		ns[i] = i
	}
	return lab.Grid(point{}, lab.Vary(func(p *point, v int) { p.N = v }, ns...))
}

func killExperiment(begun func(*lab.Cell)) lab.Experiment[point, stats] {
	return lab.Experiment[point, stats]{Name: "test/kill", Version: 1,
		Run: func(_ context.Context, c *lab.Cell, p point) (stats, error) {
			begun(c)
			dir, err := c.Scratch()
			if err != nil {
				return stats{}, err
			}
			sum, rnd := 0.0, c.Rand("x")
			for i := range 5 { // checkpoint after each step; a resume skips the waiting only
				sum += rnd.Float64()
				mark := filepath.Join(dir, strconv.Itoa(i))
				if _, err := os.Stat(mark); err != nil {
					time.Sleep(5 * time.Millisecond)
					if err := os.WriteFile(mark, nil, 0o666); err != nil {
						return stats{}, err
					}
				}
			}
			path, err := c.Artifact("sum.txt")
			if err != nil {
				return stats{}, err
			}
			return stats{Mean: sum + float64(p.N)}, os.WriteFile(path, []byte(fmt.Sprint(sum)), 0o666)
		}}
}

func TestKilledSweeps(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"killsweep": killSweep,
			"samecells": sameCells,
			"sweep":     wholeSweep,
			"together":  together,
		},
	})
}

func sweepProcess(ts *testscript.TestScript, args []string) *exec.Cmd {
	exe, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(exe, ts.MkAbs(args[0]), ts.MkAbs(args[1]))
	cmd.Env = append(os.Environ(), "LAB_TEST_SWEEP=1")
	cmd.Stderr = ts.Stderr()
	return cmd
}

// sweep STORE JOURNAL runs the sweep to its end.
func wholeSweep(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(sweepProcess(ts, args).Run())
}

// killsweep TIMES STORE JOURNAL starts the sweep and kills it with SIGKILL at a
// random moment, TIMES times, and fails if a cell that was stored before a start
// was begun again after it.
func killSweep(ts *testscript.TestScript, _ bool, args []string) {
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	for range times {
		stored := storedKeys(ts, args[1])
		before := len(lines(ts, args[2]))
		cmd := sweepProcess(ts, args[1:])
		ts.Check(cmd.Start())
		time.Sleep(time.Duration(10+rand.IntN(120)) * time.Millisecond)
		_ = cmd.Process.Kill() // it may have finished
		_ = cmd.Wait()
		for _, key := range lines(ts, args[2])[before:] {
			if stored[key] {
				ts.Fatalf("cell %s was stored, and yet computed again", key)
			}
		}
		ts.Logf("%d cells stored", len(stored))
	}
}

// together N STORE JOURNAL runs N processes of the sweep at once, and fails
// unless every cell was begun exactly once by all of them.
func together(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var cmds []*exec.Cmd
	for range n {
		cmd := sweepProcess(ts, args[1:])
		ts.Check(cmd.Start())
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		ts.Check(cmd.Wait())
	}
	begun := map[string]int{}
	for _, key := range lines(ts, args[2]) {
		if begun[key]++; begun[key] > 1 {
			ts.Fatalf("cell %s was begun twice", key)
		}
	}
	if len(begun) != killCells {
		ts.Fatalf("%d cells begun, want %d", len(begun), killCells)
	}
}

// samecells A B fails unless both stores hold the same finished sweep.
func sameCells(ts *testscript.TestScript, _ bool, args []string) {
	e := killExperiment(nil)
	a, err := lab.RecallAll(&store.Store{Dir: ts.MkAbs(args[0])}, e, 5, killGrid())
	ts.Check(err)
	b, err := lab.RecallAll(&store.Store{Dir: ts.MkAbs(args[1])}, e, 5, killGrid())
	ts.Check(err)
	for i := range a {
		if a[i].Value.Mean != b[i].Value.Mean || a[i].Artifacts[0] != b[i].Artifacts[0] {
			ts.Fatalf("cell %d: %v %v and %v %v", i, a[i].Value, a[i].Artifacts, b[i].Value, b[i].Artifacts)
		}
	}
}

func storedKeys(ts *testscript.TestScript, dir string) map[string]bool {
	s, err := lab.OpenStore(ts.MkAbs(dir))
	ts.Check(err)
	keys := map[string]bool{}
	for r, err := range s.Records("") {
		ts.Check(err) // a torn record would be an error
		keys[string(r.Key)] = true
	}
	return keys
}

func lines(ts *testscript.TestScript, file string) []string {
	f, err := os.Open(ts.MkAbs(file))
	if os.IsNotExist(err) {
		return nil
	}
	ts.Check(err)
	defer f.Close()
	var out []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		out = append(out, strings.TrimSpace(sc.Text()))
	}
	return out
}
