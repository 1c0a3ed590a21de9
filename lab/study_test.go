package lab_test

import (
	"context"
	"strings"
	"testing"

	"coupling/lab"
	"coupling/lab/must"
)

// A drawing or a claim that asks for cells which the study does not list ends with an error that names them.
func TestMissingCells(t *testing.T) {
	type P struct{ N int }
	double := lab.Experiment[P, int]{Name: "double", Version: 1,
		Run: func(_ context.Context, _ *lab.Cell, p P) (int, error) { return 2 * p.N, nil }}
	shared := lab.Part[P, int]{Experiment: double, Grid: func(lab.Setting) []P { return []P{{7}} }}
	study := lab.Study[P, int]{
		Name: "test/double", Experiment: double, Grid: func(lab.Setting) []P { return []P{{1}, {2}} },
		Draw:   func(v lab.View[P, int]) (lab.Exhibit, error) { shared.View(v.Source); return lab.Exhibit{}, nil },
		Claims: func(v lab.View[P, int]) ([]lab.Claim, error) { v.At(P{3}); return nil, nil },
	}
	store := must.Get(lab.OpenStore(t.TempDir()))
	set := lab.Setting{Preset: lab.Smoke, Seed: 1}
	listed := study
	listed.Also = []lab.Cells{shared}
	for _, j := range listed.Figure().Jobs(set) {
		if _, err := j.Try(t.Context(), store); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := listed.Figure().Draw(store, set); err != nil {
		t.Errorf("listed in Also: %v", err)
	}
	if _, err := study.Figure().Draw(store, set); err == nil || !strings.Contains(err.Error(), "cells of double") {
		t.Errorf("not listed in Also: %v", err)
	}
	if _, err := study.Figure().Claims(store, set); err == nil || !strings.Contains(err.Error(), "no cell {N:3}") {
		t.Errorf("not of the grid: %v", err)
	}
}
