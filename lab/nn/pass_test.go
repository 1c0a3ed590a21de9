package nn_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/nntest"
)

// panics returns what f panics with.
func panics(t *testing.T, f func()) (message string) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			message, _ = r.(string)
			return
		}
		t.Error("no panic")
	}()
	f()
	return ""
}

// Mistakes of the program are panics that name the layer and what is wrong.
func TestMistakes(t *testing.T) {
	dev := nntest.InScope(t)
	rng := rand.New(rand.NewPCG(1, 2))
	dense, relu := &nn.Dense{In: 3, Out: 2}, nn.ReLU()
	dense.Init(dev, device.Float64, rng)
	norm := &nn.BatchNorm{Channels: 3}
	norm.Init(dev, device.Float64, rng)
	level := &nn.InstanceNormPlus{Channels: 3, Classes: 2}
	level.Init(dev, device.Float64, rng)
	x := dev.Zeros(device.Float64, 4, 3)
	image := dev.Zeros(device.Float64, 4, 3, 1, 1)
	for _, c := range []struct {
		name string
		f    func()
		want []string
	}{
		{"VJP in the wrong order", func() {
			p := &nn.Pass{}
			y := relu.Forward(p, dense.Forward(p, x))
			dense.VJP(p, y)
		}, []string{"*nn.Dense", "*nn.Activation"}},
		{"VJP without Forward", func() { relu.VJP(&nn.Pass{}, x) }, []string{"*nn.Activation", "no Forward"}},
		{"VJP after ForwardOnly", func() {
			p := &nn.Pass{ForwardOnly: true}
			relu.VJP(p, relu.Forward(p, x))
		}, []string{"*nn.Activation", "no Forward"}},
		{"wrong width", func() { dense.Forward(&nn.Pass{}, dev.Zeros(device.Float64, 4, 5)) },
			[]string{"*nn.Dense", "[4 5]", "[N 3]"}},
		{"no size", func() { (&nn.Dense{In: 3}).Init(dev, device.Float64, rng) }, []string{"*nn.Dense", "Out = 0"}},
		{"no class", func() { level.Forward(&nn.Pass{}, image) }, []string{"*nn.InstanceNormPlus", "Pass.Class"}},
		{"no random stream", func() { (&nn.Dropout{Rate: .5}).Forward(&nn.Pass{Training: true}, x) },
			[]string{"*nn.Dropout", "Pass.Random"}},
		{"one channel", func() { (&nn.InstanceNormPlus{Channels: 1}).Init(dev, device.Float64, rng) },
			[]string{"Channels = 1"}},
		{"examples of a batch", func() {
			p := &nn.Pass{Training: true, Squares: dev.Zeros(device.Float64, 4)}
			norm.VJP(p, norm.Forward(p, x))
		}, []string{"*nn.BatchNorm", "per-example"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := panics(t, c.f)
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("panic says %q, not %q", got, w)
				}
			}
		})
	}
}
