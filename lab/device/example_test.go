package device_test

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
)

// Row norms of four points, on whatever device there is.
func Example() {
	dev, err := device.Open("cpu")
	if err != nil {
		panic(err)
	}
	defer dev.Close()
	points := dev.From32([]float32{3, 4, 5, 12, 8, 15, 7, 24}, 4, 2)
	defer points.Free()
	norms := dev.New(device.Float32, 4, 1)
	defer norms.Free()
	device.Reduce(norms, points, device.Norm)
	fmt.Println(norms.Get32())
	// Output: [5 13 17 25] <nil>
}

// A scope frees what a function made on the way; Keep hands out its result.
func ExampleDevice_Scope() {
	dev, _ := device.CPU{}.Open()
	softmax := func(x *device.Array) *device.Array {
		scope := dev.Scope()
		defer scope.Close()
		rows := []int{x.Dim(0), 1}
		lse := dev.New(x.Type(), rows...)
		y := x.Like()
		device.Reduce(lse, x, device.LogSumExp)
		device.Sub(y, x, lse)
		device.Map(y, y, device.Exp, 0)
		return scope.Keep(y)
	}
	x := dev.From64([]float64{0, 0, 1e4, 1e4}, 2, 2)
	y := softmax(x)
	p, err := y.Get64()
	fmt.Printf("%.6f %v\n", p, err)
	x.Free()
	y.Free()
	fmt.Println(dev.Close())
	// Output:
	// [0.500000 0.500000 0.500000 0.500000] <nil>
	// <nil>
}

// Errors wait until results leave the device; after Recover it goes on.
func ExampleDevice_Recover() {
	dev, _ := device.CPU{}.Open()
	defer dev.Close()
	defer dev.Scope().Close()
	x := dev.New(device.Float64, 1<<20, 1<<24) // 128 TiB
	device.Fill(x, 1)                          // does nothing
	y := dev.Zeros(device.Float64, 2)
	_, err := y.Get64()
	fmt.Println(errors.Is(err, device.ErrMemory))
	dev.Recover()
	fmt.Println(dev.Zeros(device.Float64, 2).Get64())
	// Output:
	// true
	// [0 0] <nil>
}

// One 2×2 filter sums what it sees.
func ExampleConv() {
	dev, _ := device.CPU{}.Open()
	defer dev.Close()
	defer dev.Scope().Close()
	image := dev.From32([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 1, 3, 3)
	filter, y := dev.From32([]float32{1, 1, 1, 1}, 1, 1, 2, 2), dev.New(device.Float32, 1, 1, 2, 2)
	device.Conv(y, image, filter, device.SquareWindow(2, 1, 0))
	fmt.Println(y.Get32())
	// Output: [12 16 24 28] <nil>
}

// Sinkhorn's iteration for two points each, with potentials that never leave the device.
func ExampleLSERows() {
	dev, _ := device.CPU{}.Open()
	defer dev.Close()
	defer dev.Scope().Close()
	const inv = 1 / 0.1
	costs := dev.FromDense(device.Float64, mat.NewDense(2, 2, []float64{0, 1, 1, 0}))
	half := dev.From64([]float64{-0.6931471805599453, -0.6931471805599453}, 2) // log of the weights
	u, h := dev.Zeros(device.Float64, 2), dev.Zeros(device.Float64, 2)
	for range 10 {
		device.LSERows(u, costs, h, inv)
		device.Sub(u, half, u)
		device.LSECols(h, costs, u, inv)
		device.Sub(h, half, h)
	}
	mass := dev.New(device.Float64, 2, 1)
	device.PlanRows(mass, costs, u, h, dev.From64([]float64{1, 1}, 2, 1), inv)
	x, err := mass.Get64()
	fmt.Printf("%.6f %v\n", x, err)
	// Output: [0.500000 0.500000] <nil>
}

// A recorded step draws new random numbers each time it is launched.
func ExampleDevice_Record() {
	dev, _ := device.CPU{}.Open()
	defer dev.Close()
	w, noise := dev.Zeros(device.Float32, 4), dev.Stream(1)
	step := dev.Record(func() {
		scope := dev.Scope()
		defer scope.Close()
		z := w.Like()
		noise.Normal(z, 0, 1)
		device.Add(w, w, z)
	})
	for range 9 {
		step.Launch()
	}
	_, drawn, err := noise.State()
	fmt.Println(drawn, "blocks of four", err)
	step.Close()
	w.Free()
	noise.Free()
	fmt.Println(dev.Close())
	// Output:
	// 10 blocks of four <nil>
	// <nil>
}
