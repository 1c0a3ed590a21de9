package sweepfile

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"coupling/lab"
)

// What is edited is computed again: a Go file that is swept, a program that is run, and a notebook's cell, which is
// a program whose source lies where $GONB_TMP_DIR says.
func TestEditedCodeIsComputedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program for each edit")
	}
	text, err := os.ReadFile(filepath.Join("testdata", "cubes.go"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("testdata", "edited") // inside the module
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	dir, _ = filepath.Abs(dir)
	file := filepath.Join(dir, "main.go")
	for _, way := range []struct {
		name string
		run  func(t *testing.T, s *lab.Store)
	}{
		{"swept", sweptFile(file)}, {"run", builtFile(file, "")}, {"cell", builtFile(file, dir)},
	} {
		t.Run(way.name, func(t *testing.T) {
			if testing.Short() && way.name != "swept" {
				t.Skip("three builds each")
			}
			s, err := lab.OpenStore(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, edit := range []struct{ old, with, want string }{
				{"", "", `{"cube":64}`},
				{"return result{p.N * p.N", "// a comment\n\treturn   result{p.N * p.N", `{"cube":64}`},
				{"return result{p.N * p.N * p.N}", "return result{cube(p.N)}", `{"cube":65}`},
			} {
				now := strings.Replace(string(text), edit.old, edit.with, 1) + "\nfunc cube(n int) int { return n*n*n + 1 }\n"
				if err := os.WriteFile(file, []byte(now), 0o666); err != nil {
					t.Fatal(err)
				}
				before := computedCells(t, s)
				way.run(t, s)
				after := computedCells(t, s)
				if got := after[`{"n":4}`]; got.value != edit.want || got.code == "" {
					t.Errorf("after %q the store says %+v, want %s", edit.with, got, edit.want)
				}
				if strings.Contains(edit.with, "comment") && before[`{"n":4}`] != after[`{"n":4}`] {
					t.Error("a comment had the cell computed again")
				}
			}
		})
	}
}

type computedCell struct{ value, code, start string }

func computedCells(t *testing.T, s *lab.Store) map[string]computedCell {
	t.Helper()
	out := map[string]computedCell{}
	for r, err := range s.Records("") {
		if err != nil {
			t.Fatal(err)
		}
		out[string(r.Params)] = computedCell{string(r.Value), r.Code, r.Manifest.Start.String()}
	}
	return out
}

func sweptFile(file string) func(*testing.T, *lab.Store) {
	return func(t *testing.T, s *lab.Store) {
		p, err := Build(context.Background(), file, filepath.Join(s.Dir, "bin"))
		if err != nil {
			t.Fatal(err)
		}
		for range (lab.Local{}).Run(t.Context(), s, s.Missing(p.Jobs)) { // the cell 3 fails
		}
	}
}

func builtFile(file, cell string) func(*testing.T, *lab.Store) {
	return func(t *testing.T, s *lab.Store) {
		program := filepath.Join(t.TempDir(), "program")
		build := exec.Command("go", "build", "-trimpath="+map[bool]string{true: "true", false: "false"}[cell != ""], "-o", program, file)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		run := exec.Command(program)
		run.Env = append(os.Environ(), "COUPLING_STORE="+s.Dir, "GONB_TMP_DIR="+cell)
		_ = run.Run() // the cell 3 fails
	}
}

// Two commands that sweep a file share its cells, and each says what it computed itself.
func TestSweepsOfAFileShareIt(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program; that processes share cells is tested in package lab")
	}
	s, err := lab.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := cubes(t)
	var stored, recalled, failed atomic.Int64
	ctx := lab.WithSink(t.Context(), func(e lab.Event) {
		switch e.Kind {
		case lab.Stored:
			stored.Add(1)
		case lab.Recalled:
			recalled.Add(1)
		}
	})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for _, err := range (lab.Local{Workers: 1}).Run(ctx, s, p.Jobs) {
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
