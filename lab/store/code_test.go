package store_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/device/cpu"
	"coupling/lab/internal/code"
	"coupling/lab/must"
	"coupling/lab/store"
)

// pretend makes this a program whose experiments have a digest, or none if it is empty.
func pretend(t *testing.T, digest string) { t.Cleanup(store.Pretend(digest)) }

func noCode(store.Record) bool { return false }

const codeA, codeB = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"

// Each code has its own result. Other code's is recalled with a word, or not at all if the same is
// asked for; going back to earlier code computes nothing. A program that does not know its code is
// other code, and the same as itself.
func TestOtherCodeIsNeverRecalledSilently(t *testing.T) {
	var runs atomic.Int64
	e := lab.Experiment[point, point]{Name: "test/code", Run: func(context.Context, *lab.Cell, point) (point, error) {
		return point{N: int(runs.Add(1))}, nil
	}}
	s := testStore(t)
	for i, step := range []struct {
		code, inputs    string
		same            bool
		value           int
		recalled, other bool
	}{
		{code: codeA, value: 1},
		{code: codeA, value: 1, recalled: true},
		{code: codeB, value: 1, recalled: true, other: true},
		{code: "", value: 1, recalled: true, other: true},
		{code: codeB, same: true, value: 2},
		{code: codeA, same: true, value: 1, recalled: true},
		{code: codeB, same: true, value: 2, recalled: true},
		{code: "", same: true, value: 3},
		{code: "", same: true, value: 3, recalled: true},
		{code: codeA, inputs: "sum of a file", same: true, value: 4},
		{code: codeA, inputs: "sum of a file", value: 4, recalled: true},
		{code: codeA, value: 1, recalled: true},
	} {
		pretend(t, step.code)
		e.Inputs, s.SameCode = step.inputs, step.same
		var told bool
		ctx := store.WithSink(t.Context(), func(e store.Event) { told = told || e.OtherCode })
		n := s.Survey(slices.Values(e.Jobs(0, point{})), func(store.Job) {})
		_, missed := lab.Recall(s, e, 0, point{})
		r, err := lab.Do(ctx, s, e, 0, point{})
		if err != nil || r.Value.N != step.value || r.Recalled != step.recalled || r.OtherCode != step.other ||
			told != step.other {
			t.Errorf("step %d: %+v, told %v, %v", i, r, told, err)
		}
		if (n.Missing == 0) != step.recalled || (n.OtherCode == 1) != step.other ||
			errors.Is(missed, store.ErrOtherCode) != (!step.recalled && i > 0) {
			t.Errorf("step %d: %d missing, %d of other code, %v", i, n.Missing, n.OtherCode, missed)
		}
	}
	if found, err := s.FindAll(string(lab.Must(e.Key(0, point{})))); err != nil || len(found) != 4 {
		t.Errorf("%d results of the cell, %v", len(found), err)
	}
	e.Inputs = ""
	for _, step := range []struct {
		old  time.Duration
		left string
	}{{time.Hour, "1234"}, {0, "14"}} { // the newest, and this program's
		if _, err := s.GC(nil, func(r store.Record) bool { return r.Code == codeA }, 0, step.old, false); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, r := range lab.Must(s.FindAll(string(lab.Must(e.Key(0, point{}))))) {
			left = append(left, string(r.Value[len(`{"n":`)]))
		}
		slices.Sort(left)
		if strings.Join(left, "") != step.left {
			t.Errorf("after gc of what is older than %v: %s, want %s", step.old, left, step.left)
		}
	}
}

// A store of an older version, which called files after the key alone, is read, and nothing in it
// is overwritten.
func TestOlderStores(t *testing.T) {
	var runs atomic.Int64
	s, e := testStore(t), sampler(&runs)
	s.SameCode = true
	pretend(t, codeA)
	lab.Must(lab.Do(t.Context(), s, e, 1, point{1, 2}))
	p := s.Paths(e.Jobs(1, point{1, 2})[0].Record())
	old := strings.TrimSuffix(p.Base, "."+codeA)
	lab.Check(os.Rename(p.Record, old+".json"))
	for _, dir := range lab.Must(filepath.Glob(p.Base + ".files." + "*")) {
		lab.Check(os.Rename(dir, old+strings.TrimPrefix(dir, p.Base)))
	}
	if r, err := lab.Do(t.Context(), s, e, 1, point{1, 2}); err != nil || !r.Recalled || r.OtherCode {
		t.Errorf("the same code: %+v, %v", r, err)
	}
	pretend(t, codeB)
	if r, err := lab.Do(t.Context(), s, e, 1, point{1, 2}); err != nil || r.Recalled {
		t.Errorf("other code: %+v, %v", r, err)
	}
	if _, err := os.Stat(old + ".json"); err != nil || runs.Load() != 2 {
		t.Errorf("computed %d times, %v", runs.Load(), err)
	}
	if gc, err := s.GC(nil, noCode, 0, time.Hour, true); err != nil || len(gc.Leftover) != 0 {
		t.Errorf("%+v, %v", gc, err)
	}
}

// A cell that another instruction set computed is recalled with a word, and with SameCode computed
// again: of code that reaches assembly the digest names the set. The cell is computed by a process
// of its own, on plain Go.
func TestAnotherInstructionSetIsTold(t *testing.T) {
	e := lab.Experiment[point, point]{Name: "test/set",
		Run: func(_ context.Context, _ *lab.Cell, p point) (point, error) { return p, nil }}
	pretend(t, codeA+code.Assembly)
	if dir := os.Getenv("TEST_SET_STORE"); dir != "" {
		lab.Must(lab.Do(t.Context(), &store.Store{Dir: dir}, e, 0, point{}))
		return
	}
	if cpu.Name() == cpu.Generic.String() {
		t.Skip("this machine has no other set than plain Go")
	}
	s := testStore(t)
	child := exec.Command(os.Args[0], "-test.run=^TestAnotherInstructionSetIsTold$")
	child.Env = append(os.Environ(), "COUPLING_CPU="+cpu.Generic.String(), "TEST_SET_STORE="+s.Dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := lab.Recall(s, e, 0, point{})
	if err != nil || !r.Recalled || !r.OtherCode || r.Manifest.ISA != cpu.Generic.String() {
		t.Errorf("%+v, %v: want a recalled cell of other code", r, err)
	}
	if n := s.Survey(slices.Values(e.Jobs(0, point{})), nil); n.OtherCode != 1 {
		t.Errorf("%d cells of other code, want 1", n.OtherCode)
	}
	s.SameCode = true
	if _, err := lab.Recall(s, e, 0, point{}); !errors.Is(err, store.ErrOtherCode) {
		t.Errorf("the same code is wanted: %v", err)
	}
	if r, err := lab.Do(t.Context(), s, e, 0, point{}); err != nil || r.Recalled || r.Manifest.ISA != cpu.Name() {
		t.Errorf("the same code is wanted: %+v, %v", r, err)
	}
}

func TestAnotherFormatIsRefused(t *testing.T) {
	var runs atomic.Int64
	s, e := testStore(t), sampler(&runs)
	if _, err := lab.Do(t.Context(), s, e, 1, point{1, 2}); err != nil {
		t.Fatal(err)
	}
	file := s.Paths(e.Jobs(1, point{1, 2})[0].Record()).Record
	b := must.Get(os.ReadFile(file))
	newer := strings.Replace(string(b), `"format":1`, `"format":2,"more":[]`, 1)
	must.Do(os.WriteFile(file, []byte(newer), 0o666))
	if _, err := lab.Do(t.Context(), s, e, 1, point{1, 2}); !errors.Is(err, store.ErrFormat) || runs.Load() != 1 {
		t.Errorf("a newer record: %v, computed %d times", err, runs.Load())
	}
	older := strings.Replace(string(b), `"format":1,`, "", 1)
	must.Do(os.WriteFile(file, []byte(older), 0o666))
	if r, err := lab.Do(t.Context(), s, e, 1, point{1, 2}); err != nil || !r.Recalled {
		t.Errorf("a record without a format: %v", err)
	}
}
