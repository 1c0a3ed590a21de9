package train_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"
)

// small is a network of all kinds of layers that have per-example gradients.
func small() nn.Layer {
	return nn.Seq(
		&nn.Conv2D{In: 1, Out: 4, Window: device.SquareWindow(3, 1, 1)}, &nn.InstanceNormPlus{Channels: 4}, nn.Tanh(),
		&nn.ConvTranspose2D{In: 4, Out: 2, Window: device.SquareWindow(4, 2, 1)},
		&nn.InstanceNormPlus{Channels: 2, Classes: 3}, nn.ELU(),
		nn.Flatten(), &nn.Dense{In: 2 * 8 * 8, Out: 5}, &nn.AppendClass{Embedding: nn.Embedding{Classes: 3, Width: 2}},
		&nn.Dense{In: 7, Out: 2},
	)
}

// backwards counts how often a cotangent goes back through it.
type backwards struct {
	nn.Layer
	times int
}

func (b *backwards) VJP(p *nn.Pass, dy *device.Array) *device.Array {
	b.times++
	return b.Layer.VJP(p, dy)
}

// once is small without the embedding, which is in no Sequential: cotangents go back once.
func once(count *backwards) nn.Layer {
	net := small().(*nn.Sequential)
	count.Layer = nn.Seq(net.Layers[3:7]...)
	return nn.Seq(nn.Seq(net.Layers[:3]...), count, net.Layers[7], &nn.Dense{In: 5, Out: 2})
}

// ClippedGrads is the sum of clipped gradients taken one example at a time, in float64 to rounding and in float32 to
// its own; and no clipped gradient is longer than the bound.
func TestClippedGradsOnDevice(t *testing.T) {
	for _, dtype := range []device.DType{device.Float32, device.Float64} {
		var count backwards
		clippedGrads(t, dtype, small())
		if clippedGrads(t, dtype, once(&count)); count.times != 6 { // and for each of the five examples alone
			t.Errorf("cotangents go back %d times, want once and five times", count.times)
		}
	}
}

func clippedGrads(t *testing.T, dtype device.DType, net nn.Layer) {
	dev := nntest.InScope(t)
	const n, bound = 5, .7
	rng := rand.New(rand.NewPCG(1, 2))
	net.Init(dev, dtype, rng)
	x, dy := normal(dev, rng, dtype, n, 1, 4, 4), normal(dev, rng, dtype, n, 2)
	p := &nn.Pass{Class: dev.FromInts([]int32{0, 1, 2, 1, 1}, n)}
	net.Forward(p, x)
	device.Scale(dy.Rows(2, 3), .01, dy.Rows(2, 3)) // an example that is not clipped
	all := must.Get(train.ClippedGrads(p, net, dy, bound))
	norms := floats(all)
	got := grads(net)

	want, clipped := make([]float64, len(got)), 0
	for i := range n {
		nn.ZeroGrads(net.Params())
		alone := dev.Zeros(dtype, n, 2)
		device.Convert(alone.Rows(i, i+1), dy.Rows(i, i+1))
		p := &nn.Pass{Class: p.Class}
		net.Forward(p, x)
		net.VJP(p, alone)
		g := grads(net)
		length := norm(g)
		near(t, "norm", norms[i:i+1], []float64{length}, train.Margin(dtype)/10)
		f := min(1, bound*(1-train.Margin(dtype))/length)
		if f < 1 {
			clipped++
		}
		for j := range g {
			want[j] += f * g[j]
		}
	}
	if clipped == 0 || clipped == n {
		t.Fatalf("%d of %d examples were clipped: the test tests little", clipped, n)
	}
	near(t, "sum", got, want, train.Margin(dtype))
}

// One example's contribution stays within the bound, whatever the size of its gradient: what sensitivity rests on.
func TestClippedGradsBound(t *testing.T) {
	dev := nntest.InScope(t)
	for _, scale := range []float64{1e-20, 1e-3, 1, 1e3, 1e12} {
		func() {
			defer dev.Scope().Close()
			rng := rand.New(rand.NewPCG(3, 4))
			net := small()
			net.Init(dev, device.Float32, rng)
			p := &nn.Pass{Class: dev.FromInts([]int32{2}, 1)}
			net.Forward(p, normal(dev, rng, device.Float32, 1, 1, 4, 4))
			dy := normal(dev, rng, device.Float32, 1, 2)
			device.Scale(dy, scale, dy)
			must.Get(train.ClippedGrads(p, net, dy, .5))
			if got := norm(grads(net)); got > .5 || scale >= 1 && got < .499 {
				t.Errorf("cotangent times %v: the clipped gradient has norm %v, bound .5", scale, got)
			}
		}()
	}
}

// An example without a finite norm, from its input, its cotangent or an overflow, is reported, and leaves gradients as
// they were; the pass without it is the sum with that example's contribution zero.
func TestClippedGradsNotFiniteOnDevice(t *testing.T) {
	dev := nntest.InScope(t)
	const n, width, bound = 4, 3, .7
	for name, spoil := range map[string]func(x, dy []float64){
		"NaN in the input":              func(x, _ []float64) { x[2*width] = math.NaN() },
		"an infinity in the input":      func(x, _ []float64) { x[2*width+1] = math.Inf(-1) },
		"NaN in the cotangent":          func(_, dy []float64) { dy[2*2] = math.NaN() },
		"an infinity in the cotangent":  func(_, dy []float64) { dy[2*2+1] = math.Inf(1) },
		"a square that leaves the type": func(_, dy []float64) { dy[2*2] = 1e30 },
	} {
		t.Run(name, func(t *testing.T) {
			defer dev.Scope().Close()
			rng := rand.New(rand.NewPCG(5, 6))
			net := nn.Seq(&nn.Dense{In: width, Out: 5}, nn.Softplus(), &nn.Dense{In: 5, Out: 2})
			net.Init(dev, device.Float32, rng)
			x, dy := floats(normal(dev, rng, device.Float32, n, width)),
				floats(normal(dev, rng, device.Float32, n, 2))
			clip := func(x, dy []float64) ([]float64, error) {
				p, in, out := &nn.Pass{}, dev.New(device.Float32, len(x)/width, width),
					dev.New(device.Float32, len(dy)/2, 2)
				in.SetFloats(x)
				out.SetFloats(dy)
				net.Forward(p, in)
				norms, err := train.ClippedGrads(p, net, out, bound)
				return floats(norms), err
			}
			without := func(v []float64,
				width int) []float64 {
				return slices.Delete(slices.Clone(v), 2*width, 3*width)
			}
			must.Get(clip(without(x, width), without(dy, 2)))
			want := grads(net)

			spoil(x, dy)
			norms, err := clip(x, dy)
			var bad *train.NotFiniteError
			if !errors.As(err, &bad) || !slices.Equal(bad.Examples, []int{2}) || norms[2]-norms[2] == 0 {
				t.Fatalf("error %v, norms %v", err, norms)
			}
			if got := grads(net); !slices.Equal(got, want) {
				t.Errorf("gradients changed from %v to %v", want, got)
			}
		})
	}
}

// A layer that stands in two places adds both parts of its gradient up, and |g₁+g₂|² is not |g₁|² + |g₂|².
func TestClippedGradsOfSharedLayer(t *testing.T) {
	dev := nntest.InScope(t)
	l := &nn.Dense{In: 3, Out: 3}
	net := nn.Seq(l, nn.Tanh(), l)
	net.Init(dev, device.Float64, rand.New(rand.NewPCG(1, 1)))
	p := &nn.Pass{}
	y := net.Forward(p, dev.Zeros(device.Float64, 2, 3))
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, "twice") {
			t.Errorf("panicked with %q: must say that a parameter is there twice", said)
		}
	}()
	_, err := train.ClippedGrads(p, net, y, 1)
	t.Errorf("clipped, and %v", err)
}

// Under TF32 nothing is clipped, whoever asked for it; float64 is not touched by it.
func TestClippedGradsUnderTF32(t *testing.T) {
	path, err := exec.Command("go", "run", "coupling/lab/device/ptxsim").Output()
	if err != nil {
		t.Skipf("the emulator is built by go and a C++20 compiler: %v", err)
	}
	library := strings.TrimSpace(string(path))
	for _, c := range []struct {
		override string
		asked    bool
		want     error
	}{{"", false, nil}, {"", true, train.ErrTF32}, {"1", false, train.ErrTF32}, {"0", true, nil}} {
		t.Setenv("NVIDIA_TF32_OVERRIDE", c.override)
		dev := must.Get(device.CUDA{Driver: library, CuBLAS: library, TF32: c.asked}.Open())
		for _, dtype := range []device.DType{device.Float32, device.Float64} {
			func() {
				defer dev.Scope().Close()
				net := &nn.Dense{In: 2, Out: 2}
				net.Init(dev, dtype, rand.New(rand.NewPCG(1, 1)))
				p := &nn.Pass{}
				y := net.Forward(p, dev.Zeros(dtype, 3, 2))
				want := c.want
				if dtype == device.Float64 {
					want = nil
				}
				if _, err := train.ClippedGrads(p, net, y, 1); !errors.Is(err, want) {
					t.Errorf("NVIDIA_TF32_OVERRIDE=%q, TF32 = %v, %v: %v, want %v", c.override, c.asked,
						dtype, err, want)
				}
			}()
		}
		must.Do(dev.Close())
	}
}

// A device that fails says so, and not that gradients were clipped.
func TestClippedGradsOnFailedDevice(t *testing.T) {
	dev := must.Get(device.Open("cpu"))
	net := &nn.Dense{In: 2, Out: 2}
	net.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 1)))
	p, x, dy := &nn.Pass{}, dev.Zeros(device.Float32, 3, 2), dev.Zeros(device.Float32, 3, 2)
	net.Forward(p, x)
	dev.New(device.Float32, 1<<30, 1<<30, 1<<2)
	if _, err := train.ClippedGrads(p, net, dy, 1); !errors.Is(err, device.ErrMemory) {
		t.Errorf("%v, want ErrMemory", err)
	}
	_ = dev.Close()
}
