package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coupling/figures"
	"coupling/lab/must"
	"coupling/lab/store"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"coupling": main, "coupling-naps": func() {
		decoders = func() []*store.Decoder { return append(figures.Decoders(), napping.Decoder()) }
		main()
	}})
}

// The scripts use the command as a person would.
func TestScripts(t *testing.T) { scripts(t, "script") }

// A project of one's own is written, built, tested, swept, drawn and opened, from an empty home without a network.
func TestNewProject(t *testing.T) {
	if testing.Short() {
		t.Skip("builds another module and the notebook kernel")
	}
	// The script has no network: the modules of the kernel must be here before.
	if out, err := exec.Command("go", "list", "-deps", "tool").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	scripts(t, "long")
}

func scripts(t *testing.T, dir string) {
	root := must.Get(checkout("."))
	caches := must.Get(exec.Command("go", "env", "GOMODCACHE", "GOCACHE").Output())
	modules, builds, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", dir),
		Setup: func(e *testscript.Env) error {
			e.Setenv("COUPLING_DATA", "sample")
			e.Setenv("COUPLING_STORE", filepath.Join(e.WorkDir, "store"))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("ROOT", root)
			e.Setenv("GOMODCACHE", modules)
			e.Setenv("GOCACHE", builds)
			e.Setenv("GOPROXY", "off")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"firstof":  firstOf,
			"ctrlc":    ctrlC,
			"truncate": truncate,
			"flip":     flip,
		},
	})
}

// exits CODE COMMAND… runs a command and demands its exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit %s, want %s", got, args[0])
	}
}

// firstof FILE NAME sets NAME to the first word of each line of FILE: NAME1, NAME2, …
func firstOf(ts *testscript.TestScript, _ bool, args []string) {
	for i, line := range strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n") {
		ts.Setenv(args[1]+string(rune('1'+i)), strings.Fields(line)[0])
	}
}

// truncate STORE EXPERIMENT cuts the records of an experiment short.
func truncate(ts *testscript.TestScript, _ bool, args []string) {
	records, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "cells", filepath.FromSlash(args[1]), "*", "*.json"))
	ts.Check(err)
	if len(records) == 0 {
		ts.Fatalf("no records of %s", args[1])
	}
	for _, r := range records {
		ts.Check(os.Truncate(r, 100))
	}
}

// flip STORE EXPERIMENT changes a byte of one artifact of each cell.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "cells", filepath.FromSlash(args[1]), "*", "*.files.*",
		"plan.npy"))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no artifacts of %s", args[1])
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		ts.Check(err)
		b[len(b)-1] ^= 1
		ts.Check(os.WriteFile(file, b, 0o666))
	}
}

// ctrlc MARKS COMMAND… interrupts a command once for each mark of MARKS, the first time when a cell
// runs and the second when it has said that it finishes them, and demands that it exits with 130.
func ctrlC(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command("coupling", args[2:]...)
	cmd.Dir = ts.Getenv("WORK")
	store := ts.Getenv("COUPLING_STORE")
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"),
		"COUPLING_DATA=" + ts.Getenv("COUPLING_DATA"), "COUPLING_STORE=" + store}
	heard := ts.MkAbs("ctrlc.stderr")
	stderr, err := os.Create(heard)
	ts.Check(err)
	defer stderr.Close()
	cmd.Stderr = stderr
	if cmd.Path, err = exec.LookPath("coupling"); err != nil {
		ts.Fatalf("%v", err)
	}
	cmd.Err = nil
	ts.Check(cmd.Start())
	for i := range args[0] {
		reached := func() bool {
			if i == 0 {
				locks, _ := filepath.Glob(filepath.Join(store, "cells", "*", "*", "*", "*.lock"))
				return len(locks) > 0
			}
			return strings.Contains(ts.ReadFile(heard), "Ctrl-C again stops them")
		}
		for tries := 0; !reached(); tries++ {
			if tries == 30_000 {
				_ = cmd.Process.Kill()
				ts.Fatalf("not ready for interrupt %d after five minutes:\n%s", i+1, ts.ReadFile(heard))
			}
			time.Sleep(10 * time.Millisecond)
		}
		ts.Check(cmd.Process.Signal(syscall.SIGINT))
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		ts.Fatalf("exit %d, want %d\n%s", code, exitInterrupted, ts.ReadFile(heard))
	}
	if !strings.Contains(ts.ReadFile(heard), "Ctrl-C again") {
		ts.Fatalf("stderr does not say what a second Ctrl-C does:\n%s", ts.ReadFile(heard))
	}
}
