package train_test

import (
	"math/rand/v2"
	"testing"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
)

// small is a network of all kinds of layers that have per-example gradients.
func small() nn.Layer {
	return nn.Seq(
		&nn.Conv2D{In: 1, Out: 4, Window: device.SquareWindow(3, 1, 1)}, &nn.GroupNorm{Channels: 4, Groups: 2}, nn.Tanh(),
		&nn.ConvTranspose2D{In: 4, Out: 2, Window: device.SquareWindow(4, 2, 1)}, &nn.InstanceNormPlus{Channels: 2, Classes: 3}, nn.ELU(),
		nn.Flatten(), &nn.Dense{In: 2 * 8 * 8, Out: 5}, &nn.AppendClass{Embedding: nn.Embedding{Classes: 3, Width: 2}}, &nn.Dense{In: 7, Out: 2},
	)
}

// ClippedGrads is the sum of clipped gradients taken one example at a time, in float64 to rounding and in float32 to
// its own; and no clipped gradient is longer than the bound.
func TestClippedGradsOnDevice(t *testing.T) {
	dev := open(t)
	const n, bound = 5, .7
	for _, dtype := range []device.DType{device.Float32, device.Float64} {
		t.Run(dtype.String(), func(t *testing.T) {
			defer dev.Scope().Close()
			rng := rand.New(rand.NewPCG(1, 2))
			net := small()
			net.Init(dev, dtype, rng)
			x, dy := normal(dev, rng, dtype, n, 1, 4, 4), normal(dev, rng, dtype, n, 2)
			p := &nn.Pass{Class: dev.FromInts([]int32{0, 1, 2, 1, 1}, n)}
			net.Forward(p, x)
			device.Scale(dy.Rows(2, 3), .01, dy.Rows(2, 3)) // an example that is not clipped
			norms := floats(t, train.ClippedGrads(p, net, dy, bound))
			got := grads(t, net)

			want, clipped := make([]float64, len(got)), 0
			for i := range n {
				nn.ZeroGrads(net.Params())
				alone := dev.Zeros(dtype, n, 2)
				device.Convert(alone.Rows(i, i+1), dy.Rows(i, i+1))
				p.Rewind()
				net.VJP(p, alone)
				g := grads(t, net)
				length := norm(g)
				near(t, "norm", norms[i:i+1], []float64{length}, train.Margin(dtype)/10)
				f := min(1, bound*(1-train.Margin(dtype))/length)
				if f < 1 {
					clipped++
				}
				for j := range g {
					want[j] += f * g[j]
				}
			}
			if clipped == 0 || clipped == n {
				t.Fatalf("%d of %d examples were clipped: the test tests little", clipped, n)
			}
			near(t, "sum", got, want, train.Margin(dtype))
		})
	}
}

// One example's contribution stays within the bound, whatever the size of its gradient: what sensitivity rests on.
func TestClippedGradsBound(t *testing.T) {
	dev := open(t)
	for _, scale := range []float64{1e-20, 1e-3, 1, 1e3, 1e12} {
		func() {
			defer dev.Scope().Close()
			rng := rand.New(rand.NewPCG(3, 4))
			net := small()
			net.Init(dev, device.Float32, rng)
			p := &nn.Pass{Class: dev.FromInts([]int32{2}, 1)}
			net.Forward(p, normal(dev, rng, device.Float32, 1, 1, 4, 4))
			dy := normal(dev, rng, device.Float32, 1, 2)
			device.Scale(dy, scale, dy)
			train.ClippedGrads(p, net, dy, .5)
			if got := norm(grads(t, net)); got > .5 || scale >= 1 && got < .499 {
				t.Errorf("cotangent times %v: the clipped gradient has norm %v, bound .5", scale, got)
			}
		}()
	}
}
