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

// Training steps: forward, the way back from a cotangent at the output, Adam. Useful work is three times that of a
// forward pass, 2 FLOP for each multiplication and addition.
//
// DCGAN is the generator at MNIST's size and DP-Sinkhorn's batch of 70; target 0.42 s on two cores. NCSN is the score
// network of 16×16 digits, 0.618 GMAC an image; Critic is a potential of d = 64.
func BenchmarkStepOnDevice(b *testing.B) {
	for _, c := range []struct {
		name       string
		net        nn.Layer
		shape      []int
		classes    int
		multiplies float64 // of a forward pass of one example
	}{
		{"DCGAN/batch=70", arch.DCGAN{Latent: 100}.Net(), []int{70, 100}, 0, 53.1e6},
		{"NCSN/batch=8", arch.NCSN{Channels: 1, Features: 64, Levels: 10}.Net(), []int{8, 1, 16, 16}, 10, 618e6},
		{"Critic/batch=500", arch.Critic(64, 2048, 2048, 2048), []int{500, 64}, 0, 8.52e6},
	} {
		b.Run(c.name, func(b *testing.B) {
			dev := nntest.Open(b)
			defer dev.Close()
			defer dev.Scope().Close()
			c.net.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 2)))
			opt := train.Adam{Rate: 2e-4, Beta1: .5, Beta2: .999}.For(c.net.Params())
			x, stream, class := dev.New(device.Float32, c.shape...), dev.Stream(3),
				dev.FromInts(make([]int32, c.shape[0]), c.shape[0])
			step := func() {
				defer dev.Scope().Close()
				stream.Normal(x, 0, 1)
				p := &nn.Pass{Training: true, Class: class}
				nn.ZeroGrads(c.net.Params())
				y := c.net.Forward(p, x)
				dy := y.Like()
				stream.Normal(dy, 0, 1)
				c.net.VJP(p, dy)
				opt.Step()
			}
			record(b, dev, step, 6*c.multiplies*float64(c.shape[0]))
		})
	}
}

// record times a step that is recorded once and replayed.
func record(b *testing.B, dev *device.Device, step func(), flop float64) {
	b.Helper()
	step()
	graph := dev.Record(step)
	defer graph.Close()
	sync := func() {
		must.Do(dev.Sync())
	}
	sync()
	for b.Loop() {
		graph.Launch()
		sync()
	}
	b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	_, _, peak := dev.Live()
	b.ReportMetric(float64(peak>>20), "peak-MB")
}
