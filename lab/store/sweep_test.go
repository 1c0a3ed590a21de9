package store_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"
)

// sleepy takes a time that differs from cell to cell.
func sleepy(name string, nap func(point) time.Duration, runs *atomic.Int64) lab.Experiment[point, point] {
	return lab.Experiment[point, point]{Name: name,
		Run: func(ctx context.Context, _ *lab.Cell, p point) (point, error) {
			runs.Add(1)
			select {
			case <-time.After(nap(p)):
			case <-ctx.Done():
				return p, ctx.Err()
			}
			return p, nil
		}}
}

func points(n int) []point {
	out := make([]point, n)
	for i := range out {
		out[i].N = i
	}
	return out
}

func TestSweepYieldsInOrder(t *testing.T) {
	var runs atomic.Int64
	s := testStore(t)
	e := sleepy("test/order", func(point) time.Duration { return time.Duration(rand.IntN(20)) * time.Millisecond },
		&runs)
	ps := points(24)
	for _, p := range []point{ps[7], ps[20], ps[3]} {
		if _, err := lab.Do(t.Context(), s, e, 0, p); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for r, err := range lab.Sweep(t.Context(), s, e, 6, 0, append(ps, ps[2])) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Params.N)
	}
	if len(got) != 24 || !slices.IsSorted(got) {
		t.Errorf("a fresh sweep yields %v", got)
	}
	var first []int
	_ = s.Remove(e.Jobs(0, ps[0])[0].Record())
	for r := range lab.SweepAsLanded(t.Context(), s, e, 6, 0, ps) {
		first = append(first, r.Params.N)
	}
	if len(first) != 24 || first[0] != 1 || first[23] != 0 {
		t.Errorf("as landed: %v, want the missing one last", first)
	}
}

// Cells that another process computes are left for the end.
func TestBusyCellsComeLast(t *testing.T) {
	var runs atomic.Int64
	s := testStore(t)
	e := sleepy("test/busy", func(point) time.Duration { return 0 }, &runs)
	jobs := e.Jobs(0, points(5)...)
	var others []func()
	for _, j := range jobs[:2] {
		other := must.Get(s.Hold(j.Record()))
		others = append(others, other)
	}
	var mu sync.Mutex
	var began, waited []store.Key
	ctx := store.WithSink(t.Context(), func(e store.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch e.Kind {
		case store.Started:
			began = append(began, e.Key)
		case store.Waiting: // the other process dies when nothing else is left
			waited = append(waited, e.Key)
			if len(waited) == 1 {
				for _, other := range others {
					other()
				}
			}
		}
	})
	n := 0
	for _, err := range (store.Local{Workers: 1}).Run(ctx, s, jobs) {
		if err != nil {
			t.Error(err)
		}
		n++
	}
	var want []store.Key
	for _, i := range []int{2, 3, 4, 0, 1} {
		want = append(want, jobs[i].Record().Key)
	}
	if n != 5 || !slices.Equal(began, want) || len(waited) == 0 {
		t.Errorf("%d landed; began %v, want %v; waited for %v", n, began, want, waited)
	}
}
