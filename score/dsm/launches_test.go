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
	dev := devicetest.Counting(t)
	var at []device.Traffic
	sigmas := must.Get(score.Geometric(1, .01, 10))
	tr := Training{Sigmas: sigmas, Steps: 4, Schedule: train.Schedule(func(int) float64 {
		at = append(at, dev.Traffic())
		return 1
	})}
	net := arch.NCSN{Channels: 1, Features: 64, Levels: 10}.Net()
	f := must.Get(tr.Run(t.Context(), rand.New(rand.NewPCG(1, 1)), dev, net, mat.NewDense(200, 256, nil),
		[]int{1, 16, 16}))
	defer nn.Free(net.Params())
	devicetest.Hold(t, "NCSN", at[3].Minus(at[2]))

	at = nil
	chain := score.Start(rand.New(rand.NewPCG(1, 2)), mat.NewDense(100, 256, nil))
	l := score.Langevin{
		Levels: f.Sigmas,
		Steps:  4,
		Step:   1e-4,
		Trace:  func(score.Progress) { at = append(at, dev.Traffic()) },
	}
	must.Do(l.Run(t.Context(), f, chain))
	devicetest.Hold(t, "Langevin", at[3].Minus(at[2]))
}
