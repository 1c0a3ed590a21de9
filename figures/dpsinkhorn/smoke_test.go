package dpsinkhorn

import (
	"errors"
	"io"
	"testing"

	"coupling/data"
	"coupling/lab"
)

// Every figure computes, draws and claims at the smallest size; what it claims there holds.
func TestSmoke(t *testing.T) {
	store, err := lab.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	set := lab.Setting{Preset: lab.Smoke, Seed: 1, Device: "cpu"}
	for _, f := range Figures() {
		t.Run(f.Name, func(t *testing.T) {
			jobs, err := f.Jobs(set)
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range jobs {
				if err := j.Do(t.Context(), store); errors.Is(err, data.ErrMissing) {
					t.Skip(err)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			exhibit, err := f.Draw(store, set)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range exhibit.Pictures {
				if err := p.Drawing.Save(io.Discard, "png"); err != nil {
					t.Errorf("picture %q: %v", p.Name, err)
				}
			}
			claims, err := f.Claims(store, set)
			if err != nil || len(claims) == 0 {
				t.Fatalf("%d claims, %v", len(claims), err)
			}
			for _, c := range claims {
				if c.Verdict() == lab.Differs {
					t.Errorf("%s: got %g, expected %s", c.What, c.Got, c.Expected())
				}
			}
		})
	}
}
