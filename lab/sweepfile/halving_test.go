package sweepfile

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"coupling/lab"
	"coupling/lab/store"
)

// descent "trains": after n steps its loss is floor + exp(−rate·n), so that the
// best rate at a small budget is not the best at a large one. It goes on from a
// checkpoint if it has one.
func descent(steps *atomic.Int64) lab.Experiment[params, result] {
	return lab.Experiment[params, result]{Name: "test/descent", Version: 1,
		Run: func(_ context.Context, c *lab.Cell, p params) (result, error) {
			dir, err := c.Scratch()
			if err != nil {
				return result{}, err
			}
			from := 0
			if b, err := os.ReadFile(filepath.Join(dir, "checkpoint")); err == nil {
				from, _ = strconv.Atoi(string(b))
			}
			steps.Add(int64(p.Steps - from))
			file, err := c.Artifact("checkpoint")
			if err != nil {
				return result{}, err
			}
			loss := p.Noise.Sigma + math.Exp(-p.Eps*float64(p.Steps))
			if p.N == 1 {
				loss = math.NaN() // it diverges
			}
			return result{Loss: loss}, os.WriteFile(file, []byte(strconv.Itoa(p.Steps)), 0o666)
		}}
}

func halvingSweep(t *testing.T, e lab.Experiment[params, result]) *Sweep {
	t.Helper()
	s, err := Parse("s.yaml", []byte(`
experiment: test/descent
design:
- latin: {count: 27, seed: 2, over: {eps: {from: 0.01, to: 1, scale: log}, noise.sigma: {from: 0, to: 0.1}}}
- list: [{n: 0}, {n: 1}]
halving: {budget: steps, min: 1, max: 27, factor: 3, metric: loss, checkpoint: checkpoint}
`), []*store.Decoder{e.Decoder()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHalving(t *testing.T) {
	var steps atomic.Int64
	e := descent(&steps)
	sweep := halvingSweep(t, e)
	if got := sweep.Halving.Budgets(); !slices.Equal(got, []int{1, 3, 9, 27}) {
		t.Fatalf("budgets %v", got)
	}
	for _, h := range []Halving{{Min: 2, Max: 2, Factor: 3}, {Min: 1, Max: math.MaxInt, Factor: 2}} {
		if got := h.Budgets(); got[0] != h.Min || got[len(got)-1] != h.Max || !slices.IsSorted(got) ||
			len(slices.Compact(got)) != len(h.Budgets()) {
			t.Errorf("%+v: budgets %v", h, got)
		}
	}
	jobs := lab.Must(sweep.All())
	full := float64(len(jobs) * 27)
	var winners []string
	for _, workers := range []int{1, 4} {
		s := openStore(t)
		steps.Store(0)
		run := func() {
			for _, err := range sweep.Halving.Run(t.Context(), s, store.Local{Workers: workers}, jobs) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		run()
		rungs := map[int][]store.Record{}
		for r, err := range s.Records("") {
			if err != nil {
				t.Fatal(err)
			}
			row, _ := r.Flatten()
			n, _ := store.Number(row["param.steps"])
			rungs[int(n)] = append(rungs[int(n)], r)
		}
		t.Logf("%d workers: %d, %d, %d, %d cells; %d steps of %g", workers, len(rungs[1]), len(rungs[3]), len(rungs[9]),
			len(rungs[27]), steps.Load(), full)
		if len(rungs[1]) != 54 || len(rungs[3]) != 18 || len(rungs[9]) != 6 || len(rungs[27]) != 2 {
			t.Errorf("%d workers: %d, %d, %d, %d cells", workers, len(rungs[1]), len(rungs[3]), len(rungs[9]),
				len(rungs[27]))
		}
		// Checkpoints are handed on: 54 of 1 step, 18 of 2 more, 6 of 6, 2 of 18.
		if steps.Load() != 54+36+36+36 {
			t.Errorf("%d steps, want 162", steps.Load())
		}
		best, err := sweep.Halving.Best(s, jobs, 1)
		if err != nil || len(best) != 1 {
			t.Fatalf("%v, %v", best, err)
		}
		winners = append(winners, string(best[0].Record.Params))
		for _, r := range rungs[27] {
			if l := loss(t, r); math.IsNaN(l) || l < best[0].Metric {
				t.Errorf("%d workers: loss %g was promoted to the end, the best is %g", workers, l, best[0].Metric)
			}
		}
		if run(); steps.Load() != 162 { // a second run finds all of it
			t.Errorf("a second run made %d steps", steps.Load()-162)
		}
	}
	if winners[0] != winners[1] {
		t.Errorf("different winners: %q", winners)
	}
}

// Parameters that no float64 holds stay as they are at other budgets.
func TestRebudgetKeepsIntegers(t *testing.T) {
	type wide struct {
		ID    uint64  `json:"id"`
		Eps   float64 `json:"eps"`
		Inner struct {
			Steps int    `json:"steps"`
			Salt  uint64 `json:"salt"`
		} `json:"inner"`
	}
	e := lab.Experiment[wide, result]{Name: "test/wide", Version: 1,
		Run: func(context.Context, *lab.Cell, wide) (result, error) { return result{}, nil }}
	p := wide{ID: math.MaxUint64, Eps: 1e-7}
	p.Inner.Steps, p.Inner.Salt = 1, 1<<53+1
	got, err := rebudget(e.Decoder(), e.Jobs(5, p)[0], "inner.steps", 9)
	if err != nil {
		t.Fatal(err)
	}
	p.Inner.Steps = 9
	if want := e.Jobs(5, p)[0].Record(); got.Record().Key != want.Key {
		t.Errorf("%s, want %s", got.Record().Params, want.Params)
	}
}

func loss(t *testing.T, r store.Record) float64 {
	row, err := r.Flatten()
	if err != nil {
		t.Fatal(err)
	}
	v, _ := store.Number(row["value.loss"])
	return v
}

// With checkpoints handed on, a cell's result is that of a run from the start.
func TestPrimedCellIsTheSame(t *testing.T) {
	var steps atomic.Int64
	e := descent(&steps)
	s, plain := openStore(t), openStore(t)
	short, long := params{Eps: .1, Steps: 10}, params{Eps: .1, Steps: 30}
	a, err := lab.Do(t.Context(), s, e, 1, short)
	if err != nil {
		t.Fatal(err)
	}
	from, err := s.Find(string(a.Key))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WarmStart(e.Jobs(1, long)[0].Record(), from, "checkpoint"); err != nil {
		t.Fatal(err)
	}
	steps.Store(0)
	b, err := lab.Do(t.Context(), s, e, 1, long)
	if err != nil || steps.Load() != 20 {
		t.Fatalf("%d steps, want 20: %v", steps.Load(), err)
	}
	c, err := lab.Do(t.Context(), plain, e, 1, long)
	if err != nil || b.Value != c.Value || b.Artifacts[0] != c.Artifacts[0] {
		t.Errorf("%v and %v: %v", b, c, err)
	}
	if err := s.WarmStart(e.Jobs(2, long)[0].Record(), from, "../x"); !errors.Is(err, store.ErrMissing) {
		t.Error(err)
	}
}
