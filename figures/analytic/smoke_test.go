package analytic

import (
	"io"
	"testing"

	"coupling/lab"
)

// Every figure computes, draws and claims at the smallest size; what it claims there holds.
func TestSmoke(t *testing.T) {
	figures := []lab.Figure{Proposition1(), Precision(), Plans(), Flow(), Colour(), GradientError(), Convergence(), Scaling(), Backward()}
	store, err := lab.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	set := lab.Setting{Preset: lab.Smoke, Seed: 1, Device: "cpu"}
	for _, f := range figures {
		t.Run(f.Name, func(t *testing.T) {
			jobs, err := f.Jobs(set)
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range jobs {
				if err := j.Do(t.Context(), store); err != nil {
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
			timed := f.Name == "analytic/convergence" || f.Name == "analytic/scaling" || f.Name == "analytic/backward"
			for _, c := range claims {
				// What is timed depends on how busy the machine is.
				if c.Verdict() == lab.Differs && !timed {
					t.Errorf("%s: got %g, expected %s", c.What, c.Got, c.Expected())
				}
			}
		})
	}
}
