package dpsinkhorn

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"coupling/data"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"
)

// The residual generator of colour images trains privately, by either gradient, and goes on where
// it was stopped with the same bits, singular vectors and running statistics among them.
func TestBigGAN(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	images := must.Get(data.New(30, 3, 32, 32))
	images.Labels, images.Classes = make([]int, 30), []string{"a", "b"}
	for i := range images.Labels {
		images.Labels[i] = i % 2
	}
	for i := range images.Pixels() {
		images.Pixels()[i] = rng.Float32()
	}
	for _, parameters := range []bool{false, true} {
		tr := Training{
			Net: Net{BigGAN: &arch.BigGAN{
				Latent:  3,
				Classes: 2,
				Embed:   2,
				Hidden:  4,
				Running: true,
			}}, Loss: Loss{Fresh: .25}, Sanitiser: WholeBatch{NoiseMultiplier: .1},
			Parameters: parameters, Images: 4, Rate: .2, Steps: 4, Adam: train.Adam{Rate: 1e-3},
		}
		whole := must.Get(fit(t, tr, images, synth.Run{}))
		r := synth.Run{Key: release.SeededKey(1), Dir: t.TempDir(), Every: 10}
		ctx, stop := context.WithCancel(t.Context())
		tr.Trace = func(k int, _ *device.Array) {
			if k == 1 {
				stop()
			}
		}
		if _, err := tr.Train(ctx, nntest.CPU(t), images, r); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped: %v", err)
		}
		tr.Trace = nil
		again := must.Get(fit(t, tr, images, r))
		a, b := weights(t, whole.Params()), weights(t, again.Params())
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("parameters %v: weight %d is %g, and %g where it was stopped", parameters, i, a[i], b[i])
			}
		}
		m := must.Get(again.Sample(rng, 5))
		if _, c, h, w := m.Shape(); c != 3 || h != 32 || w != 32 {
			t.Errorf("images of %d×%d×%d", c, h, w)
		}
	}
}
