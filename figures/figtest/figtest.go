// Package figtest tests figures: each computes, draws and claims at the smallest size.
package figtest

import (
	"io"
	"testing"

	"coupling/data"
	"coupling/lab"
	"coupling/lab/store"
)

// Setting is the smallest size, on the processor.
var Setting = lab.Setting{Preset: lab.Smoke, Seed: 1, Device: "cpu"}

// Store is an empty store that goes with the test. Figures of the test draw on the samples of
// package data/sample, so that it sees the same images on every machine.
func Store(t *testing.T) *store.Store {
	t.Helper()
	t.Setenv("COUPLING_DATA", string(data.Sample))
	s, err := lab.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Smoke computes and draws figures, and fails where a claim does not hold, or holds for its null,
// or a text gives a parameter that the cells have not; see [Texts]. In short mode it takes the
// first figure only.
func Smoke(t *testing.T, figures []lab.Figure) {
	t.Helper()
	store := Store(t)
	for i, f := range figures {
		if testing.Short() && i > 0 {
			break
		}
		t.Run(f.Name, func(t *testing.T) {
			Compute(t, store, f)
			Draw(t, store, f)
			Texts(t, store, f)
			claims := Claims(t, store, f)
			for _, c := range claims {
				if v := c.Verdict(); v != lab.Holds && v != lab.Skipped {
					t.Errorf("%s: %s: got %g, expected %s", v, c.What, c.Got, c.Expected())
				}
			}
			nulls(t, store, f, claims)
		})
	}
}

// nulls demands that each claim of a computed figure has a null and fails on it, be it asked at
// that size or not.
func nulls(t *testing.T, store *store.Store, f lab.Figure, claims []lab.Claim) {
	t.Helper()
	done := map[string]bool{}
	for _, c := range claims {
		if done[c.Null.Name] {
			continue
		}
		done[c.Null.Name] = true
		spoiled, err := f.Sabotaged(store, Setting, Setting.Preset, c.Null.Spoil...)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range spoiled {
			if s.Null.Name == c.Null.Name && (s.Null.Name == "" || s.Holds()) {
				t.Errorf("%s holds for garbage (%q): got %g, expected %s", s.What, s.Null.Name, s.Got, s.Expected())
			}
		}
	}
}

// Compute does the cells of a figure and returns them.
func Compute(t *testing.T, store *store.Store, f lab.Figure) []store.Job {
	t.Helper()
	jobs := f.Jobs(Setting)
	for _, j := range jobs {
		if _, err := j.Try(t.Context(), store); err != nil {
			t.Fatal(err)
		}
	}
	return jobs
}

// Draw draws all pictures of a figure, and throws them away.
func Draw(t *testing.T, store *store.Store, f lab.Figure) {
	t.Helper()
	exhibit, err := f.Draw(store, Setting)
	if err != nil {
		t.Fatal(err)
	}
	if len(exhibit.Pictures)+len(exhibit.Tables) == 0 {
		t.Error("neither pictures nor tables")
	}
	for _, p := range exhibit.Pictures {
		if err := p.Drawing.Save(io.Discard, "png"); err != nil {
			t.Errorf("picture %q: %v", p.Name, err)
		}
	}
}

// Claims returns the claims of a figure, of which there must be some.
func Claims(t *testing.T, store *store.Store, f lab.Figure) []lab.Claim {
	t.Helper()
	claims, err := f.Claims(store, Setting)
	if err != nil || len(claims) == 0 {
		t.Fatalf("%d claims, %v", len(claims), err)
	}
	return claims
}
