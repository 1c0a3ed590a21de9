package amplification

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"coupling/lab"
	"coupling/lab/must"
)

// Looks outlive the process that took them.
func TestLooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "looks")
	first := looks{path: path, Accuracy: map[int]float64{}}
	if err := first.load(); err != nil || len(first.Accuracy) != 0 {
		t.Fatalf("of nothing: %v, %v", first.Accuracy, err)
	}
	for step, a := range map[int]float64{30: .25, 283: .5} {
		must.Do(first.note(step, a))
	}
	again := looks{path: path, Accuracy: map[int]float64{}}
	if err := again.load(); err != nil || !maps.Equal(again.Accuracy, first.Accuracy) {
		t.Errorf("%v, %v: want %v", again.Accuracy, err, first.Accuracy)
	}
}

// The accuracy at a stop is that of the last look before it, over all trainings.
func TestAccuracyAt(t *testing.T) {
	p := MNISTParams{Steps: mnistLooks(mnistEpochs)}
	if !slices.IsSorted(p.Steps) || !slices.Contains(p.Steps, mnistStop) || slices.Max(p.Steps) != mnistEpochs {
		t.Fatalf("looks after %v steps", p.Steps)
	}
	var two []lab.Result[MNISTParams, MNISTOut]
	for range 2 {
		r := lab.Result[MNISTParams, MNISTOut]{Params: p}
		for i := range p.Steps {
			r.Value.Accuracy = append(r.Value.Accuracy, float64(i+10*len(two)))
		}
		two = append(two, r)
	}
	last := len(p.Steps) - 1
	for _, c := range []struct{ step, look int }{{mnistEpochs, last}, {26_608, last}, {mnistEpochs - 1, last - 1},
		{p.Steps[3], 3}, {p.Steps[3] + 1, 3}, {1, 0}} {
		if at, a := accuracyAt(two, c.step); at != p.Steps[c.look] || a != float64(c.look)+5 {
			t.Errorf("step %d: look after %d with %g, want %d and %g", c.step, at, a, p.Steps[c.look],
				float64(c.look)+5)
		}
	}
}
