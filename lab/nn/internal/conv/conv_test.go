package conv_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"pgregory.net/rapid"

	"coupling/lab/device"
	"coupling/lab/nn/internal/conv"
)

func open(t testing.TB) *device.Device {
	t.Helper()
	dev, err := device.Open(cmp.Or(os.Getenv("COUPLING_DEVICE"), "cpu"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

// problem is a convolution with random numbers.
type problem struct {
	n, in, out, h, w int
	window           device.Window
	x, weight, y     []float64
}

func (p *problem) fill(rng *rand.Rand) {
	oh, ow := p.window.Out(p.h, p.w)
	for _, s := range []struct {
		to *[]float64
		n  int
	}{{&p.x, p.n * p.in * p.h * p.w}, {&p.weight, p.out * p.in * p.window.Kernel[0] * p.window.Kernel[1]}, {&p.y, p.n * p.out * oh * ow}} {
		*s.to = make([]float64, s.n)
		for i := range *s.to {
			(*s.to)[i] = rng.NormFloat64()
		}
	}
}

// terms calls do with the indices of each product of the convolution: y[a] += W[b]·x[c], by its definition.
func (p *problem) terms(do func(example, y, weight, x int)) {
	oh, ow := p.window.Out(p.h, p.w)
	k, stride, dilation := p.window.Kernel, p.window.Stride, p.window.Dilation
	for i := range 2 {
		stride[i], dilation[i] = max(1, stride[i]), max(1, dilation[i])
	}
	for n := range p.n {
		for o := range p.out {
			for a := range oh {
				for b := range ow {
					for c := range p.in {
						for i := range k[0] {
							for j := range k[1] {
								r, s := a*stride[0]-p.window.Pad[0]+i*dilation[0], b*stride[1]-p.window.Pad[1]+j*dilation[1]
								if r >= 0 && r < p.h && s >= 0 && s < p.w {
									do(n, ((n*p.out+o)*oh+a)*ow+b, ((o*p.in+c)*k[0]+i)*k[1]+j, ((n*p.in+c)*p.h+r)*p.w+s)
								}
							}
						}
					}
				}
			}
		}
	}
}

// check compares all four operations with the definition. The arrays to be overwritten start as NaN.
func (p *problem) check(t interface {
	Helper()
	Fatalf(string, ...any)
}, dev *device.Device) {
	t.Helper()
	defer dev.Scope().Close()
	oh, ow := p.window.Out(p.h, p.w)
	x := dev.From64(p.x, p.n, p.in, p.h, p.w)
	weight := dev.From64(p.weight, p.out, p.in, p.window.Kernel[0], p.window.Kernel[1])
	y := dev.From64(p.y, p.n, p.out, oh, ow)
	got := map[string]*device.Array{"Apply": y.Like(), "Input": x.Like(), "Weight": weight.Clone(), "Squares": dev.Zeros(device.Float64, p.n)}
	device.Fill(got["Apply"], math.NaN())
	device.Fill(got["Input"], math.NaN())
	conv.Apply(got["Apply"], x, weight, p.window)
	conv.Input(got["Input"], y, weight, p.window)
	conv.Weight(got["Weight"], x, y, p.window)
	conv.Squares(got["Squares"], x, y, p.window)

	want := map[string][]float64{
		"Apply": make([]float64, len(p.y)), "Input": make([]float64, len(p.x)),
		"Weight": append([]float64(nil), p.weight...), "Squares": make([]float64, p.n),
	}
	each := make([][]float64, p.n)
	for i := range each {
		each[i] = make([]float64, len(p.weight))
	}
	p.terms(func(n, a, b, c int) {
		want["Apply"][a] += p.weight[b] * p.x[c]
		want["Input"][c] += p.weight[b] * p.y[a]
		want["Weight"][b] += p.y[a] * p.x[c]
		each[n][b] += p.y[a] * p.x[c]
	})
	for i, g := range each {
		for _, v := range g {
			want["Squares"][i] += v * v
		}
	}
	for name, w := range want {
		g, err := got[name].Get64()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range w {
			// Sums of at most some thousand products of Gaussian numbers, in another order.
			if !(math.Abs(g[i]-w[i]) <= 1e-11*(1+math.Abs(w[i]))) {
				t.Fatalf("%s of %d×%d×%d×%d to %d channels by %+v: element %d is %v, want %v",
					name, p.n, p.in, p.h, p.w, p.out, p.window, i, g[i], w[i])
			}
		}
	}
}

// All operations, in all three ways, agree with the definition.
func TestDefinitionOnDevice(t *testing.T) {
	dev := open(t)
	rapid.Check(t, func(t *rapid.T) {
		small := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
		p := &problem{n: small("n", 1, 3), in: small("in", 1, 6), out: small("out", 1, 6), h: small("h", 1, 7), w: small("w", 1, 7)}
		for i, side := range [2]int{p.h, p.w} {
			k, d := small("kernel", 1, 4), small("dilation", 0, 3)
			pad := small("pad", 0, 4)
			for side+2*pad < max(1, d)*(k-1)+1 {
				pad++
			}
			p.window.Kernel[i], p.window.Dilation[i], p.window.Pad[i], p.window.Stride[i] = k, d, pad, small("stride", 0, 3)
		}
		p.fill(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
		p.check(t, dev)
	})
}

// More examples than fit into one tile, with a last tile that is smaller, unfolding first and multiplying first.
func TestTilesOnDevice(t *testing.T) {
	dev := open(t)
	defer conv.TileBytes(4 << 20)() // a GPU would take them whole
	for _, p := range []*problem{
		{n: 23, in: 8, out: 5, h: 24, w: 24, window: device.SquareWindow(3, 1, 1)},  // 332 kB each
		{n: 19, in: 40, out: 4, h: 40, w: 24, window: device.SquareWindow(3, 1, 1)}, // 276 kB each
	} {
		p.fill(rand.New(rand.NewPCG(1, 2)))
		p.check(t, dev)
	}
}

// The three ways at sizes of the networks: GFLOP/s of Apply and of the way back.
func BenchmarkConvOnDevice(b *testing.B) {
	dev := open(b)
	for _, c := range []struct {
		name string
		p    problem
	}{
		{"unfold/64x28x28-128-4x4s2", problem{n: 16, in: 64, out: 128, h: 28, w: 28, window: device.SquareWindow(4, 2, 1)}},
		{"unfold/64x16x16-64-3x3", problem{n: 16, in: 64, out: 64, h: 16, w: 16, window: device.SquareWindow(3, 1, 1)}},
		{"spread/64x28x28-1-3x3", problem{n: 16, in: 64, out: 1, h: 28, w: 28, window: device.SquareWindow(3, 1, 1)}},
		{"whole/256x7x7-24", problem{n: 70, in: 256, out: 24, h: 7, w: 7, window: device.SquareWindow(7, 1, 0)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			defer dev.Scope().Close()
			p := c.p
			oh, ow := p.window.Out(p.h, p.w)
			x, y := dev.Zeros(device.Float32, p.n, p.in, p.h, p.w), dev.Zeros(device.Float32, p.n, p.out, oh, ow)
			w := dev.Zeros(device.Float32, p.out, p.in, p.window.Kernel[0], p.window.Kernel[1])
			flop := 3 * 2 * float64(w.Len()) * float64(oh*ow*p.n)
			for b.Loop() {
				conv.Apply(y, x, w, p.window)
				conv.Weight(w, x, y, p.window)
				conv.Input(x, y, w, p.window)
				if err := dev.Sync(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
