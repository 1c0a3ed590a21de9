package device_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
)

// BenchmarkOpsOnDevice times operations on the device that COUPLING_DEVICE names: bytes that must
// move, multiplications and additions, or exponentials, a second. Operations are given in rounds,
// as programs do, and each round waits for the device.
func BenchmarkOpsOnDevice(b *testing.B) {
	d := must.Get(device.Open(""))
	defer d.Close()
	b.Logf("%v: %s", d, d.Info().Detail)
	for _, group := range []func(*device.Device) []timed{
		peaks, copyOps, mapOps, reduceOps, normOps, productOps, imageOps, randomOps, trainingOps, transportOps,
	} {
		for _, op := range group(d) {
			b.Run(op.name, func(b *testing.B) { op.run(b, d) })
		}
	}
}

// timed is a call with what one of it moves and computes.
type timed struct {
	name  string
	unit  string  // "GB/s", "GFLOP/s", "Gexp/s"
	count float64 // bytes, operations or exponentials: what is reported a second
	work  work
	setup func() (call func())
}

// work is what a call cannot do without: bytes between memory and processor, operations, exponentials. gpucheck divides
// them by what the peaks reach.
type work struct{ bytes, flop, exps float64 }

// op is a call that moves, or multiplies and adds, or exponentiates, by its unit.
func op(name, unit string, count float64, setup func() func()) timed {
	t := timed{name: name, unit: unit, count: count, setup: setup}
	switch unit {
	case "GB/s":
		t.work.bytes = count
	case "GFLOP/s":
		t.work.flop = count
	default:
		t.work.exps = count
	}
	return t
}

// beside adds what else it does.
func (op timed) beside(bytes, flop float64) timed {
	op.work.bytes += bytes
	op.work.flop += flop
	return op
}

// elsewhere is a call that the peaks say nothing about.
func (op timed) elsewhere() timed {
	op.work = work{}
	return op
}

func (op timed) run(b *testing.B, d *device.Device) {
	defer d.Scope().Close()
	call := op.setup()
	const round = 8
	call() // first launches load kernels and grow pools
	must.Do(d.Sync())
	for b.Loop() {
		for range round {
			call()
		}
		d.Sync()
	}
	must.Do(d.Err())
	seconds := b.Elapsed().Seconds() / float64(b.N*round)
	b.ReportMetric(op.count/seconds/1e9, op.unit)
	b.ReportMetric(seconds*1e9, "ns/call")
	for unit, n := range map[string]float64{"bytes/call": op.work.bytes, "flop/call": op.work.flop,
		"exp/call": op.work.exps} {
		if n > 0 {
			b.ReportMetric(n, unit)
		}
	}
}

// big is whether the device is a GPU, which the sizes of a processor leave idle. The emulator is a processor.
func big(d *device.Device) bool {
	return d.Info().Kind == "cuda" && !strings.HasPrefix(d.Info().Name, "Emulator")
}

// lengths are in the caches of a core, of a processor, and of none; 50 MB are still in those of a big GPU.
func lengths(d *device.Device) []int {
	all := []int{1 << 12, 1 << 18, 1 << 23}
	if big(d) {
		all = append(all, 1<<27)
	}
	return all
}

// peaks is what the others are held to: the bandwidth of copies and the speed of large products.
func peaks(d *device.Device) []timed {
	n, side := 1<<23, 1024
	if big(d) {
		n, side = 1<<28, 8192
	}
	ops := []timed{op("Peak/copy", "GB/s", 8*float64(n), func() func() {
		x, y := random(d, device.Float32, n), d.New(device.Float32, n)
		return func() { device.Convert(y, x) }
	})}
	for _, t := range []device.DType{device.Float32, device.Float64} {
		ops = append(ops, op("Peak/product "+t.String(), "GFLOP/s", 2*math.Pow(float64(side), 3), func() func() {
			a, b, c := random(d, t, side, side), random(d, t, side, side), d.New(t, side, side)
			return func() { device.Gemm(c, 1, a.N(), b.N(), 0) }
		}))
	}
	return ops
}

func random(d *device.Device, t device.DType, shape ...int) *device.Array {
	a, s := d.New(t, shape...), d.Stream(1)
	s.Normal(a, 0, 1)
	s.Free()
	return a
}

// moving is a call on k vectors of n numbers, each of which it reads or writes.
func moving(d *device.Device, name string, k, n int, call func(a []*device.Array)) timed {
	return op(fmt.Sprintf("%s/n=%d", name, n), "GB/s", 4*float64(k*n), func() func() {
		var a []*device.Array
		for range k {
			a = append(a, random(d, device.Float32, n))
		}
		return func() { call(a) }
	})
}

func copyOps(d *device.Device) (ops []timed) {
	for _, n := range lengths(d) {
		ops = append(ops,
			moving(d, "Copy", 2, n, func(a []*device.Array) { device.Convert(a[0], a[1]) }),
			op(fmt.Sprintf("Upload/n=%d", n), "GB/s", 4*float64(n), func() func() {
				x, y := make([]float32, n), d.New(device.Float32, n)
				return func() { y.Set32(x) }
			}).elsewhere(),
			moving(d, "Download", 1, n, func(a []*device.Array) { a[0].Get32() }).elsewhere())
	}
	return ops
}

func mapOps(d *device.Device) (ops []timed) {
	for _, n := range lengths(d) {
		for _, f := range []struct {
			name string
			f    device.Unary
		}{{"ReLU", device.ReLU}, {"Exp", device.Exp}, {"Tanh", device.Tanh}, {"SiLU", device.SiLU}} {
			ops = append(ops, moving(d, f.name, 2, n, func(a []*device.Array) { device.Map(a[0], a[1], f.f, 0) }))
		}
		ops = append(ops,
			moving(d, "TanhVJP", 4, n, func(a []*device.Array) {
				device.MapVJP(a[0], a[1], a[2], a[3], device.Tanh, 0)
			}),
			moving(d, "Add", 3, n, func(a []*device.Array) { device.Add(a[0], a[1], a[2]) }))
	}
	return append(ops, op("Add/bias of 64×128×32×32", "GB/s", 8*64*128*1024, func() func() {
		x, bias := random(d, device.Float32, 64, 128, 32, 32), random(d, device.Float32, 1, 128, 1, 1)
		return func() { device.Add(x, x, bias) }
	}))
}

func reduceOps(d *device.Device) (ops []timed) {
	for _, c := range []struct {
		name      string
		to, shape []int
	}{
		{"rows of 1024", []int{4096, 1}, []int{4096, 1024}},
		{"columns of 4096", []int{1, 1024}, []int{4096, 1024}},
		{"channels", []int{1, 128, 1, 1}, []int{64, 128, 32, 32}},
		{"all", []int{1, 1}, []int{4096, 1024}},
	} {
		n := 4.0
		for _, s := range c.shape {
			n *= float64(s)
		}
		for _, f := range []struct {
			name string
			f    device.Reduction
		}{{"Sum", device.Sum}, {"LogSumExp", device.LogSumExp}} {
			ops = append(ops, op("Reduce/"+f.name+" of "+c.name, "GB/s", n, func() func() {
				x, y := random(d, device.Float32, c.shape...), d.New(device.Float32, c.to...)
				return func() { device.Reduce(y, x, f.f) }
			}))
		}
	}
	return ops
}

// normOps are passes of normalisations over images, whose channels have statistics.
func normOps(d *device.Device) []timed {
	const n, c, p = 64, 128, 1024
	pass := func(name string, arrays int, call func(x, y, z, per, v, r *device.Array)) timed {
		return op(name+"/64×128×32×32", "GB/s", 4*float64(arrays*n*c*p), func() func() {
			f := func(shape ...int) *device.Array { return random(d, device.Float32, shape...) }
			x, y, z, per, v, r := f(n, c, p), f(n, c, p), f(n, c, p), f(1, c, 1), f(1, c, 1), f(1, c, 1)
			return func() { call(x, y, z, per, v, r) }
		})
	}
	return []timed{
		pass("Affine, bias and ReLU", 2, func(x, y, _, per, _, _ *device.Array) {
			device.Affine{Shift: per, Func: device.ReLU}.Apply(y, x)
		}),
		pass("Affine VJP", 4, func(x, y, z, per, _, _ *device.Array) {
			device.Affine{Func: device.ReLU}.VJP(z, per, nil, x, y, z)
		}),
		pass("Moments", 1, func(x, _, _, per, v, r *device.Array) {
			device.Moments(per, v, r, x, 1e-5, 0)
		}),
		pass("Moments VJP", 3, func(x, y, z, per, _, _ *device.Array) {
			device.Normalised{Mean: per, Rstd: per, Scale: per, Sum: per, Along: per}.VJP(z, y, x, 0)
		}),
	}
}

func productOps(d *device.Device) (ops []timed) {
	product := func(t device.DType, batch, m, n, k int, ta, tb bool) {
		name := fmt.Sprintf("Gemm/%v %d×%d×%d×%d transposed %v %v", t, batch, m, n, k, ta, tb)
		ops = append(ops, op(name, "GFLOP/s", 2*float64(batch)*float64(m)*float64(n)*float64(k), func() func() {
			shape := func(r, c int, turned bool) []int {
				if turned {
					r, c = c, r
				}
				return []int{batch, r, c}
			}
			a := device.Factor{Array: random(d, t, shape(m, k, ta)...), Transpose: ta}
			b := device.Factor{Array: random(d, t, shape(k, n, tb)...), Transpose: tb}
			c := d.New(t, batch, m, n)
			return func() { device.Gemm(c, 1, a, b, 0) }
		}))
	}
	for _, n := range []int{64, 256, 1024} {
		product(device.Float32, 1, n, n, n, false, false)
		product(device.Float64, 1, n, n, n, false, false)
	}
	product(device.Float32, 1, 512, 512, 512, true, false)
	product(device.Float32, 1, 512, 512, 512, false, true)
	for _, s := range [][4]int{{70, 128, 64, 1024}, {10, 256, 49, 2048}, {1, 70, 12544, 100}} { // layers of DCGAN
		product(device.Float32, s[0], s[1], s[2], s[3], false, false)
	}
	product(device.Float32, 10, 2048, 49, 256, true, false)
	product(device.Float32, 256, 32, 32, 32, false, false)
	return ops
}

func imageOps(d *device.Device) []timed {
	const images, multiplies = 64 * 64 * 32 * 32, 2 * 64 * 64 * 64 * 16 * 16 * 16
	f := func(shape ...int) *device.Array { return random(d, device.Float32, shape...) }
	x, y, weight, big := f(64, 64, 32, 32), f(64, 64, 16, 16), f(64, 64, 4, 4), f(64, 64, 64, 64)
	index, w, pool := d.Zeros(device.Int32, y.Shape()...), device.SquareWindow(4, 2, 1), device.SquareWindow(2, 2, 0)
	call := func(name, unit string, n float64, f func()) timed {
		return op(name, unit, n, func() func() { return f })
	}
	return []timed{
		call("Conv/4×4", "GFLOP/s", multiplies, func() { device.Conv(y, x, weight, w) }),
		call("ConvInput/4×4", "GFLOP/s", multiplies, func() { device.ConvInput(x, y, weight, w) }),
		call("ConvWeight/4×4", "GFLOP/s", multiplies, func() { device.ConvWeight(weight, x, y, w) }),
		call("MaxPool/2×2", "GB/s", 4*1.5*images, func() { device.MaxPool(y, index, x, pool) }),
		call("AvgPool/2×2", "GB/s", 4*1.25*images, func() { device.AvgPool(y, x, pool) }),
		call("Bilinear/2×", "GB/s", 4*5*images, func() { device.Bilinear(big, x, false) }),
	}
}

func randomOps(d *device.Device) []timed {
	const n = 1 << 20
	draw := func(f func(s *device.Stream, a *device.Array)) func() func() {
		return func() func() {
			a := d.New(device.Float32, n)
			s := d.Stream(1) // its state is freed with the scope
			return func() { f(s, a) }
		}
	}
	return []timed{
		op("Uniform", "GB/s", 4*n, draw(func(s *device.Stream, a *device.Array) { s.Uniform(a, 0, 1) })),
		op("Normal", "GB/s", 4*n, draw(func(s *device.Stream, a *device.Array) { s.Normal(a, 0, 1) })),
	}
}

func trainingOps(d *device.Device) []timed {
	const n = 1 << 22
	return []timed{
		op("StepAdam", "GB/s", 28*n, func() func() {
			list := func() []*device.Array { return []*device.Array{d.Zeros(device.Float32, n)} }
			u := device.Update{W: list(), G: list(), M: list(), V: list(), Factor: d.From32([]float32{1}, 1)}
			t, a := d.FromInts([]int32{0}, 1), device.Adam{Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
			device.Fill(u.G[0], 1)
			return func() { device.StepAdam(u, t, a) }
		}),
		op("ClipRows/256×16384", "GB/s", 8*n, func() func() {
			x := random(d, device.Float32, 256, n/256)
			y := x.Like()
			return func() { device.ClipRows(y, x, 1) }
		}),
		op("CrossEntropy/4096×10", "Gexp/s", 40960, func() func() {
			x := random(d, device.Float32, 4096, 10)
			loss, grad, labels := d.New(device.Float32, 4096), x.Like(), d.Zeros(device.Int32, 4096)
			return func() { device.CrossEntropy(loss, grad, x, labels) }
		}),
	}
}

func transportOps(d *device.Device) (ops []timed) {
	dense, cloud := []int{2048}, []int{2048}
	if big(d) {
		dense, cloud = append(dense, 16384), append(cloud, 32768)
	}
	for _, t := range []device.DType{device.Float32, device.Float64} {
		for _, n := range dense {
			ops = append(ops, denseOps(d, t, n)...)
		}
		for _, n := range cloud {
			for _, dim := range []int{2, 3, 8, 16, 64} {
				ops = append(ops, pointOps(d, t, n, dim)...)
			}
		}
	}
	return append(ops, op("LSERows/1024 of 32×32", "Gexp/s", 1<<20, func() func() {
		c, h, out := random(d, device.Float32, 1024, 32, 32), random(d, device.Float32, 1024, 32),
			d.New(device.Float32, 1024, 32)
		return func() { device.LSERows(out, c, h, 10) }
	}).beside(4<<20, 0), op("Anneal/4096 of 50×50", "Gexp/s", 8*2*4096*2500, func() func() {
		vec := func(n ...int) *device.Array { return d.Zeros(device.Float32, n...) }
		const batch, n = 4096, 50
		f, g, lastF, lastG, c := vec(batch, n), vec(batch, n), vec(batch, n), vec(batch, n), vec(batch, n, n)
		s := d.Stream(1)
		s.Uniform(c, 0, 4)
		s.Free()
		return func() { device.Anneal(f, g, lastF, lastG, c, []float64{4, 2, 1, .5, .25, .1}) }
	}))
}

// denseOps read each cost once.
func denseOps(d *device.Device, t device.DType, n int) []timed {
	pairs := float64(n) * float64(n)
	size := fmt.Sprintf("/%d %v", n, t)
	setup := func(f func(out, c, h *device.Array)) func() func() {
		return func() func() {
			c, h, out := random(d, t, n, n), random(d, t, n), d.New(t, n)
			return func() { f(out, c, h) }
		}
	}
	return []timed{
		op("LSERows"+size, "Gexp/s", pairs, setup(func(out, c, h *device.Array) { device.LSERows(out, c, h, 10) })).
			beside(float64(t.Size())*pairs, 0),
		op("LSECols"+size, "Gexp/s", pairs, setup(func(out, c, h *device.Array) { device.LSECols(out, c, h, 10) })).
			beside(float64(t.Size())*pairs, 0),
	}
}

// pointOps read next to nothing: a pair costs a product with sum in each dimension at least (|x|²
// and |y|² being known), h − c/ε, and one exponential; PointApply a product with sum more.
func pointOps(d *device.Device, t device.DType, n, dim int) []timed {
	pairs, size, cost := float64(n)*float64(n), fmt.Sprintf("/%d d=%d %v", n, dim, t), device.Cost{Square: 1}
	var grad *device.Array
	setup := func(f func(x, y, u, h, out *device.Array)) func() func() {
		return func() func() {
			grad = d.New(t, n, dim)
			u, h, out := random(d, t, n), random(d, t, n), d.New(t, n)
			x, y := random(d, t, n, dim), random(d, t, n, dim)
			return func() { f(x, y, u, h, out) }
		}
	}
	flop := float64(2*dim+2) * pairs
	return []timed{
		op("PointLSE"+size, "Gexp/s", pairs, setup(func(x, y, _, h, out *device.Array) {
			device.PointLSE(out, x, y, h, cost, 1)
		})).beside(0, flop),
		op("PointApply"+size, "Gexp/s", pairs, setup(func(x, y, u, h, out *device.Array) {
			device.PointApply(out.Reshape(n, 1), x, y, u, h, h.Reshape(n, 1), cost, 1)
		})).beside(0, flop+2*pairs),
		op("PointGrad"+size, "Gexp/s", pairs, setup(func(x, y, u, h, _ *device.Array) {
			device.PointGrad(grad, x, y, u, h, u, h, cost, 1, false)
		})).beside(0, flop+float64(2*dim)*pairs),
	}
}
