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
	scope := d.Scope()
	const n, m = 300, 200
	x, y, row, column := d.New(device.Float32, n, m), d.New(device.Float32, n, m), d.New(device.Float32, 1, m),
		d.New(device.Float32, n, 1)
	long, one := d.New(device.Float32, 1, n*m), d.New(device.Float32, 1, 1)
	index, ints, stream := d.New(device.Int32, n), d.New(device.Int32, n), d.Stream(5)
	image, weight, window := x.Reshape(2, 3, 100, 100), d.New(device.Float32, 4, 3, 3, 3), device.SquareWindow(3, 1, 1)
	result, dw := d.New(device.Float32, 2, 4, 100, 100), d.New(device.Float32, 4, 3, 3, 3)
	stream.Normal(weight, 0, 1)
	put := func(seed uint64) {
		s := d.Stream(seed)
		s.Normal(x, 0, 1)
		device.Convert(long.Reshape(n, m), x)
		s.Normal(result, 0, 1)
		s.Free()
		v := make([]int32, n)
		for i := range v {
			v[i] = int32((i*int(seed) + 3) % m)
		}
		index.SetInts(v)
		stream.Seek(9, 0)
		for _, a := range []*device.Array{y, row, column, one, dw} {
			device.Fill(a, 1)
		}
		device.Fill(ints, 2)
	}
	for name, c := range map[string]struct {
		do  func()
		out *device.Array
	}{
		"sum of rows":    {func() { device.Reduce(column, x, device.Sum) }, column},
		"sum of columns": {func() { device.Reduce(row, x, device.Norm) }, row},
		"sum of all":     {func() { device.Reduce(one, long, device.LogSumExp) }, one},
		"product of all": {func() { device.ReduceDot(one, long, long) }, one},
		"no rows":        {func() { device.Reduce(row, x.Rows(0, 0), device.Sum) }, row},
		"fill integers":  {func() { device.Fill(ints, 7) }, ints},
		"gather":         {func() { device.Gather(y, x, index) }, y},
		"scatter":        {func() { device.Scatter(y, x, index) }, y},
		"cross-entropy":  {func() { device.CrossEntropy(column.Reshape(n), y, x, index) }, y},
		"uniform":        {func() { stream.Uniform(y, 0, 1); stream.Uniform(y, 0, 1) }, y},
		"rows clipped":   {func() { device.ClipRows(y, x, 1) }, y},
		"convolution":    {func() { device.Conv(result, image, weight, window) }, result},
		"its input":      {func() { device.ConvInput(y.Reshape(2, 3, 100, 100), result, weight, window) }, y},
		"its weight":     {func() { device.ConvWeight(dw, image, result, window) }, dw},
		"squares": {func() {
			device.ConvSquares(one.Reshape(1).Rows(0, 1), image.Rows(0, 1), result.Rows(0, 1), window)
		}, one},
		"log-sum-exp": {func() { device.LSECols(row.Reshape(m), x, column.Reshape(n), 1) }, row},
		"plan": {func() { device.PlanRows(column, x, zeros(d, n), zeros(d, m), row.Reshape(m, 1), 1) },
			column},
		"points": {func() { device.PointLSE(column.Reshape(n), x, y, zeros(d, n), device.Cost{Square: 1}, 1) },
			column},
		"product":         {func() { device.Gemm(y, 1, x.N(), x.Rows(0, m).N(), 0) }, y},
		"resampled":       {func() { device.Bilinear(y.Reshape(2, 3, 200, 50), image, false) }, y},
		"pooled":          {func() { device.MaxPool(y.Reshape(2, 3, 100, 100), places(d), image, window) }, y},
		"scaled in place": {func() { device.Axpby(y, 2, x, 1, y) }, y},
	} {
		step := func() {
			defer d.Scope().Close()
			c.do()
		}
		put(2)
		step()
		want := numbers(t, c.out)
		put(3)
		g := d.Record(step)
		other := numbers(t, c.out)
		put(2)
		g.Launch()
		if got := numbers(t, c.out); !slices.Equal(got, want) {
			t.Errorf("%s: a launch differs from the operation", name)
		}
		if slices.Equal(other, want) && name != "fill integers" && name != "no rows" && name != "uniform" {
			t.Errorf("%s: both inputs give the same", name)
		}
		g.Close()
	}
	stream.Free()
	scope.Close()
	must.Do(d.Close())
}

// zeros and places are arrays that the scope of the operation frees, the latter for the indices of a pool.
func zeros(d *device.Device, n int) *device.Array { return d.Zeros(device.Float32, n) }
func places(d *device.Device) *device.Array       { return d.New(device.Int32, 2, 3, 100, 100) }

func numbers(t *testing.T, a *device.Array) []float64 {
	t.Helper()
	if a.Type() != device.Int32 {
		return must.Get(a.Float64s())
	}
	v := must.Get(a.GetInts())
	x := make([]float64, len(v))
	for i, k := range v {
		x[i] = float64(k)
	}
	return x
}
