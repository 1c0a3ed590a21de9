package dsm

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

	"gonum.org/v1/gonum/mat"
)

// What steps with the papers' score network ask of a GPU: training at batch 128, and Langevin sampling of 100 chains.
func TestLaunches(t *testing.T) {
	devicetest.HoldStep(t, "NCSN", trainingSteps)
	devicetest.HoldStep(t, "Langevin", langevinSteps)
}

func BenchmarkStepsOnDevice(b *testing.B) {
	b.Run("NCSN", func(b *testing.B) { devicetest.TimeSteps(b, trainingSteps) })
	b.Run("Langevin", func(b *testing.B) { devicetest.TimeSteps(b, langevinSteps) })
}

var paperNet = arch.NCSN{Channels: 1, Features: 64, Levels: 10}

func trainingSteps(t testing.TB, dev *device.Device, steps int, mark func()) {
	tr := Training{
		Sigmas: must.Get(score.Geometric(1, .01, 10)),
		Steps:  steps,
		Schedule: train.Schedule(func(int) float64 {
			mark()
			return 1
		}),
	}
	net := paperNet.Net()
	must.Get(tr.Run(t.Context(), rand.New(rand.NewPCG(1, 1)), dev, net, mat.NewDense(200, 256, nil), []int{1, 16, 16}))
	nn.Free(net.Params())
}

func langevinSteps(t testing.TB, dev *device.Device, steps int, mark func()) {
	rng := rand.New(rand.NewPCG(1, 2))
	f := Network{
		Net:    paperNet.Net(),
		Device: dev,
		Shape:  []int{1, 16, 16},
		Sigmas: must.Get(score.Geometric(1, .01, 10)),
	}
	f.Net.Init(dev, device.Float32, rng)
	defer nn.Free(f.Net.Params())
	l := score.Langevin{
		Levels: f.Sigmas[:1],
		Steps:  steps,
		Step:   1e-4,
		Trace:  func(score.Progress) { mark() },
	}
	must.Do(l.Run(t.Context(), &f, score.Start(rng, mat.NewDense(100, 256, nil))))
}
