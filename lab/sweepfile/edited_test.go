package sweepfile

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"
)

// What is edited is computed, what is undone is recalled, whatever built the program and wherever
// it runs: a Go file that is swept, a program of go run, and a notebook's cell, which is built where
// $GONB_TMP_DIR says. Of a program of go build, wherever it runs, a comment makes another.
func TestEditedCodeIsComputedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program for each edit")
	}
	text := must.Get(os.ReadFile(filepath.Join("testdata", "cubes.go")))
	dir := filepath.Join("testdata", "edited") // inside the module
	must.Do(os.MkdirAll(dir, 0o777))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	dir, _ = filepath.Abs(dir)
	file := filepath.Join(dir, "main.go")
	for _, way := range []struct {
		name    string
		run     func(t *testing.T, s *store.Store)
		results [4]int // of a cell, after each edit
	}{
		{"swept", sweptFile(file), [4]int{1, 1, 2, 2}},
		{"run", runFile(file), [4]int{1, 1, 2, 2}},
		{"built", builtFile(file, false, dir, t.TempDir()), [4]int{1, 2, 3, 3}},
		{"built, elsewhere", builtFile(file, false, t.TempDir(), t.TempDir()), [4]int{1, 2, 3, 3}},
		{"trimmed", builtFile(file, true, dir, t.TempDir()), [4]int{1, 2, 3, 3}},
		{"cell", builtFile(file, true, t.TempDir(), dir, "GONB_TMP_DIR="+dir), [4]int{1, 1, 2, 2}},
	} {
		t.Run(way.name, func(t *testing.T) {
			s := must.Get(lab.OpenStore(t.TempDir()))
			for i, edit := range [][2]string{
				{},
				{"return result{p.N * p.N", "// a comment\n\treturn   result{p.N * p.N"},
				{"return result{p.N * p.N * p.N}", "return result{cube(p.N)}"},
				{},
			} {
				now := strings.Replace(string(text), edit[0], edit[1], 1) +
					"\nfunc cube(n int) int { return n*n*n + 1 }\n"
				must.Do(os.WriteFile(file, []byte(now), 0o666))
				way.run(t, s)
				var values []string
				for r, err := range s.Records("") {
					if err != nil {
						t.Fatal(err)
					}
					if string(r.Params) == `{"n":4}` {
						values = append(values, string(r.Value))
					}
				}
				if len(values) != way.results[i] || slices.Contains(values, `{"cube":65}`) != (i >= 2) {
					t.Errorf("after edit %d the store has %q, want %d results", i, values, way.results[i])
				}
			}
		})
	}
}

func sweptFile(file string) func(*testing.T, *store.Store) {
	return func(t *testing.T, s *store.Store) {
		p := must.Get(Build(context.Background(), file, filepath.Join(s.Dir, "bin")))
		for range (store.Local{}).Run(t.Context(), s, s.Missing(p.Jobs)) { // the cell 3 fails
		}
	}
}

func runFile(file string) func(*testing.T, *store.Store) {
	return func(_ *testing.T, s *store.Store) {
		run := exec.Command("go", "run", filepath.Base(file))
		run.Dir, run.Env = filepath.Dir(file), append(os.Environ(), "COUPLING_STORE="+s.Dir)
		_ = run.Run() // the cell 3 fails
	}
}

func builtFile(file string, trim bool, at, to string, env ...string) func(*testing.T, *store.Store) {
	return func(t *testing.T, s *store.Store) {
		program := filepath.Join(to, "program")
		build := exec.Command("go", "build", fmt.Sprintf("-trimpath=%v", trim), "-o", program, file)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		run := exec.Command(program)
		run.Dir, run.Env = at, append(append(os.Environ(), "COUPLING_STORE="+s.Dir), env...)
		_ = run.Run() // the cell 3 fails
	}
}

// Two commands that sweep a file share its cells, and each says what it computed itself.
func TestSweepsOfAFileShareIt(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program; that processes share cells is tested in package lab")
	}
	s := must.Get(lab.OpenStore(t.TempDir()))
	p := cubes()
	var stored, recalled, failed atomic.Int64
	ctx := store.WithSink(t.Context(), func(e store.Event) {
		switch e.Kind {
		case store.Stored:
			stored.Add(1)
		case store.Recalled:
			recalled.Add(1)
		}
	})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for _, err := range (store.Local{Workers: 1}).Run(ctx, s, p.Jobs) {
				if err != nil {
					failed.Add(1) // the cell 3
				}
			}
		})
	}
	wg.Wait()
	if stored.Load() != 4 || recalled.Load() != 4 || failed.Load() != 2 {
		t.Errorf("%d computed, %d recalled, %d failed; want 4, 4 and 2", stored.Load(), recalled.Load(), failed.Load())
	}
}

// A program that does not heed its end is killed, what it prints is not held, and its last words are the error.
func TestStubbornProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	for script, want := range map[string]string{
		"trap '' TERM; for i in 1 2 3 4 5 6 7 8; do sleep 1; done; : >$0.lived": context.DeadlineExceeded.Error(),
		"exit 3": "exit status 3: it printed no error",
		"head -c 300000 /dev/zero | tr '\\0' x >&2; echo out of it >&2; exit 3": "exit status 3: ",
	} {
		must.Do(os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o777))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if strings.HasPrefix(want, "exit") {
			ctx = t.Context()
		}
		_, err := (&Program{Path: file}).try(store.Record{}, "")(ctx, &store.Store{Dir: t.TempDir()})
		cancel()
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(err.Error()) > tailSize+100 {
			t.Errorf("%.100v, want %s", err, want)
		} else if strings.HasPrefix(script, "head") && !strings.HasSuffix(err.Error(), "out of it") {
			t.Errorf("not its last words: %s", err.Error()[len(err.Error())-30:])
		}
	}
	if _, err := os.Stat(file + ".lived"); err == nil {
		t.Error("it lived for eight seconds after the second Ctrl-C")
	}
}
