package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"

	"gonum.org/v1/gonum/mat"
)

func TestTypesThatJSONWouldLoseAreRefused(t *testing.T) {
	type hidden struct{ A, b int }
	_ = hidden{}.b
	type dropped struct {
		A int `json:"-"`
	}
	type quoted struct {
		A float64 `json:",string"`
	}
	type inner struct{ H []hidden }
	for name, err := range map[string]error{
		"unexported":   keyError[hidden](),
		"dropped":      keyError[dropped](),
		"quoted":       keyError[quoted](),
		"nested":       keyError[inner](),
		"interface":    keyError[struct{ X any }](),
		"map of any":   keyError[map[string]any](),
		"float keys":   keyError[map[float64]int](),
		"duration":     keyError[struct{ D time.Duration }](),
		"complex":      keyError[complex128](),
		"func":         keyError[struct{ F func() }](),
		"mat.Dense":    keyError[struct{ M *mat.Dense }](),
		"a named part": keyError[[]hidden](),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := keyError[inner](); err == nil || !strings.Contains(err.Error(), "inner.H.b") {
		t.Errorf("the error does not name the field: %v", err)
	}
	type list struct {
		X    float64
		Next *list
	}
	for name, err := range map[string]error{
		"time": keyError[struct{ T time.Time }](), "list": keyError[list](), "embedded": keyError[struct{ point }](),
		"pointer": keyError[*float64](), "maps": keyError[map[int]map[string][]float32](),
		"empty": keyError[struct{}](),
	} {
		if name == "embedded" { // an unexported embedded struct is an unexported field
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func keyError[R any]() error {
	_, err := lab.Experiment[point, R]{Name: "test/types"}.Key(1, point{})
	return err
}

func TestShapeTellsTypesApart(t *testing.T) {
	key := func(k store.Key, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(k)
	}
	keys := []string{
		key(lab.Experiment[point, struct{ X float64 }]{Name: "t"}.Key(1, point{})),
		key(lab.Experiment[point, struct{ X *float64 }]{Name: "t"}.Key(1, point{})),
		key(lab.Experiment[point, struct{ X float32 }]{Name: "t"}.Key(1, point{})),
		key(lab.Experiment[point, struct{ X time.Time }]{Name: "t"}.Key(1, point{})),
		key(lab.Experiment[point, struct{ X map[string]int }]{Name: "t"}.Key(1, point{})),
		key(lab.Experiment[point, struct{ X map[int]int }]{Name: "t"}.Key(1, point{})),
		key(lab.Experiment[point, struct{ Y float64 }]{Name: "t"}.Key(1, point{})),
	}
	slices.Sort(keys)
	if n := len(slices.Compact(keys)); n != 7 {
		t.Errorf("%d distinct keys of 7", n)
	}
}

func TestMisnamedRecordIsNotRecalled(t *testing.T) {
	var runs atomic.Int64
	s, e := testStore(t), sampler(&runs)
	for _, x := range []float64{1, 2} {
		if _, err := lab.Do(t.Context(), s, e, 1, point{x, 2}); err != nil {
			t.Fatal(err)
		}
	}
	a := e.Jobs(1, point{1, 2})[0].Record()
	b := e.Jobs(1, point{2, 2})[0].Record()
	raw := must.Get(os.ReadFile(s.Paths(a).Record))
	must.Do(os.WriteFile(s.Paths(b).Record, raw, 0o666))
	if _, err := lab.Recall(s, e, 1, point{2, 2}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("another cell's record was recalled: %v", err)
	}
	if m := s.Missing(e.Jobs(1, point{1, 2}, point{2, 2}, point{2, 2})); len(m) != 1 {
		t.Errorf("%d missing, want 1", len(m))
	}
}

func TestVerifyFindsAFlippedByte(t *testing.T) {
	s := testStore(t)
	r := must.Get(lab.Do(t.Context(), s, writes("a", "hello"), 0, point{}))
	rec, err := s.Find(string(r.Key))
	if err != nil || s.Verify(rec) != nil {
		t.Fatal(err, s.Verify(rec))
	}
	must.Do(os.WriteFile(filepath.Join(s.Files(rec), "a"), []byte("jello"), 0o666))
	if err := s.Verify(rec); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("verified: %v", err)
	}
}

func TestArtifactThatWasNotWrittenIsAnError(t *testing.T) {
	e := lab.Experiment[point, point]{Name: "test/promise",
		Run: func(_ context.Context, c *lab.Cell, p point) (point, error) {
			_, err := c.Artifact("promised")
			return p, err
		}}
	if _, err := lab.Do(t.Context(), testStore(t), e, 0, point{}); err == nil ||
		!strings.Contains(err.Error(), "promised") {
		t.Errorf("error %v", err)
	}
}

func TestGCLeavesLivingCellsAlone(t *testing.T) {
	s := testStore(t)
	started, goOn := make(chan struct{}), make(chan struct{})
	e := lab.Experiment[point, point]{Name: "test/alive",
		Run: func(_ context.Context, c *lab.Cell, p point) (point, error) {
			dir, err := c.Scratch()
			if err != nil {
				return p, err
			}
			path, err := c.Artifact("a")
			if err != nil {
				return p, err
			}
			err = errors.Join(os.WriteFile(path, nil, 0o666), os.WriteFile(filepath.Join(dir, "state"), nil, 0o666))
			close(started)
			<-goOn
			return p, err
		}}
	var wg sync.WaitGroup
	wg.Go(func() {
		if r, err := lab.Do(t.Context(), s, e, 0, point{}); err != nil || len(r.Artifacts) != 1 {
			t.Errorf("%d artifacts, %v", len(r.Artifacts), err)
		}
	})
	<-started
	gc, err := s.GC(nil, noCode, 0, time.Hour, false)
	if err != nil || len(gc.Leftover) != 0 {
		t.Errorf("collected %v of a living cell, %v", gc.Leftover, err)
	}
	close(goOn)
	wg.Wait()
}

func TestCellThatEndsItsGoroutine(t *testing.T) {
	e := lab.Experiment[point, point]{Name: "test/goexit", Run: func(context.Context, *lab.Cell, point) (point, error) {
		runtime.Goexit()
		return point{}, nil
	}}
	for _, err := range lab.Sweep(t.Context(), testStore(t), e, 1, 0, []point{{}}) {
		if err == nil || !strings.Contains(err.Error(), "goroutine") {
			t.Errorf("error %v", err)
		}
	}
}

func TestComputedAndRecalledAreTheSame(t *testing.T) {
	type loose struct {
		S []float64
		M map[string]int
		P *float64
	}
	e := lab.Experiment[point, loose]{Name: "test/loose",
		Run: func(context.Context, *lab.Cell, point) (loose, error) { return loose{}, nil }}
	s := testStore(t)
	a := must.Get(lab.Do(t.Context(), s, e, 0, point{}))
	b, err := lab.Do(t.Context(), s, e, 0, point{})
	if err != nil || (a.Value.S == nil) != (b.Value.S == nil) || (a.Value.M == nil) != (b.Value.M == nil) ||
		a.Value.P != b.Value.P {
		t.Errorf("%#v and %#v, %v", a.Value, b.Value, err)
	}
}

func TestNothingIsCreatedByLooking(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "typo")
	s := must.Get(lab.OpenStore(dir))
	for _, err := range s.Records("") {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("looking created %s", dir)
	}
}

func TestRemoveCopesWithAnyPath(t *testing.T) {
	s := must.Get(lab.OpenStore(filepath.Join(t.TempDir(), "a [b] * c")))
	r := must.Get(lab.Do(t.Context(), s, writes("a", "hello"), 0, point{}))
	rec := must.Get(s.Find(string(r.Key)))
	must.Do(s.Remove(rec))
	if rest, _ := os.ReadDir(s.Paths(rec).Dir); len(rest) != 0 {
		t.Errorf("left: %v", rest)
	}
}
