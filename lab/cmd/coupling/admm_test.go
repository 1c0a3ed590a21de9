package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coupling/dp/admm"
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
		{"new", "--out", market, "--targets", "4", "--sources", "2", "--alpha", "30", "--rounds", "150", "--budget", "4500", "--delta", "0"},
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

// Nodes of a run are killed with SIGKILL in the middle of it; started again they go on, and the plan has the same bits.
func TestNodesAreKilled(t *testing.T) {
	market, here, command := admmSession(t)
	there := market + ".csv"
	run := command("run", market, "--spawn", "--out", there, "--patience", "200ms")
	var stderr bytes.Buffer
	run.Stderr = &stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, node := range []string{"target-0", "source-1", "source-0"} {
		killed += kill(t, market, node)
	}
	if err := run.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if killed == 0 || strings.Count(stderr.String(), "is started again") != killed {
		t.Errorf("%d were killed:\n%s", killed, stderr.String())
	}
	same(t, here, there)
}

// The coordinator is killed with SIGKILL, and its nodes with it; both go on where they were, with the same bits and within a budget that
// pays for one run. So does a whole run that is the same; one by other rules is refused.
func TestCoordinatorIsKilled(t *testing.T) {
	market, here, command := admmSession(t)
	there := market + ".csv"
	run := command("run", market, "--spawn", "--patience", "200ms", "--quiet")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	awaitRound(t, market, "target-1")
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed
	if out, err := command("run", market, "--spawn", "--resume", "--out", there, "--patience", "200ms").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	same(t, here, there)
	if out, err := command("run", market, "--spawn", "--out", there, "--patience", "200ms").CombinedOutput(); err != nil {
		t.Fatalf("the same run again: %v\n%s", err, out)
	}
	same(t, here, there)
	again := []string{"new", "--out", market, "--targets", "4", "--sources", "2", "--alpha", "30", "--rounds", "150", "--budget", "4500", "--delta", "0", "--eta", "2"}
	if out, err := command(again...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := command("run", market, "--spawn", "--patience", "200ms").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "after 150 releases it pays for 0") {
		t.Errorf("a run by other rules: %v\n%s", err, out)
	}
}

// Nodes that were started by themselves wait for a coordinator that was killed, and go on when it comes back; if it does not, they end.
func TestNodesWaitForTheCoordinator(t *testing.T) {
	market, _, command := admmSession(t)
	for _, back := range []bool{true, false} {
		run := command("run", market, "--patience", "200ms")
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		url := awaitFile(t, filepath.Join(market, "join", "ca.pem"), filepath.Join(market, "join", "token"), filepath.Join(market, "join", "url"))
		state := filepath.Join(market, "state")
		if err := os.RemoveAll(state); err != nil {
			t.Fatal(err)
		}
		var nodes []*exec.Cmd
		var says []*bytes.Buffer
		for _, node := range []string{"target-0", "target-1", "target-2", "target-3", "source-0", "source-1"} {
			wait := map[bool]string{true: "1m", false: "1s"}[back]
			cmd := command("node", filepath.Join(market, "nodes", node+".json"), "--join", url, "--token-file", filepath.Join(market, "join", "token"),
				"--ca", filepath.Join(market, "join", "ca.pem"), "--state", filepath.Join(state, node+".json"), "--ledger", filepath.Join(market, "ledger", node), "--patience", "200ms", "--wait", wait)
			text := new(bytes.Buffer)
			cmd.Stdout, cmd.Stderr = text, text
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			nodes, says = append(nodes, cmd), append(says, text)
		}
		awaitRound(t, market, "target-0")
		if err := run.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = run.Wait() // it was killed
		if back {
			if out, err := command("run", market, "--resume", "--patience", "200ms").CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}
		for i, cmd := range nodes {
			err := cmd.Wait()
			text := says[i].String()
			if back && (err != nil || !strings.Contains(text, "converged")) || !back && (err == nil || !strings.Contains(text, "the server is gone")) {
				t.Errorf("coordinator comes back: %v: %v\n%s", back, err, text)
			}
		}
		if err := os.Remove(filepath.Join(market, "join", "url")); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitFile waits for files and returns what is in the last.
func awaitFile(t *testing.T, paths ...string) string {
	t.Helper()
	var b []byte
	for _, path := range paths {
		var err error
		for range 2000 {
			if b, err = os.ReadFile(path); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(b)
}

// awaitRound waits until a node is a few rounds on.
func awaitRound(t *testing.T, market, node string) {
	t.Helper()
	for range 4000 {
		var s admm.State
		if b, err := os.ReadFile(filepath.Join(market, "state", node+".json")); err == nil && json.Unmarshal(b, &s) == nil && s.Round > 5 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s is not there", node)
}

// kill ends a node that is a few rounds on, and counts it.
func kill(t *testing.T, market, node string) int {
	t.Helper()
	state := filepath.Join(market, "state", node+".json")
	for range 2000 {
		var s admm.State
		if b, err := os.ReadFile(state); err == nil && json.Unmarshal(b, &s) == nil && s.Round > 5 {
			b, err := os.ReadFile(state + ".pid")
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil || pid < 2 {
				t.Fatalf("%q: %v", b, err)
			}
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				return 1
			}
			return 0 // it is done
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0
}
