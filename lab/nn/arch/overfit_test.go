package arch_test

import (
	"math/rand/v2"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"
)

// Each architecture, small, learns 32 inputs by heart: the loss falls to a small part of what a constant would leave.
func TestOverfitOnDevice(t *testing.T) {
	dev := nntest.Open(t)
	dev.Track(true)
	for _, c := range memories() {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && !nntest.Emulated(dev) && c.steps == 100 {
				t.Skip("convolutions over images take seconds; their gradients are tested in short too")
			}
			if images := len(c.shape) > 2 || c.classes > 0; images && testing.Short() && nntest.Emulated(dev) {
				t.Skip("hundreds of steps with images take the emulator minutes")
			}
			defer dev.Scope().Close()
			first, last := c.learn(t, dev)
			if !(last <= c.left*first) {
				t.Errorf("mean squared error %.4g after %d steps, %.4g before", last, c.steps, first)
			}
		})
	}
	must.Do(dev.Close())
}

// memory is a network and what it is to remember: targets of its output's shape, as random as outputs can be.
type memory struct {
	name    string
	net     nn.Layer
	shape   []int // of the inputs
	classes int
	target  func(rng *rand.Rand) float64
	rate    float64
	steps   int
	left    float64 // of the first loss
}

const examples = 32

// memories: the share of the loss to be left is a few times what each run leaves, so that it is the learning that is
// tested and not the seed.
func memories() []memory {
	signs := func(rng *rand.Rand) float64 { return .9 * float64(2*rng.IntN(2)-1) }
	normal := func(rng *rand.Rand) float64 { return rng.NormFloat64() }
	unit := func(rng *rand.Rand) float64 { return rng.Float64() }
	image := func(c, s int) []int { return []int{examples, c, s, s} }
	points := []int{examples, 2}
	return []memory{
		{"DCGAN", arch.DCGAN{
			Latent:  16,
			Classes: 4,
			Embed:   4,
			Hidden:  8,
		}.Net(), []int{examples, 16}, 4, signs, 1e-2, 40, .7},
		{"BigGAN", arch.BigGAN{
			Latent:  16,
			Classes: 4,
			Embed:   4,
			Hidden:  16,
			Blocks:  1,
		}.Net(), []int{examples, 16}, 4, signs, 1e-2, 60, .5},
		{"NCSN", arch.NCSN{Channels: 1, Features: 6, Levels: 4}.Net(), image(1, 4), 4, normal, 1e-2, 100, .5},
		{"NCSNv2", arch.NCSNv2{Channels: 1, Features: 6, Sigmas: []float64{1, 1, 1, 1}}.Net(), image(1, 4), 4, normal,
			1e-2, 100, .5},
		{"barycentric images", arch.BarycentricImages{Channels: 1, Features: 6}.Net(), image(1, 4), 0, unit,
			1e-2, 100, .5},
		{"critic", arch.Critic(2, 64, 64, 64), points, 0, normal, 1e-2, 300, .1},
		{"barycentric pixels", arch.BarycentricPixels(16, 16, 64, 64, 64), image(1, 4), 0, unit, 3e-3, 200, .1},
	}
}

// learn trains by Adam and returns the mean squared errors before and after.
func (m memory) learn(t *testing.T, dev *device.Device) (first, last float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	m.net.Init(dev, device.Float32, rng)
	opt := train.Adam{Rate: m.rate}.For(m.net.Params())
	x := fill(dev, func() float64 { return rng.NormFloat64() }, m.shape...)
	p := nn.Pass{Training: true}
	if m.classes > 0 {
		class := make([]int32, examples)
		for i := range class {
			class[i] = int32(i % m.classes)
		}
		p.Class = dev.FromInts(class, examples)
	}
	probe := p
	target := m.targets(dev, rng, &probe, x)
	loss := dev.New(device.Float32, 1)
	for step := range m.steps + 1 {
		func() {
			defer dev.Scope().Close()
			pass := p
			nn.ZeroGrads(m.net.Params())
			y := m.net.Forward(&pass, x)
			d := y.Like()
			device.Sub(d, y, target)
			device.Reduce(loss, d.Reshape(-1), device.SumSquares)
			last = get(loss) / float64(y.Len())
			if step == 0 {
				first = last
			}
			device.Scale(d, 1/float64(examples), d)
			m.net.VJP(&pass, d)
			opt.Step()
		}()
	}
	return first, last
}

// targets has the shape of the output.
func (m memory) targets(dev *device.Device, rng *rand.Rand, p *nn.Pass, x *device.Array) *device.Array {
	s := dev.Scope()
	shape := m.net.Forward(p, x).Shape()
	s.Close()
	return fill(dev, func() float64 { return m.target(rng) }, shape...)
}

func get(a *device.Array) float64 {
	v := must.Get(a.Float64s())
	return v[0]
}

func fill(dev *device.Device, draw func() float64, shape ...int) *device.Array {
	a := dev.New(device.Float32, shape...)
	v := make([]float64, a.Len())
	for i := range v {
		v[i] = draw()
	}
	a.SetFloats(v)
	return a
}
