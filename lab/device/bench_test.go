package device_test

import (
	"fmt"
	"testing"

	"coupling/lab/device"
)

// BenchmarkOpsOnDevice times operations on the device that COUPLING_DEVICE names: bytes that must move, multiplications
// and additions, or exponentials, a second. Operations are given in rounds, as programs do, and each round waits for the
// device.
func BenchmarkOpsOnDevice(b *testing.B) {
	d, err := device.Open("")
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	b.Logf("%v: %s", d, d.Info().Detail)
	for _, group := range []func(*device.Device) []timed{copyOps, mapOps, reduceOps, productOps, imageOps, randomOps, trainingOps, transportOps} {
		for _, op := range group(d) {
			b.Run(op.name, func(b *testing.B) { op.run(b, d) })
		}
	}
}

// timed is a call with what one of it moves or computes.
type timed struct {
	name  string
	unit  string  // "GB/s", "GFLOP/s", "Gexp/s"
	count float64 // bytes, operations or exponentials
	setup func() (call func())
}

func (op timed) run(b *testing.B, d *device.Device) {
	defer d.Scope().Close()
	call := op.setup()
	const round = 8
	call() // first launches load kernels and grow pools
	if err := d.Sync(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for range round {
			call()
		}
		d.Sync()
	}
	if err := d.Err(); err != nil {
		b.Fatal(err)
	}
	seconds := b.Elapsed().Seconds() / float64(b.N*round)
	b.ReportMetric(op.count/seconds/1e9, op.unit)
	b.ReportMetric(seconds*1e9, "ns/call")
}

// lengths are in the caches of a core, of a processor, and of none.
var lengths = [...]int{1 << 12, 1 << 18, 1 << 23}

func random(d *device.Device, t device.DType, shape ...int) *device.Array {
	a, s := d.New(t, shape...), d.Stream(1)
	s.Normal(a, 0, 1)
	s.Free()
	return a
}

func copyOps(d *device.Device) (ops []timed) {
	for _, n := range lengths {
		size := fmt.Sprintf("/n=%d", n)
		ops = append(ops,
			timed{"Copy" + size, "GB/s", 8 * float64(n), func() func() {
				x, y := random(d, device.Float32, n), d.New(device.Float32, n)
				return func() { device.Convert(y, x) }
			}},
			timed{"Upload" + size, "GB/s", 4 * float64(n), func() func() {
				x, y := make([]float32, n), d.New(device.Float32, n)
				return func() { y.Set32(x) }
			}},
			timed{"Download" + size, "GB/s", 4 * float64(n), func() func() {
				y := random(d, device.Float32, n)
				return func() { y.Get32() }
			}})
	}
	return append(ops, timed{"Permute/NCHW to NHWC", "GB/s", 8 * 64 * 128 * 1024, func() func() {
		x, y := random(d, device.Float32, 64, 128, 32, 32), d.New(device.Float32, 64, 32, 32, 128)
		return func() { device.Permute(y, x, 0, 2, 3, 1) }
	}})
}

func mapOps(d *device.Device) (ops []timed) {
	for _, n := range lengths {
		for _, f := range []struct {
			name string
			f    device.Unary
		}{{"ReLU", device.ReLU}, {"Exp", device.Exp}, {"Tanh", device.Tanh}, {"SiLU", device.SiLU}} {
			ops = append(ops, timed{fmt.Sprintf("%s/n=%d", f.name, n), "GB/s", 8 * float64(n), func() func() {
				x, y := random(d, device.Float32, n), d.New(device.Float32, n)
				return func() { device.Map(y, x, f.f, 0) }
			}})
		}
		ops = append(ops,
			timed{fmt.Sprintf("TanhVJP/n=%d", n), "GB/s", 16 * float64(n), func() func() {
				x, y, dy := random(d, device.Float32, n), random(d, device.Float32, n), random(d, device.Float32, n)
				dx := d.New(device.Float32, n)
				return func() { device.MapVJP(dx, x, y, dy, device.Tanh, 0) }
			}},
			timed{fmt.Sprintf("Add/n=%d", n), "GB/s", 12 * float64(n), func() func() {
				x, y, z := random(d, device.Float32, n), random(d, device.Float32, n), d.New(device.Float32, n)
				return func() { device.Add(z, x, y) }
			}})
	}
	return append(ops, timed{"Add/bias of 64×128×32×32", "GB/s", 8 * 64 * 128 * 1024, func() func() {
		x, bias := random(d, device.Float32, 64, 128, 32, 32), random(d, device.Float32, 1, 128, 1, 1)
		return func() { device.Add(x, x, bias) }
	}})
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
			ops = append(ops, timed{"Reduce/" + f.name + " of " + c.name, "GB/s", n, func() func() {
				x, y := random(d, device.Float32, c.shape...), d.New(device.Float32, c.to...)
				return func() { device.Reduce(y, x, f.f) }
			}})
		}
	}
	return ops
}

func productOps(d *device.Device) (ops []timed) {
	product := func(t device.DType, batch, m, n, k int, ta, tb bool) {
		name := fmt.Sprintf("Gemm/%v %d×%d×%d×%d transposed %v %v", t, batch, m, n, k, ta, tb)
		ops = append(ops, timed{name, "GFLOP/s", 2 * float64(batch) * float64(m) * float64(n) * float64(k), func() func() {
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
		}})
	}
	for _, n := range []int{64, 256, 1024} {
		product(device.Float32, 1, n, n, n, false, false)
		product(device.Float64, 1, n, n, n, false, false)
	}
	product(device.Float32, 1, 512, 512, 512, true, false)
	product(device.Float32, 1, 512, 512, 512, false, true)
	product(device.Float32, 70, 128, 64, 1024, false, false) // a layer of DCGAN
	product(device.Float32, 256, 32, 32, 32, false, false)
	return ops
}

func imageOps(d *device.Device) []timed {
	w := device.SquareWindow(4, 2, 1)
	const images = 64 * 64 * 32 * 32
	columns := []int{64, 64 * 16, 16 * 16}
	shape := []int{64, 64, 32, 32}
	return []timed{
		{"Im2col/4×4", "GB/s", 4 * 5 * images, func() func() {
			x, col := random(d, device.Float32, shape...), d.New(device.Float32, columns...)
			return func() { device.Im2col(col, x, w) }
		}},
		{"Col2im/4×4", "GB/s", 4 * 5 * images, func() func() {
			x, col := d.New(device.Float32, shape...), random(d, device.Float32, columns...)
			return func() { device.Col2im(x, col, w) }
		}},
		{"MaxPool/2×2", "GB/s", 4 * 1.5 * images, func() func() {
			x, y, i := random(d, device.Float32, shape...), d.New(device.Float32, 64, 64, 16, 16), d.New(device.Int32, 64, 64, 16, 16)
			return func() { device.MaxPool(y, i, x, device.SquareWindow(2, 2, 0)) }
		}},
		{"AvgPool/2×2", "GB/s", 4 * 1.25 * images, func() func() {
			x, y := random(d, device.Float32, shape...), d.New(device.Float32, 64, 64, 16, 16)
			return func() { device.AvgPool(y, x, device.SquareWindow(2, 2, 0)) }
		}},
		{"Bilinear/2×", "GB/s", 4 * 5 * images, func() func() {
			x, y := random(d, device.Float32, shape...), d.New(device.Float32, 64, 64, 64, 64)
			return func() { device.Bilinear(y, x, false) }
		}},
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
		{"Uniform", "GB/s", 4 * n, draw(func(s *device.Stream, a *device.Array) { s.Uniform(a, 0, 1) })},
		{"Normal", "GB/s", 4 * n, draw(func(s *device.Stream, a *device.Array) { s.Normal(a, 0, 1) })},
	}
}

func trainingOps(d *device.Device) []timed {
	const n = 1 << 22
	return []timed{
		{"StepAdam", "GB/s", 28 * n, func() func() {
			w, g, m, v := random(d, device.Float32, n), random(d, device.Float32, n), d.Zeros(device.Float32, n), d.Zeros(device.Float32, n)
			t, one, a := d.FromInts([]int32{0}, 1), d.From32([]float32{1}, 1), device.Adam{Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
			ws, gs, ms, vs := []*device.Array{w}, []*device.Array{g}, []*device.Array{m}, []*device.Array{v}
			return func() { device.StepAdam(ws, gs, ms, vs, t, one, a) }
		}},
		{"ClipRows/256×16384", "GB/s", 8 * n, func() func() {
			x := random(d, device.Float32, 256, n/256)
			y := x.Like()
			return func() { device.ClipRows(y, x, 1) }
		}},
		{"CrossEntropy/4096×10", "Gexp/s", 40960, func() func() {
			x := random(d, device.Float32, 4096, 10)
			loss, grad, labels := d.New(device.Float32, 4096), x.Like(), d.Zeros(device.Int32, 4096)
			return func() { device.CrossEntropy(loss, grad, x, labels) }
		}},
	}
}

func transportOps(d *device.Device) (ops []timed) {
	const n = 2048
	vectors := func(t device.DType) (u, h, out *device.Array) {
		return random(d, t, n), random(d, t, n), d.New(t, n)
	}
	for _, t := range []device.DType{device.Float32, device.Float64} {
		of := " " + t.String()
		ops = append(ops,
			timed{"LSERows/2048" + of, "Gexp/s", n * n, func() func() {
				_, h, out := vectors(t)
				c := random(d, t, n, n)
				return func() { device.LSERows(out, c, h, 10) }
			}},
			timed{"LSECols/2048" + of, "Gexp/s", n * n, func() func() {
				u, _, out := vectors(t)
				c := random(d, t, n, n)
				return func() { device.LSECols(out, c, u, 10) }
			}})
		for _, dim := range []int{2, 3, 64} {
			points := func(f func(x, y, u, h, out *device.Array)) func() func() {
				return func() func() {
					u, h, out := vectors(t)
					x, y := random(d, t, n, dim), random(d, t, n, dim)
					return func() { f(x, y, u, h, out) }
				}
			}
			size := fmt.Sprintf("/2048 d=%d%s", dim, of)
			cost := device.Cost{Square: 1}
			ops = append(ops,
				timed{"PointLSE" + size, "Gexp/s", n * n, points(func(x, y, _, h, out *device.Array) {
					device.PointLSE(out, x, y, h, cost, 1)
				})},
				timed{"PointApply" + size, "Gexp/s", n * n, points(func(x, y, u, h, out *device.Array) {
					device.PointApply(out.Reshape(n, 1), x, y, u, h, h.Reshape(n, 1), cost, 1)
				})})
		}
	}
	return append(ops, timed{"LSERows/1024 of 32×32", "Gexp/s", 1 << 20, func() func() {
		c, h, out := random(d, device.Float32, 1024, 32, 32), random(d, device.Float32, 1024, 32), d.New(device.Float32, 1024, 32)
		return func() { device.LSERows(out, c, h, 10) }
	}})
}
