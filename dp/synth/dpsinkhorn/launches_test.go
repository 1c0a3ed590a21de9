package dpsinkhorn

import (
	"testing"

	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/device/devicetest"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
)

// What a step of the paper's MNIST run asks of a GPU: 50 + 20 images by a DCGAN, the published schedule.
func TestLaunches(t *testing.T) { devicetest.HoldStep(t, "DP-Sinkhorn", paperSteps) }

func BenchmarkStepsOnDevice(b *testing.B) { devicetest.TimeSteps(b, paperSteps) }

func paperSteps(t testing.TB, dev *device.Device, steps int, mark func()) {
	tr := Training{
		Net:       Net{DCGAN: &arch.DCGAN{Latent: 12, Classes: 2, Embed: 4}},
		Loss:      Loss{L1: 1, Fresh: .4},
		Sanitiser: WholeBatch{NoiseMultiplier: 1},
		Rate:      .05,
		Steps:     steps,
		Adam:      train.Adam{Rate: 1e-4},
		Trace:     func(int, *device.Array) { mark() },
	}
	g := must.Get(tr.Train(t.Context(), dev, bars(1000), synth.Run{Key: release.SeededKey(1)}))
	nn.Free(g.(*Generator).Params())
}
