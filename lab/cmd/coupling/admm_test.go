package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coupling/dp/admm/files"
	"coupling/dp/admm/network"
	"coupling/lab/must"
)

// admmSession is a private problem in a folder, and the plan of a run in one process.
func admmSession(t *testing.T) (market, here string, command func(args ...string) *exec.Cmd) {
	t.Helper()
	dir := t.TempDir()
	market, here = filepath.Join(dir, "market"), filepath.Join(dir, "here.csv")
	command = func(args ...string) *exec.Cmd {
		cmd := exec.Command("coupling", append([]string{"admm"}, args...)...)
		cmd.Dir = dir
		return cmd
	}
	for _, args := range [][]string{
		{"new", "--out", market, "--targets", "4", "--sources", "2", "--alpha", "30", "--rounds", "150", "--budget",
			"4500", "--delta", "0"},
		{"solve", market, "--out", here},
	} {
		if out, err := command(args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return market, here, command
}

// same compares two plans.
func same(t *testing.T, here, there string) {
	t.Helper()
	a, errA := os.ReadFile(here)
	b, errB := os.ReadFile(there)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("%v, %v: plans differ\n%s\n%s", errA, errB, a, b)
	}
}

// nodes are processes of their own, which are started again with the same command after they were killed.
type nodes struct {
	market  string
	command func(args ...string) *exec.Cmd
	running map[string]*exec.Cmd
	says    map[string]*bytes.Buffer
}

var names = []string{"target-0", "target-1", "target-2", "target-3", "source-0", "source-1"}

func (n *nodes) start(t *testing.T, name, wait string) {
	in := func(folder string) string { return filepath.Join(n.market, folder, name+".json") }
	cmd := n.command("node", in("nodes"), "--join", filepath.Join(n.market, "join.json"), "--ledger", in("ledger"),
		"--out", in("amounts"), "--wait", wait)
	n.says[name] = new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = n.says[name], n.says[name]
	must.Do(cmd.Start())
	n.running[name] = cmd
}

// begin starts a coordinator and its nodes.
func begin(t *testing.T, wait string) (run *exec.Cmd, n *nodes, here string) {
	t.Helper()
	market, here, command := admmSession(t)
	n = &nodes{market, command, map[string]*exec.Cmd{}, map[string]*bytes.Buffer{}}
	run = command("run", market)
	must.Do(run.Start())
	await(t, "join.json", func() bool { _, err := os.Stat(filepath.Join(market, "join.json")); return err == nil })
	for _, name := range names {
		n.start(t, name, wait)
	}
	return run, n, here
}

// plan puts together what the nodes wrote.
func (n *nodes) plan(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString("target,source,amount\n")
	for i := range 4 {
		var part network.Amounts
		must.Do(files.LoadJSON(filepath.Join(n.market, "amounts", names[i]+".json"), &part))
		for k, v := range part.Plan {
			fmt.Fprintf(&b, "%d,%d,%s\n", i, k, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return b.Bytes()
}

// Nodes are killed with SIGKILL in the middle of a run. Started again they go on, and the plan has the same bits.
func TestNodesAreKilled(t *testing.T) {
	run, n, here := begin(t, "5m")
	awaitRound(t, n.market)
	killed := []string{"target-0", "source-1", "source-0"}
	for _, name := range killed { // without the first no round ends
		must.Do(n.running[name].Process.Kill())
		_ = n.running[name].Wait() // it was killed
	}
	for _, name := range killed {
		n.start(t, name, "5m")
	}
	for name, cmd := range n.running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, n.says[name])
		}
	}
	must.Do(run.Wait())
	want, err := os.ReadFile(here)
	if got := n.plan(t); err != nil || !bytes.Equal(want, got) {
		t.Errorf("%v: plans differ\n%s\n%s", err, want, got)
	}
}

// A spawned node that was killed ends the run with the command that goes on; so does that command.
func TestSpawnedNodeIsKilled(t *testing.T) {
	long(t)
	market, here, command := admmSession(t)
	run := command("run", market, "--spawn", "--quiet")
	var stderr bytes.Buffer
	run.Stderr = &stderr
	must.Do(run.Start())
	awaitRound(t, market)
	child, err := exec.Command("pgrep", "-P", strconv.Itoa(run.Process.Pid), "-f", "target-2.json").Output()
	pid, notPID := strconv.Atoi(strings.TrimSpace(string(child)))
	if err != nil || notPID != nil {
		t.Skipf("pgrep: %v, %q", err, child)
	}
	must.Do(syscall.Kill(pid, syscall.SIGKILL))
	if err := run.Wait(); err == nil || !strings.Contains(stderr.String(), "target 2 was killed") ||
		!strings.Contains(stderr.String(), "--spawn --resume goes on") {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	there := market + ".csv"
	if out, err := command("run", market, "--spawn", "--resume", "--out", there).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	same(t, here, there)
}

// The coordinator is killed with SIGKILL, and its nodes with it; both go on where they were, with
// the same bits and within a budget that pays for one run. So does a whole run that is the same;
// one by other rules is refused.
func TestCoordinatorIsKilled(t *testing.T) {
	long(t)
	market, here, command := admmSession(t)
	there := market + ".csv"
	run := command("run", market, "--spawn", "--quiet")
	must.Do(run.Start())
	awaitRound(t, market)
	must.Do(run.Process.Kill())
	_ = run.Wait() // it was killed
	if out, err := command("run", market, "--spawn", "--resume", "--out", there).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	same(t, here, there)
	if out, err := command("run", market, "--spawn", "--out", there).CombinedOutput(); err != nil {
		t.Fatalf("the same run again: %v\n%s", err, out)
	}
	same(t, here, there)
	again := []string{"new", "--out", market, "--targets", "4", "--sources", "2", "--alpha", "30", "--rounds", "150",
		"--budget", "4500", "--delta", "0", "--eta", "2"}
	if out, err := command(again...).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "it has a problem already") {
		t.Errorf("a problem in place of another: %v\n%s", err, out)
	}
	if err := os.Remove(filepath.Join(market, "network.json")); err != nil { // keys and ledgers stay
		t.Fatal(err)
	}
	if out, err := command(again...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := command("run", market, "--spawn").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "after 150 releases it pays for 0") {
		t.Errorf("a run by other rules: %v\n%s", err, out)
	}
}

// Nodes wait for a coordinator that was killed, and go on when it comes back; if it does not, they end.
func TestNodesWaitForTheCoordinator(t *testing.T) {
	long(t)
	for _, back := range []bool{true, false} {
		run, n, _ := begin(t, map[bool]string{true: "5m", false: "1s"}[back])
		awaitRound(t, n.market)
		must.Do(run.Process.Kill())
		_ = run.Wait() // it was killed
		if back {
			if out, err := n.command("run", n.market, "--resume").CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}
		for name, cmd := range n.running {
			err := cmd.Wait()
			text := n.says[name].String()
			if back && (err != nil || !strings.Contains(text, "converged")) ||
				!back && (err == nil || !strings.Contains(text, "the server is gone")) {
				t.Errorf("coordinator comes back: %v: %v\n%s", back, err, text)
			}
		}
	}
}

func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("TestNodesAreKilled is the one of its kind in short mode")
	}
}

// await waits for a condition, up to five minutes on a busy machine.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 60_000 {
		if done() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s: not within five minutes", what)
}

// awaitRound waits until a run is a few rounds on.
func awaitRound(t *testing.T, market string) {
	t.Helper()
	await(t, "round 5", func() bool {
		var c network.Checkpoint
		return files.LoadJSON(filepath.Join(market, "coordinator.json"), &c) == nil && c.State.Round > 5
	})
}
