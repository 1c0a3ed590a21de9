package sgd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"coupling/dp/release"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"
)

// killedEnv names the folder in which TestKilledProcess trains and kills itself.
const killedEnv = "DPSGD_KILLED_DIR"

// TestKilledProcess is the process that TestKillAndResume kills: it does nothing by itself.
func TestKilledProcess(t *testing.T) {
	dir := os.Getenv(killedEnv)
	if dir == "" {
		t.Skip("the child of TestKillAndResume")
	}
	tr := training(dir)
	at, _ := strconv.Atoi(os.Getenv(killedEnv + "_AT"))
	tr.Trace = func(done int) error {
		fmt.Printf("after %d %x\n", done, weights(tr.Net))
		if done == at {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	}
	must.Do(tr.Run(t.Context(), nntest.CPU(t), release.SeededKey(1)))
	fmt.Printf("after end %x\n", weights(tr.Net))
}

// A run that is killed, without warning, after releases that no checkpoint holds, goes on with the
// same weights to the last bit, and its ledger has every step once.
func TestKillAndResume(t *testing.T) {
	dir := t.TempDir()
	seen, first := map[string]string{}, []string{}
	for i, at := range []int{5, 5, -1} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
		cmd.Env = append(os.Environ(), killedEnv+"="+dir, killedEnv+"_AT="+strconv.Itoa(at))
		out, err := cmd.Output()
		if (err == nil) != (at < 0) {
			t.Fatalf("run %d: %v\n%s", i, err, out)
		}
		began := ""
		for line := range strings.Lines(string(out)) {
			what, of, _ := strings.Cut(line, " ")
			if what != "after" {
				continue
			}
			step, value, _ := strings.Cut(of, " ")
			if began == "" {
				began = step
			}
			if old, ok := seen[step]; ok && old != value {
				t.Errorf("run %d: other weights after step %s", i, step)
			}
			seen[step] = value
		}
		first = append(first, began)
	}
	if !slices.Equal(first, []string{"1", "4", "4"}) || len(seen) != 8 {
		t.Errorf("runs began after steps %v, %d states were seen", first, len(seen))
	}
	tr := training("")
	must.Do(tr.Run(t.Context(), nntest.CPU(t), release.SeededKey(1)))
	if got := fmt.Sprintf("%x\n", weights(tr.Net)); got != seen["end"] {
		t.Error("killed and resumed, it ends in other weights than a run that never was")
	}
	ledger, err := os.ReadFile(filepath.Join(dir, "ledger"))
	if err != nil || strings.Count(string(ledger), "step ") != 7 {
		t.Errorf("ledger %q, %v", ledger, err)
	}
}

// Other records, settings or keys are refused in the folder of a run, and so is a step that would
// release something else than before, and a ledger that forgot.
func TestOtherRunsAreRefused(t *testing.T) {
	dir := t.TempDir()
	run := func(key uint64, change func(*Training)) error {
		tr := training(dir)
		tr.Every = 100 // the checkpoint is written at the end only
		if change != nil {
			change(&tr)
		}
		return tr.Run(t.Context(), nntest.CPU(t), release.SeededKey(key))
	}
	must.Do(run(1, nil))
	for name, change := range map[string]func(*Training){
		"pixel":      func(tr *Training) { tr.Objective.(Classification).X.(pixels).Images.Pixels()[7] += .1 },
		"label":      func(tr *Training) { tr.Objective.(Classification).Labels[7] = 0 },
		"less noise": func(tr *Training) { tr.NoiseMultiplier = .1 },
		"rate":       func(tr *Training) { tr.Rate = .3 },
		"batch":      func(tr *Training) { tr.Batch = 9 },
		"clip":       func(tr *Training) { tr.Clip = 1 },
		"average":    func(tr *Training) { tr.Average = .5 },
		"optimiser":  func(tr *Training) { tr.Optimiser = train.SGD{Rate: 1} },
	} {
		if err := run(1, change); !errors.Is(err, release.ErrLedger) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if err := run(2, nil); !errors.Is(err, release.ErrLedger) {
		t.Errorf("another key: %v", err)
	}
	if err := run(1, nil); err != nil {
		t.Errorf("the same run once more: %v", err)
	}
	ledger, checkpoint := filepath.Join(dir, "ledger"), filepath.Join(dir, "checkpoint")
	whole := must.Get(os.ReadFile(ledger))
	must.Do(os.WriteFile(ledger, whole[:strings.Index(string(whole), "step 6 ")], 0o666))
	if err := run(1, nil); !errors.Is(err, release.ErrLedger) {
		t.Errorf("a ledger that forgot a step: %v", err)
	}
	must.Do(errors.Join(os.WriteFile(ledger, whole, 0o666), os.Remove(checkpoint)))
	if err := run(1, func(tr *Training) { tr.Schedule = train.Staircase(1, .5) }); !errors.Is(err, release.ErrLedger) {
		t.Errorf("steps played again with another schedule: %v", err)
	}
}

// How many workers a device has is no matter of which run it is: they change no bit.
func TestWorkersAreNotTheRun(t *testing.T) {
	dir := t.TempDir()
	for _, workers := range []int{1, 2} {
		dev := must.Get(device.CPU{Workers: workers}.Open())
		tr := training(dir)
		tr.Steps = 3 * workers
		if err := tr.Run(t.Context(), dev, release.SeededKey(1)); err != nil {
			t.Errorf("%d workers: %v", workers, err)
		}
		nn.Free(tr.Net.Params())
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}
}
