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

// Nodes of a run are killed with SIGKILL in the middle of it; started again they go on, and the plan has the same bits.
func TestNodesAreKilled(t *testing.T) {
	dir := t.TempDir()
	market, here, there := filepath.Join(dir, "market"), filepath.Join(dir, "here.csv"), filepath.Join(dir, "there.csv")
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command("coupling", append([]string{"admm"}, args...)...)
		cmd.Dir = dir
		return cmd
	}
	for _, args := range [][]string{
		{"new", "--out", market, "--targets", "4", "--sources", "2", "--alpha", "30", "--rounds", "150"},
		{"solve", market, "--out", here},
	} {
		if out, err := command(args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	run := command("run", market, "--spawn", "--out", there, "--patience", "200ms")
	var stderr, stdout bytes.Buffer
	run.Stderr, run.Stdout = &stderr, &stdout
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
	a, errA := os.ReadFile(here)
	b, errB := os.ReadFile(there)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("%v, %v: plans differ\n%s\n%s\n%s", errA, errB, a, b, stdout.String())
	}
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
