package lab

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coupling/lab/device/cpu"
	"coupling/lab/internal/code"
)

// pretend makes this a program with the digest of an experiment linked in, or without if it is
// empty.
func pretend(t *testing.T, name, digest string) {
	table := knownCodes
	t.Cleanup(func() { knownCodes = table })
	knownCodes = func() (map[string]string, error) {
		if digest == "" {
			return nil, errors.New("there is no source")
		}
		return map[string]string{name: digest}, nil
	}
}

const codeA, codeB = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"

// Each code has its own result. Other code's is recalled with a word, or not at all if the same is
// asked for; going back to earlier code computes nothing. A program that does not know its code is
// other code, and the same as itself.
func TestOtherCodeIsNeverRecalledSilently(t *testing.T) {
	var runs atomic.Int64
	e := Experiment[point, point]{Name: "test/code", Run: func(context.Context, *Cell, point) (point, error) {
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
		pretend(t, e.Name, step.code)
		e.Inputs, s.SameCode = step.inputs, step.same
		var told bool
		ctx := WithSink(t.Context(), func(e Event) { told = told || e.OtherCode })
		missing, other := s.Survey(e.Jobs(0, point{}))
		_, missed := Recall(s, e, 0, point{})
		r, err := Do(ctx, s, e, 0, point{})
		if err != nil || r.Value.N != step.value || r.Recalled != step.recalled || r.OtherCode != step.other || told != step.other {
			t.Errorf("step %d: %+v, told %v, %v", i, r, told, err)
		}
		if (len(missing) == 0) != step.recalled || (len(other) == 1) != step.other || errors.Is(missed, ErrOtherCode) != (!step.recalled && i > 0) {
			t.Errorf("step %d: %d missing, %d of other code, %v", i, len(missing), len(other), missed)
		}
	}
	if found, err := s.FindAll(string(Must(e.Key(0, point{})))); err != nil || len(found) != 4 {
		t.Errorf("%d results of the cell, %v", len(found), err)
	}
	e.Inputs = ""
	for _, step := range []struct {
		old  time.Duration
		left string
	}{{time.Hour, "4321"}, {0, "41"}} { // the newest, and this program's
		if _, err := s.GC(nil, map[string]string{e.Name: codeA}, 0, step.old, false); err != nil {
			t.Fatal(err)
		}
		left := ""
		for _, r := range s.variants(e.Jobs(0, point{})[0].Record(), recordSuffix) {
			left += string(r.Value[len(`{"n":`)])
		}
		if left != step.left {
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
	pretend(t, e.Name, codeA)
	Must(Do(t.Context(), s, e, 1, point{1, 2}))
	p := s.paths(e.Jobs(1, point{1, 2})[0].Record())
	old := strings.TrimSuffix(p.base, "."+codeA)
	Check(os.Rename(p.record, old+recordSuffix))
	for _, dir := range Must(filepath.Glob(p.base + filesSuffix + "*")) {
		Check(os.Rename(dir, old+strings.TrimPrefix(dir, p.base)))
	}
	if r, err := Do(t.Context(), s, e, 1, point{1, 2}); err != nil || !r.Recalled || r.OtherCode {
		t.Errorf("the same code: %+v, %v", r, err)
	}
	pretend(t, e.Name, codeB)
	if r, err := Do(t.Context(), s, e, 1, point{1, 2}); err != nil || r.Recalled {
		t.Errorf("other code: %+v, %v", r, err)
	}
	if _, err := os.Stat(old + recordSuffix); err != nil || runs.Load() != 2 {
		t.Errorf("computed %d times, %v", runs.Load(), err)
	}
	if gc, err := s.GC(nil, nil, 0, time.Hour, true); err != nil || len(gc.Leftover) != 0 {
		t.Errorf("%+v, %v", gc, err)
	}
}

// A cell that another instruction set computed is recalled with a word, and with SameCode computed
// again: of code that reaches assembly the digest names the set. The cell is computed by a process
// of its own, on plain Go.
func TestAnotherInstructionSetIsTold(t *testing.T) {
	e := Experiment[point, point]{Name: "test/set", Run: func(_ context.Context, _ *Cell, p point) (point, error) { return p, nil }}
	pretend(t, e.Name, codeA+code.Assembly)
	if dir := os.Getenv("TEST_SET_STORE"); dir != "" {
		Must(Do(t.Context(), &Store{Dir: dir}, e, 0, point{}))
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
	r, err := Recall(s, e, 0, point{})
	if err != nil || !r.Recalled || !r.OtherCode || r.Manifest.ISA != cpu.Generic.String() {
		t.Errorf("%+v, %v: want a recalled cell of other code", r, err)
	}
	if _, other := s.Survey(e.Jobs(0, point{})); len(other) != 1 {
		t.Errorf("%d cells of other code, want 1", len(other))
	}
	s.SameCode = true
	if _, err := Recall(s, e, 0, point{}); !errors.Is(err, ErrOtherCode) {
		t.Errorf("the same code is wanted: %v", err)
	}
	if r, err := Do(t.Context(), s, e, 0, point{}); err != nil || r.Recalled || r.Manifest.ISA != cpu.Name() {
		t.Errorf("the same code is wanted: %+v, %v", r, err)
	}
}

func TestAnotherFormatIsRefused(t *testing.T) {
	var runs atomic.Int64
	s, e := testStore(t), sampler(&runs)
	if _, err := Do(t.Context(), s, e, 1, point{1, 2}); err != nil {
		t.Fatal(err)
	}
	file := s.paths(e.Jobs(1, point{1, 2})[0].Record()).record
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(b), `"format":1`, `"format":2,"more":[]`, 1)
	if err := os.WriteFile(file, []byte(newer), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Do(t.Context(), s, e, 1, point{1, 2}); !errors.Is(err, ErrFormat) || runs.Load() != 1 {
		t.Errorf("a newer record: %v, computed %d times", err, runs.Load())
	}
	older := strings.Replace(string(b), `"format":1,`, "", 1)
	if err := os.WriteFile(file, []byte(older), 0o666); err != nil {
		t.Fatal(err)
	}
	if r, err := Do(t.Context(), s, e, 1, point{1, 2}); err != nil || !r.Recalled {
		t.Errorf("a record without a format: %v", err)
	}
}
