package arch

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// NCSN is the noise-conditional score network (Song and Ermon 2019): a RefineNet whose
// normalisations are InstanceNorm++ conditional on the noise level Pass.Class, with means in the
// chained pooling. Its output is the score itself. SCONES uses NCSN{Channels: 1, Features: 64,
// Levels: 10} on digits.
type NCSN struct {
	Channels int
	Features int // width of the first stage; 0: 128
	Levels   int
}

// Net returns the network, not yet initialised.
func (s NCSN) Net() *nn.Sequential {
	st := style{levels: s.Levels, inRCU: true, avg: true}
	return scoreNet(st.refineNet(s.Channels, orInt(s.Features, 128)))
}

// NCSNv2 is the network of Song and Ermon (2020): a RefineNet with unconditional InstanceNorm++ and maxima in the
// chained pooling, whose output is divided by the noise level of Pass.Class. SCONES uses
// NCSNv2{Channels: 3, Sigmas: 500 levels} on faces.
type NCSNv2 struct {
	Channels int
	Features int // width of the first stage; 0: 128
	Sigmas   []float64
}

// Net returns the network, not yet initialised.
func (s NCSNv2) Net() *nn.Sequential {
	net := scoreNet(style{}.refineNet(s.Channels, orInt(s.Features, 128)))
	net.Layers = append(net.Layers, &ByLevel{Sigmas: s.Sigmas})
	return net
}

// BarycentricImages is the barycentric projection that SCONES trains on faces: the trunk of NCSNv2 with a sigmoid, from
// images in [0, 1] to images in [0, 1]. The published code has Features 48.
type BarycentricImages struct {
	Channels int
	Features int // 0: 48
}

// Net returns the network, not yet initialised.
func (b BarycentricImages) Net() *nn.Sequential {
	net := scoreNet(style{}.refineNet(b.Channels, orInt(b.Features, 48)))
	net.Layers = append(net.Layers, nn.Sigmoid())
	return net
}

// scoreNet brings images from [0, 1] to [−1, 1] first.
func scoreNet(trunk nn.Layer) *nn.Sequential { return nn.Seq(&nn.Affine{By: 2, Plus: -1}, trunk) }

// ByLevel divides each example by the noise level of its Pass.Class.
type ByLevel struct {
	Sigmas []float64

	inverse *nn.Param // Levels×1
}

// Init keeps the levels on the device.
func (b *ByLevel) Init(dev *device.Device, t device.DType, _ *rand.Rand) {
	if len(b.Sigmas) == 0 {
		panic("arch: ByLevel: Sigmas = nil: must be the noise levels")
	}
	inverse := make([]float64, len(b.Sigmas))
	for i, s := range b.Sigmas {
		inverse[i] = 1 / s
	}
	b.inverse = &nn.Param{Name: "inverse", Value: dev.New(t, len(inverse), 1)}
	b.inverse.Value.SetFloats(inverse)
}

// Params returns the levels, which are state.
func (b *ByLevel) Params() []*nn.Param { return []*nn.Param{b.inverse} }

// Forward divides.
func (b *ByLevel) Forward(p *nn.Pass, x *device.Array) *device.Array {
	if p.Class == nil || p.Class.Len() != x.Dim(0) {
		panic("arch: ByLevel: Pass.Class must be a noise level for each example")
	}
	p.Push(b)
	return b.divide(p, x)
}

// VJP divides too.
func (b *ByLevel) VJP(p *nn.Pass, dy *device.Array) *device.Array {
	p.Pop(b)
	return b.divide(p, dy)
}

func (b *ByLevel) divide(p *nn.Pass, x *device.Array) *device.Array {
	n := x.Dim(0)
	f := x.Device().New(x.Type(), n, 1)
	device.Gather(f, b.inverse.Value, p.Class)
	y := x.Like()
	device.Mul(y.Reshape(n, -1), x.Reshape(n, -1), f)
	return y
}
