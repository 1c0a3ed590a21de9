package arch_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"
)

// A training step of the DCGAN generator at MNIST's size, batch 70: forward, the way back from a cotangent at the
// images, Adam. Useful work: 22.3 GFLOP. Target: 0.42 s on two cores.
func BenchmarkDCGANOnDevice(b *testing.B) {
	dev := nntest.Open(b)
	defer dev.Close()
	defer dev.Scope().Close()
	g := arch.DCGAN{Latent: 100}.Net()
	g.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 2)))
	opt := train.Adam{Rate: 2e-4, Beta1: .5, Beta2: .999}.For(g.Params())
	stream := dev.Stream(3)
	z, dy := dev.New(device.Float32, 70, 100), dev.New(device.Float32, 70, 1, 28, 28)
	stream.Normal(dy, 0, 1)
	step := func() {
		defer dev.Scope().Close()
		stream.Normal(z, 0, 1)
		p := &nn.Pass{Training: true}
		nn.ZeroGrads(g.Params())
		g.Forward(p, z)
		g.VJP(p, dy)
		opt.Step()
	}
	record(b, dev, step, 22.3e9)
}

// record times a step that is recorded once and replayed.
func record(b *testing.B, dev *device.Device, step func(), flop float64) {
	b.Helper()
	step()
	graph := dev.Record(step)
	defer graph.Close()
	sync := func() {
		if err := dev.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	sync()
	start := time.Now()
	for b.Loop() {
		graph.Launch()
		sync()
	}
	if flop > 0 {
		b.ReportMetric(flop*float64(b.N)/time.Since(start).Seconds()/1e9, "GFLOP/s")
	}
	arrays, bytes, peak := dev.Live()
	b.Logf("%d arrays, %d MB live, %d MB at most", arrays, bytes>>20, peak>>20)
}
