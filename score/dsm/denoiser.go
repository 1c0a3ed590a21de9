package dsm

import (
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
)

// Denoiser is a score network whose body learns the difference from a Gaussian: with m the data's
// mean and v the variance of its elements,
//
//	s(x, σ) = −(x − m)/(v + σ²) + √v/(σ√(v + σ²)) · F((x − m)/√(v + σ²), σ)
//
// so that the body F has inputs and targets of order one at every level, and with F = 0 the score is that of N(m, vI)
// smoothed: the denoiser of Karras et al. (2022), "Elucidating the design space of diffusion-based generative models",
// table 1, written as a score.
type Denoiser struct {
	Sigmas []float64 // the noise levels
	Mean   []float64 // of the data, of the length of an example
	Spread float64   // √v
	Body   nn.Layer  // from an example to one of the same shape; it may use Pass.Class
	OnBase bool      // without the Gaussian's score, the first term, since Training.Base has a better one

	in, out, mean *nn.Param // 1/√(v + σ²) and √v/(σ√(v + σ²)), Levels×1; the mean, 1×d
}

// DenoisingMLP returns a Denoiser whose body is dense layers with SiLU on the point and an embedding of
// its level: the first, then residual blocks of two, then the last.
func DenoisingMLP(mean []float64, spread float64, sigmas []float64, width, blocks int) *Denoiser {
	const embedded = 16
	d := len(mean)
	body := nn.Seq(&nn.AppendClass{Embedding: nn.Embedding{Classes: len(sigmas), Width: embedded}},
		&nn.Dense{In: d + embedded, Out: width})
	for range blocks {
		block := arch.MLP{Sizes: []int{width, width, width}, Hidden: func() nn.Layer { return nn.SiLU() }}.Net()
		body.Layers = append(body.Layers, &nn.Residual{Body: nn.Seq(append([]nn.Layer{nn.SiLU()}, block.Layers...)...)})
	}
	body.Layers = append(body.Layers, nn.SiLU(), &nn.Dense{In: width, Out: d})
	return &Denoiser{Sigmas: sigmas, Mean: mean, Spread: spread, Body: body}
}

// Init initialises the body and keeps factors and mean on the device.
func (l *Denoiser) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	if len(l.Sigmas) == 0 || len(l.Mean) == 0 || !(l.Spread > 0) {
		panic(fmt.Sprintf("dsm: Denoiser: %d levels, a mean of length %d, Spread = %g: must be > 0", len(l.Sigmas),
			len(l.Mean), l.Spread))
	}
	in, out := make([]float64, len(l.Sigmas)), make([]float64, len(l.Sigmas))
	for k, s := range l.Sigmas {
		in[k] = 1 / math.Hypot(l.Spread, s)
		out[k] = l.Spread / s * in[k]
	}
	state := func(name string, v []float64, shape ...int) *nn.Param {
		p := &nn.Param{Name: name, Value: dev.New(t, shape...)}
		p.Value.SetFloats(v)
		return p
	}
	l.in, l.out = state("in", in, len(in), 1), state("out", out, len(out), 1)
	l.mean = state("mean", l.Mean, 1, len(l.Mean))
	nn.InitChild("body", l.Body, dev, t, rng)
}

// Params returns those of the body, factors and mean, which are state.
func (l *Denoiser) Params() []*nn.Param { return append(l.Body.Params(), l.in, l.out, l.mean) }

// factor returns a factor for each example, N×1.
func (l *Denoiser) factor(p *nn.Pass, table *nn.Param, n int) *device.Array {
	if p.Class == nil || p.Class.Len() != n {
		panic("dsm: Denoiser: Pass.Class must be a noise level for each example")
	}
	f := table.Value.Device().New(table.Value.Type(), n, 1)
	device.Gather(f, table.Value, p.Class)
	return f
}

// Forward returns the score.
func (l *Denoiser) Forward(p *nn.Pass, x *device.Array) *device.Array {
	n := x.Dim(0)
	in, out := l.factor(p, l.in, n), l.factor(p, l.out, n)
	u := x.Like()
	device.Sub(u.Reshape(n, -1), x.Reshape(n, -1), l.mean.Value)
	device.Mul(u.Reshape(n, -1), u.Reshape(n, -1), in)
	f := l.Body.Forward(p, u)
	p.Push(l)
	if l.OnBase {
		y := f.Like()
		device.Mul(y.Reshape(n, -1), f.Reshape(n, -1), out)
		return y
	}
	return combine(f, out, u, in)
}

// VJP goes back through both terms.
func (l *Denoiser) VJP(p *nn.Pass, dy *device.Array) *device.Array {
	p.Pop(l)
	n := dy.Dim(0)
	in, out := l.factor(p, l.in, n), l.factor(p, l.out, n)
	df := dy.Like()
	device.Mul(df.Reshape(n, -1), dy.Reshape(n, -1), out)
	du := l.Body.VJP(p, df)
	if du == nil { // nn.Pass.ParamsOnly
		return nil
	}
	dx := du
	if !l.OnBase {
		dx = combine(du, nil, dy, in)
	}
	device.Mul(dx.Reshape(n, -1), dx.Reshape(n, -1), in)
	return dx
}

// combine is a·f − b·u, rows times factors; a nil factor is one.
func combine(f, a, u, b *device.Array) *device.Array {
	n := u.Dim(0)
	y, t := u.Like(), u.Like()
	device.Mul(t.Reshape(n, -1), u.Reshape(n, -1), b)
	if a == nil {
		device.Sub(y.Reshape(n, -1), f.Reshape(n, -1), t.Reshape(n, -1))
		return y
	}
	device.Mul(y.Reshape(n, -1), f.Reshape(n, -1), a)
	device.Sub(y, y, t)
	return y
}

// DenoisingUNet returns a Denoiser of images of C channels whose sides are multiples of 4, by arch.UNet.
// As in NCSNv2 (Song and Ermon 2020) the noise level is not an input, since an image of hundreds of
// pixels shows it. Of width 16 it learns digits in minutes on two cores.
func DenoisingUNet(mean []float64, spread float64, sigmas []float64, channels, width int) *Denoiser {
	return &Denoiser{Sigmas: sigmas, Mean: mean, Spread: spread, Body: arch.UNet(channels, channels, width)}
}
