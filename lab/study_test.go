package lab_test

import (
	"context"
	"errors"
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

type parts struct{ N int }

var doubled = lab.Experiment[parts, int]{Name: "double", Version: 1,
	Run: func(_ context.Context, _ *lab.Cell, p parts) (int, error) { return 2 * p.N, nil }}

var errMine = errors.New("mine")

func doubles() lab.Study[parts, int] {
	grid := func(lab.Setting) []parts { return []parts{{1}} }
	return lab.Study[parts, int]{
		Name: "test/double", Experiment: doubled, Grid: grid,
		Also:   []lab.Cells{lab.Part[parts, int]{Experiment: doubled, Grid: grid}},
		Draw:   func(lab.View[parts, int]) (lab.Exhibit, error) { return lab.Exhibit{}, nil },
		Claims: func(lab.View[parts, int]) ([]lab.Claim, error) { return nil, nil },
	}
}

// Whatever a program changes that decides a figure's cells is an edit; with another drawing or other
// claims no command of the project makes the figure.
func TestEdited(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*lab.Study[parts, int])
		edited bool
		ours   bool // the project's command makes it
	}{
		{"nothing", func(*lab.Study[parts, int]) {}, false, true},
		{"the title", func(s *lab.Study[parts, int]) { s.Title = "Doubles" }, false, true},
		{"Grid", func(s *lab.Study[parts, int]) {
			s.Grid = func(lab.Setting) []parts { return []parts{{2}} }
		}, true, true},
		{"Seeds", func(s *lab.Study[parts, int]) { s.Seeds = lab.Replicates(2, 2, 2, 2) }, true, true},
		{"Also", func(s *lab.Study[parts, int]) {
			other := func(lab.Setting) []parts { return []parts{{3}} }
			s.Also = []lab.Cells{lab.Part[parts, int]{Experiment: doubled, Grid: other}}
		}, true, true},
		{"Run", func(s *lab.Study[parts, int]) {
			s.Experiment.Run = func(_ context.Context, _ *lab.Cell, p parts) (int, error) { return 3 * p.N, nil }
		}, true, true},
		{"Draw", func(s *lab.Study[parts, int]) {
			s.Draw = func(lab.View[parts, int]) (lab.Exhibit, error) { return lab.Exhibit{}, errMine }
		}, false, false},
		{"Claims", func(s *lab.Study[parts, int]) { s.Claims = nil }, false, false},
	} {
		s := lab.StudyOf(doubles)
		c.change(&s)
		f := s.Figure()
		edited, ours := f.Edited(lab.Setting{Preset: lab.Smoke, Seed: 1}), f.Constructor != ""
		if edited != c.edited || ours != c.ours {
			t.Errorf("with %s changed: edited %v, made by %q", c.what, edited, f.Constructor)
		}
	}
}
