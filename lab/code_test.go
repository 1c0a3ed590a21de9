package lab

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
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
