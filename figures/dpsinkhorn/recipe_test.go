package dpsinkhorn

import (
	"testing"

	"coupling/data"
	"coupling/lab"
)

// What is accounted for is what runs, at each preset.
func TestRecipeEvent(t *testing.T) {
	images, err := data.New(1000, 1, 28, 28)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []lab.Preset{lab.Smoke, lab.Quick, lab.Paper} {
		set := lab.Setting{Preset: p}
		for _, r := range []recipe{bestRecipe(set, 1), baseRecipe(set).Recipe, {Hidden: 2, Images: 3, Batch: 5000, Steps: 4, Clip: 1, L1: 1, Parameters: true}} {
			runs, err := r.training(images, 1.3).Event()
			if err != nil {
				t.Fatal(err)
			}
			if said := r.event(images.Len())(1.3); said != runs {
				t.Errorf("%+v: accounted for %v, and %v runs", r, said, runs)
			}
		}
	}
}

// An ε in a table is never less than the one that holds.
func TestSpent(t *testing.T) {
	for eps, want := range map[float64]string{10: "10 (exact)", 9.9999999: "10 (exact)", 1.2341: "1.24 (exact)", .3001: "0.301 (exact)", 712.3: "713 (exact)"} {
		if got := spent(eps, "exact"); got != want {
			t.Errorf("%g is printed as %s, want %s", eps, got, want)
		}
	}
}
