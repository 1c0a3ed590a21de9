package dpsinkhorn

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/mat"
)

// halves is two columns: the mean of the upper half, and of the lower.
func halves() *mat.Dense {
	m := mat.NewDense(784, 2, nil)
	for i := range 784 {
		m.Set(i, i/392, 1/math.Sqrt(392))
	}
	return m
}

// What a step releases is coordinates: n×k, within the Bound of the clip, so that its sensitivity is the Sanitiser's; and images
// lie along the columns.
func TestProjectIsReleased(t *testing.T) {
	tr := small()
	tr.Project, tr.Sanitiser, tr.Steps = halves(), WholeBatch{Bound: .25}, 3
	seen := 0
	tr.Trace = func(k int, released *device.Array) {
		m := dense(t, released)
		if r, c := m.Dims(); r != tr.Images || c != 2 {
			t.Errorf("step %d released %d×%d, want %d×2", k, r, c, tr.Images)
		}
		if v := mat.Norm(m, 2); !(v > 0 && v <= .25) {
			t.Errorf("step %d: norm %g, want in (0, .25]", k, v)
		}
		seen++
	}
	g, err := fit(t, tr, bars(t, 40), synth.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if seen != 3 {
		t.Errorf("%d releases, want 3", seen)
	}
	m, err := g.Sample(rand.New(rand.NewPCG(1, 1)), 4)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		row := m.Row(i)
		for j, v := range row {
			// Sums of 392 values of float32 in [−1, 1], in another order, and of two columns.
			if at := row[j/392*392]; math.Abs(float64(v-at)) > 1e-4 {
				t.Fatalf("image %d: pixel %d is %g, the first of its half %g", i, j, v, at)
			}
		}
	}
}

// The projection, the classes in turn and the optimiser are part of what a run is: another one is refused in its folder.
func TestProjectIsPartOfTheRun(t *testing.T) {
	dir := t.TempDir()
	run := func(change func(*Training)) error {
		tr := small()
		tr.Project, tr.Steps = halves(), 2
		change(&tr)
		_, err := fit(t, tr, bars(t, 40), synth.Run{Dir: dir})
		return err
	}
	if err := run(func(*Training) {}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Training){
		"no projection": func(tr *Training) { tr.Project = nil },
		"another one":   func(tr *Training) { tr.Project = mat.DenseCopyOf(tr.Project.Slice(0, 784, 0, 1)) },
		"turns":         func(tr *Training) { tr.Turns = true },
		"descent":       func(tr *Training) { tr.SGD = &train.SGD{Rate: 1} },
	} {
		if err := run(change); !errors.Is(err, release.ErrLedger) {
			t.Errorf("%s: %v, want ErrLedger", name, err)
		}
	}
}

func TestProjectRefusals(t *testing.T) {
	for name, change := range map[string]func(*Training){
		"rows":          func(tr *Training) { tr.Project = mat.NewDense(783, 2, nil) },
		"not finite":    func(tr *Training) { tr.Project.Set(3, 1, math.NaN()) },
		"long":          func(tr *Training) { tr.Project.Scale(2, tr.Project) },
		"skew":          func(tr *Training) { tr.Project.Set(3, 1, .1) },
		"columns":       func(tr *Training) { tr.Project = mat.NewDense(784, 785, nil) },
		"no cost":       func(tr *Training) { tr.Loss = Loss{NoSquare: true} },
		"infinite cost": func(tr *Training) { tr.Loss = Loss{L1: math.Inf(1)} },
	} {
		tr := small()
		tr.Project = halves()
		change(&tr)
		if _, err := fit(t, tr, bars(t, 40), synth.Run{}); !errors.Is(err, synth.ErrParameter) {
			t.Errorf("%s: %v, want synth.ErrParameter", name, err)
		}
	}
}
