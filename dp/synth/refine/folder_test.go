package refine

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/audit"
	"coupling/dp/synth"
	"coupling/dp/synth/semidual"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"
)

// quieter is a method whose noise is a share of what its event says.
type quieter struct {
	Config
	share float64
}

func (q quieter) WithNoise(sigma float64) synth.Method {
	q.Config = q.Config.WithNoise(sigma).(Config)
	return q
}

func (q quieter) Train(ctx context.Context, dev *device.Device, m *data.Images, r synth.Run) (synth.Sampler, error) {
	return q.Config.WithNoise(q.share*q.Base.NoiseMultiplier).Train(ctx, dev, m, r)
}

// Whole folders of neighbouring data sets, made as by the command, with the choice of a kind and all pictures: who
// knows all images but a white one does not refute ε = 2 by the brightness of its class. Where the noise is a
// hundredth, the same attack does, in every trial. Two images are too few for anything else, and still end in a
// folder.
func TestFoldersAreNotToldApart(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred publications")
	}
	defer func(all int) { framing = all }(framing)
	framing = 40
	const eps, delta, known = 2, 1e-3, 2
	images, dev := bars(7, known+1), nntest.CPU(t)
	white := images.Row(known)
	for j := range white {
		white[j] = 1
	}
	method := Config{
		Base: semidual.Config{
			PerClass: 1, Basis: 4, Local: -1, Steps: 1, Clip: 14, Split: .2, Contrast: -1,
		},
		Axes: 2, Share: .05, Jitter: synth.Jitter{Shift: .1}, ChoiceShare: .01,
	}
	for share, trials := range map[float64]int{1: 24, .01: 120} {
		found := must.Get(audit.TwoWorlds[*data.Images]{
			Run: func(rng *rand.Rand, world bool) (*data.Images, error) {
				seed, out, n := rng.Uint64(), filepath.Join(t.TempDir(), "out"), known
				if world {
					n++
				}
				_, err := synth.Publication{
					Method: func(synth.Public) synth.Method { return quieter{method, share} },
					Budget: dp.Budget{Epsilon: eps, Delta: delta}, Count: 20, Seed: &seed, Out: out,
				}.Run(t.Context(), dev, images.Slice(0, n), nil)
				if err != nil {
					return nil, err
				}
				return data.Load(filepath.Join(out, "synthetic.npy"))
			},
			Score: func(m *data.Images) (sum float64) {
				for i, l := range m.Labels {
					for _, v := range m.Row(i) {
						if l == images.Labels[known] {
							sum += float64(v)
						}
					}
				}
				return sum
			},
			Trials: trials, Workers: 1,
		}.Epsilon(t.Context(), rand.New(rand.NewPCG(1, 2)), delta))
		t.Logf("%g of the noise: ε = %g, found %g", share, float64(eps), found.Epsilon)
		if found.Refutes(eps) != (share < 1) {
			t.Errorf("%g of the noise: ε = %g, found %g", share, float64(eps), found.Epsilon)
		}
	}
}
