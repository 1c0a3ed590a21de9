//go:build unix

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
)

// gemm is one product of square matrices.
func gemm(dev *device.Device, q request) func() {
	t := device.Float32
	if q.Type == "float64" {
		t = device.Float64
	}
	stream := dev.Stream(1)
	a, b, c := dev.New(t, q.N, q.N), dev.New(t, q.N, q.N), dev.New(t, q.N, q.N)
	stream.Normal(a, 0, 1)
	stream.Normal(b, 0, 1)
	fa, fb := a.N(), b.N()
	if q.Trans == "T" {
		fb = b.T()
	}
	return func() { device.Gemm(c, 1, fa, fb, 0) }
}

// convolution is one of the three products of a convolution that keeps the size, or with Stride 2 halves it.
func convolution(dev *device.Device, q request) (func(), error) {
	l := &nn.Conv2D{In: q.In, Out: q.Out, NoBias: true, Window: device.SquareWindow(q.Kernel, q.Stride, (q.Kernel-1)/2)}
	l.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 2)))
	stream := dev.Stream(1)
	x := dev.New(device.Float32, q.N, q.In, q.Side, q.Side)
	oh, ow := l.Window.Out(q.Side, q.Side)
	y := dev.New(device.Float32, q.N, q.Out, oh, ow)
	stream.Normal(x, 0, 1)
	stream.Normal(y, 0, 1)
	switch q.Pass {
	case "forward":
		return func() { device.Conv(y, x, l.W.Value, l.Window) }, nil
	case "weight":
		return func() { device.ConvWeight(l.W.Grad, x, y, l.Window) }, nil
	case "input":
		return func() { device.ConvInput(x, y, l.W.Value, l.Window) }, nil
	}
	return nil, fmt.Errorf("pass = %q: must be forward, weight or input", q.Pass)
}

// A network with the shapes of an example and of what it makes of it: logits, or a regression.
type network struct {
	layer   nn.Layer
	in, out []int
}

func networks() map[string]network {
	digit, small, large := []int{1, 28, 28}, []int{1, 16, 16}, []int{1, 32, 32}
	return map[string]network{
		"lenet":  {arch.LeNet(1, 28, 10, 6), digit, []int{10}},
		"cnn":    {arch.CNN{}.Net(), digit, []int{10}},
		"dcgan":  {arch.DCGAN{Latent: 100}.Net(), []int{100}, digit},
		"unet":   {arch.UNet(1, 1, 16), small, small},
		"unet32": {arch.UNet(1, 1, 16), large, large},
		"ncsn":   {scoreNet(64), large, large},
	}
}

// step is a training step with Adam on a batch, or one sum of clipped gradients.
func step(dev *device.Device, q request) (func(), error) {
	all := networks()
	net, ok := all[q.Net]
	if !ok {
		return nil, fmt.Errorf("net = %q: must be one of %v", q.Net, slices.Sorted(maps.Keys(all)))
	}
	net.layer.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 2)))
	params := net.layer.Params()
	opt := train.Adam{Rate: 1e-4}.For(params)
	stream := dev.Stream(1)
	x, dy := dev.New(device.Float32, append([]int{q.N}, net.in...)...),
		dev.New(device.Float32, append([]int{q.N}, net.out...)...)
	stream.Normal(x, 0, 1)
	stream.Normal(dy, 0, 1)
	labels := dev.FromInts(make([]int32, q.N), q.N)
	once := func() {
		defer dev.Scope().Close()
		nn.ZeroGrads(params)
		p := &nn.Pass{Training: true, ParamsOnly: q.Kind == "step"}
		y := net.layer.Forward(p, x)
		grad := dy
		if len(net.out) == 1 {
			grad = y.Like()
			device.CrossEntropy(dev.New(device.Float32, q.N), grad, y, labels)
		}
		if q.Kind == "clip" {
			if _, err := train.ClippedGrads(p, net.layer, grad, 1); err != nil {
				panic(err)
			}
			return
		}
		net.layer.VJP(p, grad)
		opt.Step()
	}
	if q.Kind == "clip" { // copies norms to the host
		return once, nil
	}
	var replay device.Replay
	return func() { replay.Do(dev, once) }, nil
}

func conv3(in, out int) nn.Layer {
	return &nn.Conv2D{In: in, Out: out, Window: device.SquareWindow(3, 1, 1)}
}

// scoreNet is two resolutions of residual blocks like NCSN's: InstanceNorm++, ELU, convolution, twice.
func scoreNet(width int) nn.Layer {
	block := func(c int) nn.Layer {
		norm := func() nn.Layer { return &nn.InstanceNormPlus{Channels: c} }
		return &nn.Residual{Body: nn.Seq(norm(), nn.ELU(), conv3(c, c), norm(), nn.ELU(), conv3(c, c))}
	}
	around := nn.Seq(&nn.AvgPool{Window: device.SquareWindow(2, 2, 0)}, conv3(width, 2*width), block(2*width),
		&nn.Upsample{Factor: 2})
	return nn.Seq(conv3(1, width), block(width), &nn.Concat{Branches: []nn.Layer{nil, around}}, conv3(3*width, width),
		&nn.InstanceNormPlus{Channels: width}, nn.ELU(), conv3(width, 1))
}
