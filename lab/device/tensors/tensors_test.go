package tensors_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"coupling/lab/device"
	"coupling/lab/device/tensors"
)

func open(t testing.TB) *device.Device {
	t.Helper()
	d, err := device.CPU{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func counted[T float32 | float64 | int32](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(i) - 3
	}
	return x
}

// There and back is the same tensor, for each type and rank.
func TestRoundTrip(t *testing.T) {
	d := open(t)
	defer d.Scope().Close()
	for _, shape := range [][]int{{1}, {7}, {3, 5}, {1, 4}, {4, 1}, {2, 3, 5}, {2, 1, 3, 4}, {1, 2, 3, 2, 3}} {
		n := tensor.Shape(shape).TotalSize()
		for _, backing := range []any{counted[float32](n), counted[float64](n), counted[int32](n)} {
			x := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
			a, err := tensors.From(d, x)
			if err != nil {
				t.Fatal(err)
			}
			back, err := tensors.To(a)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(backing, back.Data()); diff != "" || !back.Shape().Eq(tensor.Shape(shape)) {
				t.Errorf("%v became %v: %s", shape, back.Shape(), diff)
			}
			if err := tensors.Set(a, back); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestScalar(t *testing.T) {
	d := open(t)
	defer d.Scope().Close()
	for _, x := range []*tensor.Dense{tensor.New(tensor.FromScalar(float32(2))), tensor.New(tensor.FromScalar(2.0)), tensor.New(tensor.FromScalar(int32(2)))} {
		a, err := tensors.From(d, x)
		if err != nil || a.Rank() != 0 {
			t.Fatalf("%v, %v: must have rank 0", a, err)
		}
		back, err := tensors.To(a)
		if err != nil || fmt.Sprint(back.Data()) != "2" {
			t.Errorf("%v, %v: must be 2", back, err)
		}
		if err := tensors.Set(a, x); err != nil {
			t.Error(err)
		}
	}
}

// Transposes, slices and column-major tensors come in the order of their axes.
func TestOrder(t *testing.T) {
	d := open(t)
	defer d.Scope().Close()
	plain := func() *tensor.Dense {
		return tensor.New(tensor.WithShape(3, 4), tensor.WithBacking(counted[float32](12)))
	}
	turned := plain()
	if err := turned.T(); err != nil {
		t.Fatal(err)
	}
	moved := plain()
	if err := moved.T(); err != nil {
		t.Fatal(err)
	}
	if err := moved.Transpose(); err != nil {
		t.Fatal(err)
	}
	cut, err := plain().Slice(tensor.S(1, 3), tensor.S(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	column, err := plain().Slice(nil, tensor.S(2))
	if err != nil {
		t.Fatal(err)
	}
	columns := tensor.New(tensor.WithShape(3, 4), tensor.AsFortran(counted[float32](12))) // transposes what it is given
	cases := []struct {
		name  string
		x     *tensor.Dense
		shape []int
		want  []float32
	}{
		{"transposed by strides", turned, []int{4, 3}, []float32{-3, 1, 5, -2, 2, 6, -1, 3, 7, 0, 4, 8}},
		{"transposed in memory", moved, []int{4, 3}, []float32{-3, 1, 5, -2, 2, 6, -1, 3, 7, 0, 4, 8}},
		{"part", cut.(*tensor.Dense), []int{2, 2}, []float32{2, 3, 6, 7}},
		{"column", column.(*tensor.Dense), []int{3}, []float32{-1, 3, 7}},
		{"column-major", columns, []int{3, 4}, counted[float32](12)},
	}
	for _, c := range cases {
		a, err := tensors.From(d, c.x)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := a.Get32()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.shape, a.Shape()); diff != "" {
			t.Errorf("%s: shape %s", c.name, diff)
		}
	}
}

func TestErrors(t *testing.T) {
	d := open(t)
	defer d.Scope().Close()
	for _, x := range []*tensor.Dense{tensor.New(tensor.WithShape(2), tensor.WithBacking([]int{1, 2})), tensor.New(tensor.WithShape(2), tensor.WithBacking([]string{"a", "b"}))} {
		if _, err := tensors.From(d, x); !errors.Is(err, tensors.ErrType) {
			t.Errorf("%v: got %v: must be ErrType", x.Dtype(), err)
		}
	}
	if _, err := tensors.To(d.New(device.Float32, 0, 3)); err == nil {
		t.Error("an empty array became a tensor")
	}
	a := d.Zeros(device.Float32, 2, 3)
	for _, x := range []*tensor.Dense{
		tensor.New(tensor.WithShape(3, 2), tensor.WithBacking(counted[float32](6))),
		tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(counted[float64](6))),
	} {
		if err := tensors.Set(a, x); err == nil {
			t.Errorf("%v%v was copied to %v", x.Dtype(), x.Shape(), a)
		}
	}
	d.New(device.Float32, 1<<50)
	if _, err := tensors.To(a); !errors.Is(err, device.ErrMemory) {
		t.Errorf("To on a device that failed: %v: must be ErrMemory", err)
	}
	d.Recover()
}

func Example() {
	dev, err := device.CPU{}.Open()
	if err != nil {
		panic(err)
	}
	defer dev.Close()
	images := tensor.New(tensor.WithShape(1, 1, 2, 2), tensor.WithBacking([]float32{1, 2, 3, 4}))
	x, err := tensors.From(dev, images)
	if err != nil {
		panic(err)
	}
	defer x.Free()
	device.Scale(x, 10, x)
	y, err := tensors.To(x)
	fmt.Println(y.Shape(), y.Data(), err)
	// Output: (1, 1, 2, 2) [10 20 30 40] <nil>
}
