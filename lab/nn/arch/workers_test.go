package arch_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
)

// The number of workers does not change a bit of two training steps.
func TestWorkersDoNotMatter(t *testing.T) {
	want := steps(t, 1)
	for _, workers := range []int{2, 3, 7} {
		if got := steps(t, workers); !slices.Equal(got, want) {
			t.Errorf("%d workers give other parameters than 1", workers)
		}
	}
}

// steps is all parameters of a generator after two steps.
func steps(t *testing.T, workers int) (all []float64) {
	dev, err := device.CPU{Workers: workers}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	defer dev.Scope().Close()
	g := arch.DCGAN{Latent: 16, Hidden: 8}.Net()
	g.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 2)))
	opt := train.Adam{Rate: 1e-3}.For(g.Params())
	stream, z, dy := dev.Stream(3), dev.New(device.Float32, 20, 16), dev.New(device.Float32, 20, 1, 28, 28)
	for range 2 {
		stream.Normal(z, 0, 1)
		stream.Normal(dy, 0, 1)
		p := &nn.Pass{Training: true}
		nn.ZeroGrads(g.Params())
		g.Forward(p, z)
		g.VJP(p, dy)
		opt.Step()
	}
	for _, p := range g.Params() {
		v, err := p.Value.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v...)
	}
	return all
}
