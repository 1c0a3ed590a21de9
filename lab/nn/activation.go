package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
)

// Activation is an elementwise function with the parameter P.
type Activation struct {
	Func device.Unary
	P    float64
}

// ReLU is max(x, 0).
func ReLU() *Activation { return &Activation{Func: device.ReLU} }

// LeakyReLU is x for x > 0 and slope·x otherwise.
func LeakyReLU(slope float64) *Activation { return &Activation{Func: device.LeakyReLU, P: slope} }

// ELU is x for x > 0 and eˣ − 1 otherwise.
func ELU() *Activation { return &Activation{Func: device.ELU, P: 1} }

// Softplus is log(1 + eˣ).
func Softplus() *Activation { return &Activation{Func: device.Softplus} }

// Tanh is tanh x.
func Tanh() *Activation { return &Activation{Func: device.Tanh} }

// Sigmoid is 1/(1 + e^−x).
func Sigmoid() *Activation { return &Activation{Func: device.Sigmoid} }

// SiLU is x/(1 + e^−x).
func SiLU() *Activation { return &Activation{Func: device.SiLU} }

// Init does nothing.
func (a *Activation) Init(*device.Device, device.DType, *rand.Rand) {}

// Params returns nothing.
func (a *Activation) Params() []*Param { return nil }

// Forward returns f(x).
func (a *Activation) Forward(p *Pass, x *device.Array) *device.Array {
	if a.ofOutput() {
		y := p.into(x)
		device.Map(y, x, a.Func, a.P)
		p.Push(a, y)
		return y
	}
	y := x.Like()
	device.Map(y, x, a.Func, a.P)
	p.Push(a, x, y)
	return y
}

// ofOutput says that the derivative on every device is a function of the output: of its value, or of its sign, which is
// the input's. A GPU takes those of ELU, tanh and sigmoid from the input.
func (a *Activation) ofOutput() bool {
	switch a.Func {
	case device.ReLU, device.Exp:
		return true
	case device.LeakyReLU:
		return a.P > 0
	}
	return false
}

func (a *Activation) leaf() {}

// VJP returns f'(x)·dy.
func (a *Activation) VJP(p *Pass, dy *device.Array) *device.Array {
	saved := p.Pop(a)
	dx := p.into(dy)
	device.MapVJP(dx, saved[0], saved[len(saved)-1], dy, a.Func, a.P)
	return dx
}

// Affine is By·x + Plus, elementwise, with constants: 2x − 1 brings pixels from [0, 1] to [−1, 1].
type Affine struct {
	By, Plus float64
}

// Init does nothing.
func (a *Affine) Init(*device.Device, device.DType, *rand.Rand) {}

// Params returns nothing.
func (a *Affine) Params() []*Param { return nil }

// Forward returns By·x + Plus.
func (a *Affine) Forward(p *Pass, x *device.Array) *device.Array {
	y := scaled(a.By, x)
	device.Map(y, y, device.AddConst, a.Plus)
	p.Push(a)
	return y
}

// VJP returns By·dy.
func (a *Affine) VJP(p *Pass, dy *device.Array) *device.Array {
	p.Pop(a)
	return scaled(a.By, dy)
}
