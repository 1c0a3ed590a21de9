package synth

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/data"
)

// A Jitter keeps labels and range, is a function of its generator, moves by what it says and nothing where it is zero.
func TestJitter(t *testing.T) {
	m, err := data.New(50, 2, 9, 11)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range m.Pixels() {
		m.Pixels()[i] = rng.Float32()
	}
	m.Labels = make([]int, 50)
	apply := func(j Jitter, seed uint64) *data.Images {
		out, err := j.Apply(rand.New(rand.NewPCG(seed, 2)), m)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if !slices.Equal(apply(Jitter{}, 1).Pixels(), m.Pixels()) {
		t.Error("the zero value moves")
	}
	all := Jitter{Rotate: .2, Shear: .2, Scale: .1, Shift: .1, Elastic: .05, Mirror: true}
	a, b := apply(all, 1), apply(all, 1)
	if !slices.Equal(a.Pixels(), b.Pixels()) || slices.Equal(a.Pixels(), apply(all, 2).Pixels()) ||
		len(a.Labels) != 50 {
		t.Error("not a function of the generator")
	}
	if slices.Min(a.Pixels()) < 0 || slices.Max(a.Pixels()) > 1 {
		t.Error("outside of the range")
	}
	mirrored := 0
	mirror := apply(Jitter{Mirror: true}, 3)
	for i := range m.Len() {
		row, was := mirror.Row(i), slices.Clone(m.Row(i))
		if slices.Equal(row, was) {
			continue
		}
		for from := 0; from < len(was); from += 11 {
			slices.Reverse(was[from : from+11])
		}
		if mirrored++; !slices.Equal(row, was) {
			t.Fatalf("image %d is neither itself nor its mirror image", i)
		}
	}
	if mirrored < 10 || mirrored > 40 { // of 50 at one half: 4 standard deviations
		t.Errorf("%d of 50 are mirrored", mirrored)
	}
	if _, err := (Jitter{Rotate: -1}).Apply(rng, m); !errors.Is(err, ErrParameter) {
		t.Errorf("a negative angle: %v", err)
	}
}
