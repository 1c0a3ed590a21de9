package arch_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"
)

// The number of workers does not change a bit of three training steps.
func TestWorkersDoNotMatter(t *testing.T) {
	var want []float64
	for _, workers := range []int{1, 2, 3, 7} {
		dev := must.Get(device.CPU{Workers: workers}.Open())
		got := steps(t, dev, false)
		must.Do(dev.Close())
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d workers give other parameters than 1", workers)
		}
	}
}

// Three steps of which the first was recorded and the others replayed are three steps, drawing new numbers each.
func TestRecordedStepsOnDevice(t *testing.T) {
	dev := nntest.Open(t)
	direct, recorded := steps(t, dev, false), steps(t, dev, true)
	if !slices.Equal(direct, recorded) {
		t.Error("a recorded run differs from one that was not")
	}
	must.Do(dev.Close())
}

// steps is all parameters of a generator after three steps, the last two replayed where asked for.
func steps(t *testing.T, dev *device.Device, recorded bool) (all []float64) {
	defer dev.Scope().Close()
	g := arch.DCGAN{Latent: 16, Hidden: 8}.Net()
	g.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 2)))
	opt := train.Adam{Rate: 1e-3, Clip: 1}.For(g.Params())
	opt.SetFactor(.5)
	stream, z, dy := dev.Stream(3), dev.New(device.Float32, 6, 16), dev.New(device.Float32, 6, 1, 28, 28)
	step := func() {
		defer dev.Scope().Close()
		stream.Normal(z, 0, 1)
		stream.Normal(dy, 0, 1)
		p := &nn.Pass{Training: true, Random: stream}
		nn.ZeroGrads(g.Params())
		g.Forward(p, z)
		g.VJP(p, dy)
		opt.Step()
	}
	if recorded {
		graph := dev.Record(step)
		defer graph.Close()
		graph.Launch()
		graph.Launch()
	} else {
		step()
		step()
		step()
	}
	for _, p := range g.Params() {
		v := must.Get(p.Value.Float64s())
		all = append(all, v...)
	}
	return all
}
