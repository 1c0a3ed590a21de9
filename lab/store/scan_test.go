package store_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/must"
)

func TestScannerSeesEveryChangeOnce(t *testing.T) {
	var runs atomic.Int64
	s, e := testStore(t), sampler(&runs)
	sc := s.Scan()
	look := func() map[string]int {
		t.Helper()
		out := map[string]int{}
		for c, err := range sc.Look() {
			must.Do(errors.Join(err, c.Err))
			if c.Status.Stored && c.Record.Name() != c.Name || c.Experiment != e.Name {
				t.Errorf("%s of %s holds %s", c.Name, c.Experiment, c.Record.Key)
			}
			out[c.Status.String()]++
		}
		return out
	}
	if got := look(); len(got) != 0 {
		t.Errorf("an empty store: %v", got)
	}
	for i := range 30 {
		if _, err := lab.Do(t.Context(), s, e, 1, point{1, i + 1}); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			look()
		}
	}
	if got := look(); got["stored"] != 9 || len(got) != 1 {
		t.Errorf("nine are new: %v", got)
	}
	if got := look(); len(got) != 0 {
		t.Errorf("nothing is new: %v", got)
	}
	id := e.Jobs(1, point{1, 3})[0].Record()
	must.Do(s.Remove(id))
	if got := look(); got["gone"] != 1 || len(got) != 1 {
		t.Errorf("one is gone: %v", got)
	}
	for range sc.Look() {
		t.Error("nothing has changed")
	}
	n := 0
	sc = s.Scan()
	for range sc.Look() { // a look that is broken off goes on later
		if n++; n == 10 {
			break
		}
	}
	for range sc.Look() {
		n++
	}
	if n < 29 || n > 30 { // the one at which it was broken off comes again
		t.Errorf("%d cells, want 29", n)
	}
}

// A cell whose process dies turns from running to failed, though no directory changes.
func TestScannerSeesADeath(t *testing.T) {
	s, e := testStore(t), sampler(new(atomic.Int64))
	id := e.Jobs(1, point{1, 2})[0].Record()
	sc := s.Scan()
	release := must.Get(s.Hold(id))
	lock, dir, past := s.Paths(id).Lock, s.Paths(id).Dir, time.Now().Add(-time.Hour)
	left, err := os.ReadFile(lock)
	lab.Check(os.Chtimes(dir, past, past))
	states := func() (out []string) {
		for c, err2 := range sc.Look() {
			err = errors.Join(err, err2, c.Err)
			out = append(out, c.Status.String()+c.Record.Error)
		}
		return out
	}
	if got := states(); !slices.Equal(got, []string{"running"}) || err != nil {
		t.Fatalf("%q, %v: want a running cell", got, err)
	}
	release()
	if err := os.WriteFile(lock, left, 0o666); err != nil { // as a killed process leaves it
		t.Fatal(err)
	}
	lab.Check(os.Chtimes(dir, past, past))
	if got := states(); len(got) != 1 || !strings.HasPrefix(got[0], "failed") ||
		!strings.Contains(got[0], "died while it computed") || err != nil {
		t.Errorf("%q, %v: want a death", got, err)
	}
}
