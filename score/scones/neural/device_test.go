package neural

import (
	"math/rand/v2"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// standard is N(0, I) in the plane, which computes on a device too.
type standard struct {
	score.Field
	dev *device.Device
}

func (f standard) OnDevice(int) *score.DeviceField {
	return &score.DeviceField{
		Device: f.dev,
		Level:  func(float64) error { return nil },
		Close:  func() {},
		Score: func(y *device.Array) *device.Array {
			s := y.Like()
			device.Scale(s, -1, y)
			return s
		},
	}
}

// The score of a conditional law on the device is the host's: target, gradient of ψ and pull to the
// source, each in its place. What the device cannot compute stays with the host.
func TestConditionalOnDevice(t *testing.T) {
	dev := must.Get(device.Open(""))
	defer dev.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	net := arch.MLP{Sizes: []int{2, 16, 1}}.Net()
	net.Init(dev, device.Float32, rng)
	defer nn.Free(net.Params())
	opt := train.Adam{Rate: .001}.For(net.Params())
	defer nn.Free(opt.State())
	g := must.Get(score.NewGaussian(nil, mat.NewSymDense(2, []float64{1, 0, 0, 1})))
	const n = 1500 // more than go through the network at once
	x, y, want := mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil)
	for i := range n {
		x.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
		y.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
	}
	c := scones.Coupling{
		Compatibility: scones.Compatibility{Lambda: .7},
		Psi:           NewNet(net, dev, 2, 3, opt),
		Target:        standard{g, dev},
		Mean:          true,
	}
	f := must.Get(c.Given(x))
	must.Do(f.Score(want, y, 0))
	live, _, _ := dev.Live()
	r := f.OnDevice(n)
	scope := dev.Scope()
	got, err := r.Score(dev.FromDense(device.Float64, y)).Mat()
	scope.Close()
	r.Close()
	if err != nil || !mat.EqualApprox(got, want, 1e-5) {
		t.Errorf("the score on the device is another: %v", err)
	}
	if now, _, _ := dev.Live(); now != live {
		t.Errorf("%d arrays before, %d after", live, now)
	}
	c.Target = g
	if f, err = c.Given(x); err != nil || f.OnDevice(n) != nil {
		t.Errorf("a target of the host is on a device: %v", err)
	}
}

// What a step of SCONES asks of a GPU: 1,000 chains in 256 dimensions, score and ψ by networks of
// the paper's size. A chain that goes through the host asks for copies and waits.
func TestLaunches(t *testing.T) { devicetest.HoldStep(t, "SCONES", sconesSteps) }

func BenchmarkStepsOnDevice(b *testing.B) { devicetest.TimeSteps(b, sconesSteps) }

func sconesSteps(t testing.TB, dev *device.Device, steps int, mark func()) {
	rng := rand.New(rand.NewPCG(1, 1))
	levels := []float64{1, .1}
	target := dsm.DenoisingMLP(make([]float64, 256), 1, levels, 4096, 1)
	target.Init(dev, device.Float32, rng)
	defer nn.Free(target.Params())
	net := arch.MLP{Sizes: []int{256, 4096, 4096, 4096, 1}}.Net()
	net.Init(dev, device.Float32, rng)
	defer nn.Free(net.Params())
	opt := train.Adam{Rate: .001}.For(net.Params())
	defer nn.Free(opt.State())
	c := scones.Coupling{
		Compatibility: scones.Compatibility{Lambda: 1},
		Psi:           NewNet(net, dev, 256, 1, opt),
		Target:        &dsm.Network{Net: target, Device: dev, Shape: []int{256}, Sigmas: levels},
	}
	l := score.Langevin{
		Levels: levels[:1],
		Steps:  steps,
		Step:   1e-4,
		Trace:  func(score.Progress) { mark() },
	}
	must.Get(c.Sample(t.Context(), rng, mat.NewDense(1000, 256, nil), 1, l, nil))
}
