package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn/initial"
)

// ConditionalBatchNorm is BatchNorm with gamma = 1 + Gain(c) and beta = Bias(c), where c is Pass.Condition (BigGAN,
// Brock et al. 2019, appendix B).
type ConditionalBatchNorm struct {
	Channels int
	Width    int  // columns of the condition
	Batch    bool // batch statistics at inference too, no running ones
	Weights  initial.Law
	Spectral *Spectral // how Gain and Bias are normalised; nil: not at all

	Norm       BatchNorm
	Gain, Bias Dense
}

// Init initialises the statistics and the two maps.
func (b *ConditionalBatchNorm) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	b.Norm = BatchNorm{Channels: b.Channels, Batch: b.Batch, NoAffine: true}
	for _, d := range []*Dense{&b.Gain, &b.Bias} {
		*d = Dense{In: b.Width, Out: b.Channels, NoBias: true, Weights: b.Weights}
		if b.Spectral != nil {
			d.Spectral = &Spectral{Steps: b.Spectral.Steps, Eps: b.Spectral.Eps}
		}
	}
	InitChild("norm", &b.Norm, dev, t, rng)
	InitChild("gain", &b.Gain, dev, t, rng)
	InitChild("bias", &b.Bias, dev, t, rng)
}

// Params returns the running statistics and the parameters of Gain and Bias.
func (b *ConditionalBatchNorm) Params() []*Param {
	return append(append(b.Norm.Params(), b.Gain.Params()...), b.Bias.Params()...)
}

// Forward normalises.
func (b *ConditionalBatchNorm) Forward(p *Pass, x *device.Array) *device.Array {
	must(p.Condition != nil && p.Condition.Dim(0) == x.Dim(0), b,
		"Pass.Condition: must be a vector for each of %d examples", x.Dim(0))
	p.Push(b) // below Gain and Bias, whose cotangent is the condition's and not that of the network's input
	gamma := b.Gain.Forward(p, p.Condition).Reshape(x.Dim(0), b.Channels, 1)
	device.Map(gamma, gamma, device.AddConst, 1)
	beta := b.Bias.Forward(p, p.Condition).Reshape(x.Dim(0), b.Channels, 1)
	v := planes(x)
	mean, rstd := b.Norm.statistics(p, v)
	scale := mul(gamma, rstd)
	p.Push(b, v, mean, rstd, scale, gamma)
	return applied(device.Affine{Scale: scale, Center: mean, Shift: beta}, v).Reshape(x.Shape()...)
}

// VJP returns the cotangent of x and adds to that of the condition.
func (b *ConditionalBatchNorm) VJP(p *Pass, dy *device.Array) *device.Array {
	saved := p.Pop(b)
	x, mean, rstd, scale, gamma := saved[0], saved[1], saved[2], saved[3], saved[4]
	n, c := x.Dim(0), b.Channels
	dx, d, sum, along := affineVJP(p, device.Affine{Scale: scale, Center: mean}, x, x, planes(dy), n, c, 1)
	p.addCondition(b.Bias.VJP(p, sum.Reshape(n, c)))
	p.addCondition(b.Gain.VJP(p, mul(along, rstd).Reshape(n, c)))
	p.Pop(b)
	device.Mul(dx, d, gamma)
	return b.Norm.inputVJP(p, dx, dx, x, mean, rstd, rstd, dot(sum, gamma, 1, c, 1), dot(along, gamma, 1, c, 1)).
		Reshape(dy.Shape()...)
}
