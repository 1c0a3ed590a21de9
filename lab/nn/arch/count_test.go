package arch_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/nntest"
)

// Numbers of parameters. Those with an exact count were summed by hand from the layers of the published code; those in
// millions are what the original networks count, to the digits given.
func TestParameterCounts(t *testing.T) {
	sigmas := make([]float64, 500)
	for i := range sigmas {
		sigmas[i] = 90 * math.Pow(.01/90, float64(i)/499)
	}
	dev := nntest.Open(t)
	defer dev.Close()
	for _, c := range []struct {
		name     string
		net      nn.Layer
		exact    int
		millions float64
		digits   float64
	}{
		{"DCGAN, code", arch.DCGAN{Latent: 16, Classes: 10, Embed: 8, Slope: .2}.Net(), 957969, .958, 1e-3},
		{"DCGAN, paper", arch.DCGAN{Latent: 12, Classes: 10, Embed: 4}.Net(), 857577, .858, 1e-3},
		{"BigGAN", arch.BigGAN{Latent: 32, Classes: 2, Embed: 4}.Net(), 3892747, 3.89, 1e-2},
		{"NCSN, digits", arch.NCSN{Channels: 1, Features: 64, Levels: 10}.Net(), 0, 7.64, 1e-2},
		{"NCSNv2, faces", arch.NCSNv2{Channels: 3, Sigmas: sigmas}.Net(), 0, 29.69, 1e-2},
		{"barycentric projection, faces", arch.BarycentricImages{Channels: 3}.Net(), 0, 4.18, 1e-2},
		{"critic, digits", arch.Critic(256, 1024, 1024), 1313793, 1.31, 1e-2},
		{"critic, d = 256", arch.Critic(256, 4096, 4096, 4096), 0, 34.6, .1},
		{"logistic regression", arch.Logistic(784, 10), 7850, 0, 1},
		{"MLP", arch.Perceptron(784, 100, 10), 79510, 0, 1},
		{"CNN", arch.CNN{Rate: .5}.Net(), 241546, 0, 1},
		{"CNN, paper", arch.TwoConvolutions(1, 28, 10, 32), 34826, 0, 1},
		{"CNN, PyTorch's example", arch.Example(1, 28, 10, 32), 1199882, 0, 1},
		{"LeNet", arch.LeNet(1, 28, 10, 6), 61706, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && (c.millions > 20 || c.name == "BigGAN") {
				t.Skip("a second to draw its weights")
			}
			defer dev.Scope().Close()
			c.net.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 1)))
			n := nn.Count(c.net.Params())
			if c.exact > 0 && n != c.exact {
				t.Errorf("%d parameters, %d in the code", n, c.exact)
			}
			if got := float64(n) / 1e6; c.millions > 0 && math.Abs(got-c.millions) > c.digits/2 {
				t.Errorf("%.4f million parameters, %v in the original", got, c.millions)
			}
		})
	}
}

// Multiplications of one example's forward pass, in millions: DCGAN's summed by hand from its
// layers (7²·24·256 as a transposed convolution of a 1×1 input, and three more), the others as
// counted for the published code.
func TestFLOP(t *testing.T) {
	dev := nntest.Open(t)
	defer dev.Close()
	for _, c := range []struct {
		name     string
		net      nn.Layer
		shape    []int
		millions float64
	}{
		{"DCGAN", arch.DCGAN{Latent: 100}.Net(), []int{100}, 53.1},
		{"NCSN, digits", arch.NCSN{Channels: 1, Features: 64, Levels: 10}.Net(), []int{1, 16, 16}, 618},
		{"critic", arch.Critic(64, 2048, 2048, 2048), []int{64}, 8.52},
	} {
		if got := nn.FLOP(dev, c.net, c.shape...) / 2e6; math.Abs(got/c.millions-1) > .01 {
			t.Errorf("%s: %.4g million multiplications, want %.4g", c.name, got, c.millions)
		}
	}
}

// The filters of Gradients tell edges and lines of every direction apart, and none answers to even brightness but the
// blurred channel.
func TestGradients(t *testing.T) {
	dev := nntest.Open(t)
	defer dev.Close()
	net := arch.Gradients(1)
	net.Init(dev, device.Float32, nil)
	w := must.Get(net.Params()[0].Value.Get32())
	for f := range 17 {
		sum := 0.
		for _, v := range w[f*25:][:25] {
			sum += float64(v)
		}
		if want := float64(f / 16); math.Abs(sum-want) > 1e-6 { // float32
			t.Errorf("filter %d sums to %g, want %g", f, sum, want)
		}
		for g := range f {
			far := 0.
			for k := range 25 {
				far = max(far, math.Abs(float64(w[f*25+k]-w[g*25+k])))
			}
			if far < .01 {
				t.Errorf("filters %d and %d are alike", f, g)
			}
		}
	}
}

// A wave along direction k of wavelength 8/3 is seen by the wavelet of scale 1 along it, and one twice as long by that
// of scale 2; even brightness by none of them, away from the borders; channels are seen alike.
func TestScattering(t *testing.T) {
	dev := nntest.InScope(t)
	net := arch.Scattering()
	net.Init(dev, device.Float32, nil)
	const side, middle = 32, 3*8 + 3 // a window away from the borders
	see := func(f func(x, y float64) float64) (of [2][]float64) {
		v := make([]float64, 2*side*side)
		for i := range v {
			v[i] = f(float64(i%side), float64(i/side%side))
		}
		x := dev.New(device.Float32, 1, 2, side, side)
		x.SetFloats(v)
		y := must.Get(net.Forward(&nn.Pass{ForwardOnly: true}, x).Float64s())
		for k := range len(y) / 64 {
			of[k/81] = append(of[k/81], y[64*k+middle])
		}
		return of
	}
	for _, v := range see(func(_, _ float64) float64 { return 1 })[0][1:] {
		if v > 2e-4 { // the root of what is added below it
			t.Errorf("even brightness is seen: %g", v)
		}
	}
	for scale, first := range []int{9, 1} { // the coarse wavelets come first
		for k := range 8 {
			sin, cos := math.Sincos(math.Pi * float64(k) / 8)
			both := see(func(x, y float64) float64 {
				return .5 + .5*math.Cos(.75*math.Pi/float64(int(1)<<scale)*(x*cos+y*sin))
			})
			v := both[0][first:][:8]
			if most := slices.Index(v, slices.Max(v)); most != k || !slices.Equal(both[0], both[1]) {
				t.Errorf("scale %d: a wave along %d is seen along %d: %.3g", scale, k, most, v)
			}
		}
	}
}
