package lab

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"coupling/lab/device/cpu"
	"coupling/lab/internal/code"
)

// As a program with the digests linked in.
func TestOtherCodeIsNeverRecalledSilently(t *testing.T) {
	var runs atomic.Int64
	e := Experiment[point, point]{Name: "test/code", Run: func(context.Context, *Cell, point) (point, error) {
		return point{N: int(runs.Add(1))}, nil
	}}
	s := testStore(t)
	linked() // once, from the program's own
	table := linked
	t.Cleanup(func() { linked = table })
	program := func(digest string) { linked = func() map[string]string { return map[string]string{e.Name: digest} } }
	ask := func() (r Result[point, point], events []Event) {
		ctx := WithSink(t.Context(), func(e Event) { events = append(events, e) })
		r, err := Do(ctx, s, e, 0, point{})
		if err != nil {
			t.Fatal(err)
		}
		return r, events
	}
	program("aaaa")
	ask()
	if r, _ := ask(); !r.Recalled || r.OtherCode {
		t.Errorf("the same code: %+v", r)
	}
	program("bbbb")
	if r, events := ask(); !r.Recalled || !r.OtherCode || !events[0].OtherCode {
		t.Errorf("other code, any: %+v %+v", r, events)
	}
	missing, other := s.Survey(e.Jobs(0, point{}))
	if len(missing) != 0 || len(other) != 1 {
		t.Errorf("any: %d missing, %d of other code", len(missing), len(other))
	}
	s.SameCode = true
	if _, err := Recall(s, e, 0, point{}); !errors.Is(err, ErrOtherCode) {
		t.Errorf("other code, same: %v", err)
	}
	if missing := s.Missing(e.Jobs(0, point{})); len(missing) != 1 {
		t.Error("other code, same: it is not missing")
	}
	if r, _ := ask(); r.Recalled || r.Value.N != 2 {
		t.Errorf("other code, same: %+v", r)
	}
	if r, _ := ask(); !r.Recalled {
		t.Errorf("it was computed by this code: %+v", r)
	}
	program("")
	if r, _ := ask(); !r.Recalled || r.OtherCode {
		t.Errorf("this program does not know its code: %+v", r)
	}
}

// A cell that another instruction set computed is recalled with a word, and with SameCode computed again: of code that reaches
// assembly the digest names the set. The cell is computed by a process of its own, on plain Go.
func TestAnotherInstructionSetIsTold(t *testing.T) {
	e := Experiment[point, point]{Name: "test/set", Run: func(_ context.Context, _ *Cell, p point) (point, error) { return p, nil }}
	linked() // once, from the program's own
	table := linked
	t.Cleanup(func() { linked = table })
	linked = func() map[string]string { return map[string]string{e.Name: "aaaa" + code.Assembly} }
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
