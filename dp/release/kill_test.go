package release

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab/must"
)

const (
	killedEnv     = "RELEASE_KILLED_DIR" // the folder in which TestKilledProcess releases
	killedRelease = 2000                 // how many releases it would make
)

// drawn is the run of TestKilledProcess and what it releases at step k: more values than a chunk has.
func drawn(dir string) (r *Run, step func(k int, first float64) ([]float64, error)) {
	r = &Run{Key: SeededKey(11), Releases: killedRelease, Dir: dir, Records: func(io.Writer) error { return nil }}
	must.Do(r.Open())
	return r, func(k int, first float64) ([]float64, error) {
		values := make([]float64, 3*chunk)
		values[0] = first
		return r.Release("x", k, values, 1, 1)
	}
}

// TestKilledProcess is the process that TestKillAnywhere kills: it does nothing by itself.
func TestKilledProcess(t *testing.T) {
	dir := os.Getenv(killedEnv)
	if dir == "" {
		t.Skip("the child of TestKillAnywhere")
	}
	_, step := drawn(dir)
	for k := range killedRelease {
		v := must.Get(step(k, float64(k)))
		fmt.Printf("released %d %x %x\n", k, v[0], v[len(v)-1])
	}
}

// A process that is killed at any moment has listed every release that was seen of it. The next one
// repeats them to the last bit and refuses other values in their place.
func TestKillAnywhere(t *testing.T) {
	for _, after := range []int{1, 7, 40} {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
		cmd.Env = append(os.Environ(), killedEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "released ") {
				seen = append(seen, lines.Text())
			}
			if len(seen) == after {
				_ = cmd.Process.Kill() // SIGKILL, while it goes on; what it printed until then is read on
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("it ended before it was killed")
		}
		ledger, err := os.ReadFile(filepath.Join(dir, "ledger"))
		if listed := strings.Count(string(ledger), "\nstep "); err != nil || listed < len(seen) {
			t.Errorf("%d releases seen, %d listed: %v", len(seen), listed, err)
		}
		r, step := drawn(dir)
		for k, line := range seen {
			if _, err := step(k, -1); !errors.Is(err, ErrLedger) {
				t.Errorf("step %d releases other values: %v", k, err)
			}
			v, err := step(k, float64(k))
			if again := fmt.Sprintf("released %d %x %x", k, v[0], v[len(v)-1]); err != nil || again != line {
				t.Errorf("%s, and again %s: %v", line, again, err)
			}
		}
		must.Do(r.Close())
	}
}
