package device_test

import (
	"slices"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
)

// A launch reads what arrays hold then: each operation, recorded on one input and launched on another, gives the bits
// that it gives on that one unrecorded. Sizes reach sums in chunks.
func TestRecordedOperations(t *testing.T) {
	d := must.Get(device.CPU{Workers: 2}.Open())
	const n = 300
	images, filters, window := []int{2, 3, 100, 100}, []int{4, 3, 3, 3}, device.SquareWindow(3, 1, 1)
	result := []int{2, 4, 100, 100}
	outer := d.Scope()
	ops := writings(d, n)
	for name, call := range map[string]func(a arguments){
		"Conv 3×3":       func(a arguments) { device.Conv(a[2], a[0], a[1], window) },
		"ConvInput 3×3":  func(a arguments) { device.ConvInput(a[0], a[2], a[1], window) },
		"ConvWeight 3×3": func(a arguments) { device.ConvWeight(a[1], a[0], a[2], window) },
		"Reduce all":     func(a arguments) { device.Reduce(a[3].Rows(0, 1), a[0].Reshape(-1), device.LogSumExp) },
		"Reduce rows":    func(a arguments) { device.Reduce(a[3].Reshape(2, 1), a[2].Reshape(2, -1), device.Norm) },
		"Reduce no rows": func(a arguments) {
			device.Reduce(a[3].Rows(0, 1), a[0].Reshape(-1).Rows(0, 0), device.Sum)
		},
		"ReduceDot all":   func(a arguments) { device.ReduceDot(a[3].Rows(0, 1), a[0].Reshape(-1), a[0].Reshape(-1)) },
		"ConvSquares 3×3": func(a arguments) { device.ConvSquares(a[3], a[0], a[2], window) },
	} {
		ops[name] = writing{call: call}
	}
	for name, op := range ops {
		scope := d.Scope()
		names, _ := op.arrays()
		a := shaped(d, n, names)
		if op.shapes == "" {
			for _, shape := range [][]int{images, filters, result, {2}} {
				a = append(a, d.New(device.Float32, shape...))
			}
		}
		put := func(seed uint64) {
			s := d.Stream(seed)
			for _, x := range a {
				s.Uniform(x, .5, 1.5)
			}
			s.Free()
		}
		all := func() (x []float64) {
			for _, v := range a {
				x = append(x, must.Get(v.Float64s())...)
			}
			return x
		}
		step := func() {
			defer d.Scope().Close()
			op.call(a)
		}
		random := name == "Uniform" || name == "Normal" // whose stream has moved on
		put(2)
		step()
		want := all()
		put(3)
		g := d.Record(step)
		other := all()
		put(2)
		g.Launch()
		if got := all(); slices.Equal(got, want) == random {
			t.Errorf("%s: a launch is as the operation: %t", name, random)
		}
		if name != "Fill" && slices.Equal(other, want) {
			t.Errorf("%s: both inputs give the same", name)
		}
		g.Close()
		scope.Close()
	}
	outer.Close()
	must.Do(d.Close())
}
