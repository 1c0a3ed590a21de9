package synth

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/data"
	"coupling/lab/must"
)

// A Jitter keeps labels and range, is a function of its generator, moves by what it says and nothing where it is zero.
func TestJitter(t *testing.T) {
	m := must.Get(data.New(50, 2, 9, 11))
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range m.Pixels() {
		m.Pixels()[i] = rng.Float32()
	}
	m.Labels = make([]int, 50)
	apply := func(j Jitter, seed uint64) *data.Images {
		return must.Get(j.Apply(rand.New(rand.NewPCG(seed, 2)), m))
	}
	if !slices.Equal(apply(Jitter{}, 1).Pixels(), m.Pixels()) {
		t.Error("the zero value moves")
	}
	all := Jitter{Rotate: .2, Shear: .2, Scale: .1, Shift: .1, Elastic: .05}
	a, b := apply(all, 1), apply(all, 1)
	if !slices.Equal(a.Pixels(), b.Pixels()) || slices.Equal(a.Pixels(), apply(all, 2).Pixels()) ||
		len(a.Labels) != 50 {
		t.Error("not a function of the generator")
	}
	if slices.Min(a.Pixels()) < 0 || slices.Max(a.Pixels()) > 1 {
		t.Error("outside of the range")
	}
	_, c, h, w := m.Shape() // a map to pixels takes them as they are
	row, was := make([]float32, m.Dim()), slices.Clone(m.Row(0))
	warp(row, was, c, h, w, func(x, y float64) (u, v float64) { return float64(w-1) - x, y })
	for line := range slices.Chunk(was, w) {
		slices.Reverse(line)
	}
	if !slices.Equal(row, was) {
		t.Error("the mirror image is another")
	}
	if _, err := (Jitter{Rotate: -1}).Apply(rng, m); !errors.Is(err, ErrParameter) {
		t.Errorf("a negative angle: %v", err)
	}
}
