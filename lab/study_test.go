package lab_test

import (
	"context"
	"strings"
	"testing"

	"coupling/lab"
	"coupling/lab/must"
)

type (
	study = lab.Study[int, int]
	part  = lab.Part[int, int]
	view  = lab.View[int, int]
)

var smoke = lab.Setting{Preset: lab.Smoke, Seed: 1}

func grid(ns ...int) func(lab.Setting) []int { return func(lab.Setting) []int { return ns } }

// shared is the part with the double of n.
func shared(n int) part {
	return part{Experiment: lab.Experiment[int, int]{Name: "double", Version: 1,
		Run: func(_ context.Context, _ *lab.Cell, n int) (int, error) { return 2 * n, nil }}, Grid: grid(n)}
}

// doubles draws the double of 7, which it lists in Also, and claims something of that of 3, which it lacks.
func doubles() study {
	return study{
		Name: "test/double", Experiment: shared(1).Experiment, Grid: grid(1, 2), Also: []lab.Cells{shared(7)},
		Draw:   func(v view) (lab.Exhibit, error) { shared(7).View(v.Source); return lab.Exhibit{}, nil },
		Claims: func(v view) ([]lab.Claim, error) { v.At(3); return nil, nil },
	}
}

// A drawing or a claim that asks for cells which the study does not list ends with an error that names them.
func TestMissingCells(t *testing.T) {
	store, study := must.Get(lab.OpenStore(t.TempDir())), doubles()
	for _, j := range study.Figure().Jobs(smoke) {
		must.Get(j.Try(t.Context(), store))
	}
	if _, err := study.Figure().Draw(store, smoke); err != nil {
		t.Errorf("listed in Also: %v", err)
	}
	study.Also = nil
	if _, err := study.Figure().Draw(store, smoke); err == nil || !strings.Contains(err.Error(), "cells of double") {
		t.Errorf("not listed in Also: %v", err)
	}
	if _, err := study.Figure().Claims(store, smoke); err == nil || !strings.Contains(err.Error(), "no cell 3") {
		t.Errorf("not of the grid: %v", err)
	}
}

// Whatever a program changes that decides a figure's cells is an edit; with another drawing or other
// claims no command of the project makes the figure.
func TestEdited(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*study)
		edited bool
		ours   bool // the project's command makes it
	}{
		"nothing":   {func(*study) {}, false, true},
		"the title": {func(s *study) { s.Title = "Doubles" }, false, true},
		"Grid":      {func(s *study) { s.Grid = grid(2, 1) }, true, true},
		"Seeds":     {func(s *study) { s.Seeds = lab.Replicates(2, 2, 2, 2) }, true, true},
		"Also":      {func(s *study) { s.Also = []lab.Cells{shared(3)} }, true, true},
		"Run": {func(s *study) {
			s.Experiment.Run = func(context.Context, *lab.Cell, int) (int, error) { return 3, nil }
		}, true, true},
		"Draw": {func(s *study) {
			s.Draw = func(view) (lab.Exhibit, error) { return lab.Exhibit{}, nil }
		}, false, false},
		"Claims": {func(s *study) { s.Claims = nil }, false, false},
	} {
		s := lab.StudyOf(doubles)
		c.change(&s)
		f := s.Figure()
		if edited, ours := f.Edited(smoke), f.Constructor != ""; edited != c.edited || ours != c.ours {
			t.Errorf("with %s changed: edited %v, made by %q", what, edited, f.Constructor)
		}
	}
}
