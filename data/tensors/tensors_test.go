package tensors_test

import (
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"coupling/data"
	"coupling/data/tensors"
	"coupling/lab/must"
)

func TestViewsShareMemory(t *testing.T) {
	m := must.Get(data.New(3, 2, 2, 5))
	m.Row(1)[3] = -7
	if at, err := tensors.Of(m).At(1, 0, 0, 3); err != nil || at.(float32) != -7 {
		t.Errorf("Of(m)[1, 0, 0, 3] = %v, %v: want -7", at, err)
	}
	if at, err := tensors.Rows(m).At(1, 3); err != nil || at.(float32) != -7 {
		t.Errorf("Rows(m)[1, 3] = %v, %v: want -7", at, err)
	}
	if err := tensors.Rows(m).SetAt(float32(8), 2, 19); err != nil || m.Pixels()[59] != 8 {
		t.Errorf("setting the last value through Rows: %v", err)
	}
	if none := m.Take(nil); tensors.Of(none) != nil || tensors.Rows(none) != nil {
		t.Error("a tensor of no images")
	}
}

func TestImages(t *testing.T) {
	backing := []float32{1, 2, 3, 4, 5, 6}
	m := must.Get(tensors.Images(tensor.New(tensor.WithShape(1, 1, 2, 3), tensor.WithBacking(backing)), -1, 1))
	if backing[5] = 60; m.Row(0)[5] != 60 || m.Lo != -1 {
		t.Error("the images do not share the tensor's memory")
	}
	turned := tensor.New(tensor.WithShape(1, 1, 2, 3), tensor.WithBacking(slices.Clone(backing)))
	must.Do(turned.T(0, 1, 3, 2))
	for name, bad := range map[string]*tensor.Dense{
		"rank 2":     tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(backing)),
		"float64":    tensor.New(tensor.WithShape(1, 1, 2, 3), tensor.Of(tensor.Float64)),
		"transposed": turned,
		"columns":    tensor.New(tensor.WithShape(1, 1, 2, 3), tensor.AsFortran(slices.Clone(backing))),
	} {
		if _, err := tensors.Images(bad, 0, 1); err == nil || !strings.Contains(err.Error(), "row-major") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tensors.Images(tensors.Of(m), 1, 1); err == nil || !strings.Contains(err.Error(), "range [1, 1]") {
		t.Errorf("range [1, 1]: %v", err)
	}
}
