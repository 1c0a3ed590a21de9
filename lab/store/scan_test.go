package store_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"coupling/lab"
)

func TestScannerSeesEveryChangeOnce(t *testing.T) {
	var runs atomic.Int64
	s, e := testStore(t), sampler(&runs)
	sc := s.Scan()
	look := func() map[string]int {
		t.Helper()
		out := map[string]int{}
		for c, err := range sc.Look() {
			if err = errors.Join(err, c.Err); err != nil {
				t.Fatal(err)
			}
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
	if err := s.Remove(id); err != nil {
		t.Fatal(err)
	}
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
