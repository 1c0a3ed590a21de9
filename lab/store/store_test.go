package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coupling/lab"
	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/lab/store"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	if script := runAsCommand(); script != nil { // see kill_test.go
		script()
		return
	}
	goleak.VerifyTestMain(m)
}

type point struct {
	X float64 `json:"x"`
	N int     `json:"n"`
}

type stats struct {
	Mean  float64            `json:"mean"`
	Odd   []float64          `json:"odd"`
	ByKey map[string]float32 `json:"by_key"`
}

// sampler averages n normal numbers around x.
func sampler(runs *atomic.Int64) lab.Experiment[point, stats] {
	return lab.Experiment[point, stats]{Name: "test/sampler", Version: 1,
		Run: func(ctx context.Context, c *lab.Cell, p point) (stats, error) {
			runs.Add(1)
			rnd, sum := c.Rand("noise"), 0.0
			for i := range p.N {
				sum += p.X + rnd.NormFloat64()
				c.Progress(i+1, p.N)
			}
			return stats{Mean: sum / float64(p.N), Odd: []float64{math.NaN(), math.Inf(1), math.Inf(-1),
				math.Copysign(0, -1)}, ByKey: map[string]float32{"a": float32(math.Inf(1))}}, nil
		}}
}

func testStore(t *testing.T) *store.Store {
	return must.Get(lab.OpenStore(t.TempDir()))
}

var ignoreDir = cmp.Options{cmpopts.EquateNaNs(), cmpopts.IgnoreUnexported(lab.Result[point, stats]{}),
	cmpopts.EquateEmpty()}

func TestDoComputesOnceAndRecallsTheSame(t *testing.T) {
	var runs atomic.Int64
	s, e := testStore(t), sampler(&runs)
	first, err := lab.Do(t.Context(), s, e, 7, point{X: 1, N: 5})
	if err != nil || first.Recalled {
		t.Fatalf("first: %+v, %v", first, err)
	}
	second, err := lab.Do(t.Context(), s, e, 7, point{X: 1, N: 5})
	if err != nil || !second.Recalled || runs.Load() != 1 {
		t.Fatalf("second: recalled %t after %d runs, %v", second.Recalled, runs.Load(), err)
	}
	second.Recalled = false
	if d := cmp.Diff(first, second, ignoreDir); d != "" {
		t.Errorf("recalled differs from computed:\n%s", d)
	}
	if !math.Signbit(second.Value.Odd[3]) {
		t.Error("−0 lost its sign")
	}
}

func TestKeyKnowsWhatMatters(t *testing.T) {
	var runs atomic.Int64
	base := sampler(&runs)
	key := func(e lab.Experiment[point, stats], seed uint64, p point) store.Key {
		return must.Get(e.Key(seed, p))
	}
	newer, renamed := base, base
	newer.Version, renamed.Name = 2, "test/other"
	keys := []store.Key{
		key(base, 1, point{1, 2}), key(base, 2, point{1, 2}), key(base, 1, point{2, 2}),
		key(newer, 1, point{1, 2}), key(renamed, 1, point{1, 2}), key(base, 1, point{math.NaN(), 2}),
	}
	other := must.Get(lab.Experiment[point, point]{Name: base.Name, Version: 1}.Key(1, point{1, 2}))
	keys = append(keys, other) // another result type
	slices.Sort(keys)
	if n := len(slices.Compact(keys)); n != 7 {
		t.Errorf("%d distinct keys of 7", n)
	}
	type reordered struct {
		N int     `json:"n"`
		X float64 `json:"x"`
	}
	same, err := lab.Experiment[reordered, stats]{Name: base.Name, Version: 1}.Key(1, reordered{2, 1})
	if err != nil || same != key(base, 1, point{1, 2}) {
		t.Errorf("the order of the fields changed the key (%v)", err)
	}
}

func TestBadDeclarationsAreErrors(t *testing.T) {
	for _, name := range []string{"", "Upper", "a//b", "../up", "a b", "/a"} {
		if _, err := (lab.Experiment[point, stats]{Name: name}).Key(1, point{}); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("name %q: error %v does not name it", name, err)
		}
	}
	type bad struct{ C chan int }
	if _, err := (lab.Experiment[bad, stats]{Name: "a"}).Key(1, bad{make(chan int)}); err == nil {
		t.Error("a channel became a parameter")
	}
}

func TestSweepIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	var runs atomic.Int64
	e := sampler(&runs)
	grid := lab.Grid(point{N: 3}, lab.Vary(func(p *point, v float64) { p.X = v }, 1, 2, 3, 4, 5, 6, 7))
	var want []lab.Result[point, stats]
	for _, workers := range []int{1, 2, 8} {
		s := testStore(t)
		landed := 0
		for _, err := range lab.Sweep(t.Context(), s, e, workers, 1, grid) {
			if err != nil {
				t.Fatal(err)
			}
			landed++
		}
		got, err := lab.RecallAll(s, e, 1, grid)
		if err != nil || landed != len(grid) {
			t.Fatalf("%d landed, %v", landed, err)
		}
		for i := range got {
			got[i].Manifest = store.Manifest{}
		}
		if want == nil {
			want = got
		} else if d := cmp.Diff(want, got, ignoreDir); d != "" {
			t.Errorf("%d workers:\n%s", workers, d)
		}
	}
}

func TestSweepListsFailuresAndGoesOn(t *testing.T) {
	e := lab.Experiment[point, point]{Name: "test/fails",
		Run: func(_ context.Context, _ *lab.Cell, p point) (point, error) {
			switch p.N {
			case 1:
				return p, errors.New("boom")
			case 2:
				panic("bang")
			}
			return p, nil
		}}
	s := testStore(t)
	var failed []string
	ok := 0
	for r, err := range lab.Sweep(t.Context(), s, e, 2, 0, []point{{N: 0}, {N: 1}, {N: 2}, {N: 3}}) {
		if err == nil {
			ok++
			continue
		}
		var ce *store.CellError
		if !errors.As(err, &ce) || !strings.Contains(err.Error(), fmt.Sprintf(`"n":%d`, r.Params.N)) {
			t.Errorf("%v does not name its parameters", err)
		}
		failed = append(failed, string(ce.Params))
	}
	if ok != 2 || len(failed) != 2 {
		t.Errorf("%d ok, failed %v", ok, failed)
	}
	var kept []string
	for r, err := range s.Failures("test/") {
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(r.Error, "\n")
		kept = append(kept, first)
	}
	slices.Sort(kept)
	if d := cmp.Diff([]string{"boom", "panic: bang"}, kept); d != "" {
		t.Error(d)
	}
	e.Run = func(_ context.Context, _ *lab.Cell, p point) (point, error) { return p, nil }
	if _, err := lab.Do(t.Context(), s, e, 0, point{N: 1}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for range s.Failures("") {
		n++
	}
	if n != 1 {
		t.Errorf("%d failures listed after one was mended, want 1", n)
	}
}

// Must ends a Run with the error itself, which callers can tell apart, and not as a panic with its stack.
func TestMustEndsTheRun(t *testing.T) {
	missing := errors.New("missing")
	e := lab.Experiment[point, point]{Name: "test/must",
		Run: func(_ context.Context, _ *lab.Cell, p point) (point, error) {
			return lab.Must(p, fmt.Errorf("read: %w", missing)), nil
		}}
	var ce *store.CellError
	if _, err := lab.Do(t.Context(), testStore(t), e, 0, point{N: 1}); !errors.Is(err, missing) ||
		!errors.As(err, &ce) || ce.Err.Error() != "read: missing" {
		t.Errorf("%v: want the error of the cell", err)
	}
}

func TestBreakingOutStopsTheSweep(t *testing.T) {
	var running atomic.Int64
	e := lab.Experiment[point, point]{Name: "test/slow",
		Run: func(ctx context.Context, _ *lab.Cell, p point) (point, error) {
			running.Add(1)
			defer running.Add(-1)
			if p.N > 0 {
				<-ctx.Done()
				return p, ctx.Err()
			}
			return p, nil
		}}
	s := testStore(t)
	for range lab.Sweep(t.Context(), s, e, 3, 0, []point{{N: 0}, {N: 1}, {N: 2}, {N: 3}, {N: 4}}) {
		break
	}
	if n := running.Load(); n != 0 {
		t.Errorf("%d cells still run", n)
	}
	for r, err := range s.Records("") {
		if err != nil || string(r.Params) != `{"n":0,"x":0}` {
			t.Errorf("stored: %s %v", r.Params, err)
		}
	}
}

func TestCancelledWorkIsNeverStored(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := lab.Experiment[point, point]{Name: "test/cut",
		Run: func(_ context.Context, c *lab.Cell, p point) (point, error) {
			dir, err := c.Scratch()
			if err != nil {
				return p, err
			}
			state := filepath.Join(dir, "state")
			if _, err := os.Stat(state); err == nil {
				p.X = 1 // resumed
				return p, nil
			}
			cancel()
			return p, os.WriteFile(state, nil, 0o666) // looks like success, but was cut short
		}}
	s := testStore(t)
	if _, err := lab.Do(ctx, s, e, 0, point{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if _, err := lab.Recall(s, e, 0, point{}); !errors.Is(err, store.ErrMissing) {
		t.Fatalf("recalled a cancelled cell: %v", err)
	}
	for r := range s.Failures("") {
		t.Errorf("cancelling was recorded as a failure: %s", r.Error)
	}
	r, err := lab.Do(t.Context(), s, e, 0, point{})
	if err != nil || r.Value.X != 1 {
		t.Errorf("scratch was not there for the second attempt: %+v %v", r.Value, err)
	}
	if rest, _ := filepath.Glob(filepath.Join(s.Dir, "cells/test/cut/*/*")); len(rest) != 1 {
		t.Errorf("left beside the record: %v", rest)
	}
}

func writes(name, text string) lab.Experiment[point, point] {
	return lab.Experiment[point, point]{Name: "test/writes",
		Run: func(_ context.Context, c *lab.Cell, p point) (point, error) {
			path, err := c.Artifact(name)
			if err != nil {
				return p, err
			}
			return p, os.WriteFile(path, []byte(text), 0o666)
		}}
}

func TestArtifactsLiveAndDieWithTheCell(t *testing.T) {
	s, e := testStore(t), writes("deep/a.txt", "hello")
	r := must.Get(lab.Do(t.Context(), s, e, 0, point{}))
	f := must.Get(r.Open("deep/a.txt"))
	f.Close()
	rec, err := s.Find(string(r.Key)[:6])
	if err != nil || len(rec.Artifacts) != 1 || rec.Artifacts[0].Size != 5 {
		t.Fatalf("%+v %v", rec, err)
	}
	path := filepath.Join(s.Files(rec), "deep/a.txt")
	must.Do(os.WriteFile(path, []byte("jello"), 0o666))
	if _, err := r.Open("deep/a.txt"); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("opened a changed artifact: %v", err)
	}
	must.Do(os.WriteFile(path, nil, 0o666))
	if _, err := lab.Recall(s, e, 0, point{}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("recalled with a truncated artifact: %v", err)
	}
	if r, err := lab.Do(t.Context(), s, e, 0, point{}); err != nil || r.Recalled {
		t.Errorf("corrupt cell was not computed again: %v", err)
	}
	must.Do(s.Remove(rec))
	if rest, _ := filepath.Glob(filepath.Join(s.Dir, "cells/test/writes/*/*")); len(rest) != 0 {
		t.Errorf("left after Remove: %v", rest)
	}
	for _, name := range []string{"", "../x", "/x", `a\b`} {
		if _, err := lab.Do(t.Context(), s, writes(name, ""), 1, point{}); err == nil {
			t.Errorf("artifact name %q was accepted", name)
		}
	}
}

func TestTornRecordsAreNeverRecalled(t *testing.T) {
	var runs atomic.Int64
	s, e := testStore(t), sampler(&runs)
	r := must.Get(lab.Do(t.Context(), s, e, 1, point{1, 3}))
	id := e.Jobs(1, point{1, 3})[0].Record()
	path := s.Paths(id).Record
	whole := must.Get(os.ReadFile(path))
	for _, torn := range [][]byte{nil, whole[:len(whole)/2], slices.Concat(whole[:len(whole)-2], []byte("x")),
		[]byte(strings.Replace(string(whole), `"mean":`, `"mean":1`, 1)),
		[]byte(strings.Replace(string(whole), `"x":1`, `"x":2`, 1))} {
		must.Do(os.WriteFile(path, torn, 0o666))
		if _, err := lab.Recall(s, e, 1, point{1, 3}); !errors.Is(err, store.ErrCorrupt) {
			t.Fatalf("%.60q: %v", torn, err)
		}
	}
	again, err := lab.Do(t.Context(), s, e, 1, point{1, 3})
	if err != nil || again.Recalled || again.Value.Mean != r.Value.Mean {
		t.Errorf("%+v %v", again, err)
	}
}

func TestJobsTravel(t *testing.T) {
	var runs atomic.Int64
	e := sampler(&runs)
	s := testStore(t)
	jobs := e.Jobs(1<<63+1, point{math.Inf(1), 2}, point{2, 2})
	line := must.Get(store.EncodeJob(jobs[0]))
	j, err := store.DecodeJob(line, []*store.Decoder{e.Decoder()})
	if err != nil || j.Record().Key != jobs[0].Record().Key {
		t.Fatalf("%v", err)
	}
	if _, err := j.Try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if m := s.Missing(jobs); len(m) != 1 || m[0].Record().Key != jobs[1].Record().Key {
		t.Errorf("missing %v", m)
	}
	newer := e
	newer.Version++
	if _, err := store.DecodeJob(line, []*store.Decoder{newer.Decoder()}); err == nil {
		t.Error("a job of an older version was decoded")
	}
	if _, err := store.DecodeJob(line, nil); err == nil || !strings.Contains(err.Error(), "test/sampler") {
		t.Errorf("unknown experiment: %v", err)
	}
}

func TestDrainFinishesWhatRuns(t *testing.T) {
	drain := make(chan struct{})
	var finished atomic.Int64
	e := lab.Experiment[point, point]{Name: "test/drain",
		Run: func(_ context.Context, _ *lab.Cell, p point) (point, error) {
			if p.N == 0 {
				close(drain)
			}
			time.Sleep(20 * time.Millisecond)
			finished.Add(1)
			return p, nil
		}}
	s := testStore(t)
	landed := 0
	for _, err := range (store.Local{Workers: 1, Drain: drain}).
		Run(t.Context(), s, e.Jobs(0, point{N: 0}, point{N: 1}, point{N: 2})) {
		if err != nil {
			t.Error(err)
		}
		landed++
	}
	if landed != 1 || finished.Load() != 1 {
		t.Errorf("%d landed, %d finished, want 1", landed, finished.Load())
	}
}

func TestEventsTellTheStory(t *testing.T) {
	var runs atomic.Int64
	var mu sync.Mutex
	var got []store.EventKind
	ctx := store.WithSink(t.Context(), func(e store.Event) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, e.Kind)
	})
	s, e := testStore(t), sampler(&runs)
	for range 2 {
		if _, err := lab.Do(ctx, s, e, 1, point{1, 2}); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]store.EventKind{store.Started, store.Advanced, store.Advanced, store.Stored, store.Recalled},
		got); d != "" {
		t.Error(d)
	}
}

func TestDiff(t *testing.T) {
	var runs atomic.Int64
	s, e := testStore(t), sampler(&runs)
	var recs []store.Record
	for _, x := range []float64{1, 2} {
		r := must.Get(lab.Do(t.Context(), s, e, 1, point{x, 2}))
		rec := must.Get(s.Find(string(r.Key)))
		recs = append(recs, rec)
	}
	c, err := store.Diff(recs[0], recs[1])
	if err != nil || len(c.Params) != 1 || c.Params[0].Column != "param.x" {
		t.Fatalf("params %+v %v", c.Params, err)
	}
	for _, m := range c.Metrics {
		if got := m.Change; m.Column == "value.mean" && !strings.HasPrefix(got, "+1 (") {
			t.Errorf("mean changed by %s", got)
		}
	}
}

func TestGCRemovesOldVersionsAndLeftovers(t *testing.T) {
	var runs atomic.Int64
	s, old := testStore(t), sampler(&runs)
	if _, err := lab.Do(t.Context(), s, old, 1, point{1, 2}); err != nil {
		t.Fatal(err)
	}
	now := old
	now.Version = 2
	if _, err := lab.Do(t.Context(), s, now, 1, point{1, 2}); err != nil {
		t.Fatal(err)
	}
	id := now.Jobs(9, point{9, 9})[0].Record()
	p := s.Paths(id)
	orphan := filepath.Join(p.Scratch, "x")
	must.Do(os.MkdirAll(filepath.Dir(orphan), 0o777))
	must.Do(os.WriteFile(orphan, nil, 0o666))
	for _, dry := range []bool{true, false} {
		gc, err := s.GC([]*store.Decoder{now.Decoder()}, noCode, 0, time.Hour, dry)
		if err != nil || len(gc.Cells) != 1 || gc.Cells[0].Version != 1 || len(gc.Leftover) != 1 {
			t.Fatalf("dry %t: %+v %v", dry, gc, err)
		}
	}
	if _, err := lab.Recall(s, now, 1, point{1, 2}); err != nil {
		t.Errorf("the current version went too: %v", err)
	}
	if gc, err := s.GC([]*store.Decoder{now.Decoder()}, noCode, 0, time.Hour, false); err != nil ||
		len(gc.Cells)+len(gc.Leftover) != 0 {
		t.Errorf("something is left: %+v %v", gc, err)
	}
}

func TestRoundTripOfAnyFloat(t *testing.T) {
	type value struct {
		F  float64
		S  []float64
		M  map[string]float64
		P  *float64
		F3 float32
	}
	rapid.Check(t, func(t *rapid.T) {
		any64 := rapid.OneOf(rapid.Float64(),
			rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324}))
		p := any64.Draw(t, "p")
		in := value{any64.Draw(t, "f"), rapid.SliceOf(any64).Draw(t, "s"),
			rapid.MapOf(rapid.String(), any64).Draw(t, "m"), &p, rapid.Float32().Draw(t, "f3")}
		b := must.Get(store.Marshal(in))
		var out value
		must.Do((store.Record{Params: b, Value: b}).Decode(&value{}, &out))
		if d := cmp.Diff(in, out, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzRecord(f *testing.F) {
	var runs atomic.Int64
	j := must.Get(sampler(&runs).Decoder().Job(1, point{1, 2}))
	id := j.Record()
	id.Value = []byte(`{"mean":1}`)
	b := must.Get(id.JSON())
	f.Add(b)
	f.Add([]byte(`{"key":"00","params":{}}`))
	f.Add([]byte(`{"key":"` + strings.Repeat("0", 32) + `","params":[[[[[[]]]]]],"value":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := store.DecodeRecord(b)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("error %v is not ErrCorrupt", err)
			}
			return
		}
		again := must.Get(r.JSON())
		if _, err := store.DecodeRecord(again); err != nil {
			t.Fatalf("a record that was read cannot be read again: %v", err)
		}
		if _, err := r.Flatten(); err != nil {
			t.Fatal(err)
		}
	})
}
