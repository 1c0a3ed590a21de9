package nn

import "coupling/lab/device"

// Activation is an elementwise function with the parameter P.
type Activation struct {
	stateless

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

// ofOutput reports whether the derivative on every device is a function of the output: of its
// value, or of its sign, which is the input's. A GPU takes those of ELU, tanh and sigmoid from the
// input.
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

// activated is a layer that ends with a bias or a normalisation, which takes the activation after it into the same pass
// over memory. Sequential pairs them; a is nil where no activation follows.
type activated interface {
	Layer
	forward(p *Pass, x *device.Array, a *Activation) *device.Array
	vjp(p *Pass, dy *device.Array, a *Activation) *device.Array
}

// after is the map m with the activation after it, which may be nil.
func (a *Activation) after(m device.Affine) device.Affine {
	if a != nil {
		m.Func, m.P = a.Func, a.P
	}
	return m
}

// biased is a(y + b) for y of N×C or N×C×H×W; y is overwritten where the derivative does not need it.
func (a *Activation) biased(p *Pass, layer any, y *device.Array, b *Param) *device.Array {
	if a == nil && b == nil {
		return y
	}
	out := y
	if a != nil && !a.ofOutput() && !p.ForwardOnly {
		out = y.Like()
	}
	a.after(device.Affine{Shift: channels(b)}).Apply(planes(out), planes(y))
	if a != nil {
		p.Push(layer, y, out)
	}
	return out
}

// biasedVJP is the cotangent of y, with Σ of it added to the gradient of b, or with Pass.Squares its squares to those.
func (a *Activation) biasedVJP(p *Pass, layer any, dy *device.Array, b *Param) *device.Array {
	n, c := 1, dy.Dim(1)
	if p.squares() {
		n = dy.Dim(0)
	}
	var sum *device.Array
	switch {
	case a != nil:
		saved := p.Pop(layer)
		m := device.Affine{Shift: channels(b)}
		if a.ofOutput() {
			m.Shift = nil // y was overwritten
		}
		sum = dy.Device().New(dy.Type(), n, c, 1)
		dz := p.into(dy)
		a.after(m).VJP(planes(dz), sum, nil, planes(saved[0]), planes(saved[1]), planes(dy))
		dy = dz
	case b != nil && !p.InputsOnly:
		sum = reduce(planes(dy), device.Sum, n, c, 1)
	}
	if b != nil && p.squares() {
		addSquares(p.Squares, sum)
	} else if b != nil && p.params() {
		addInto(b.Grad, sum)
	}
	if sum != nil {
		sum.Free()
	}
	return dy
}

// VJP returns f'(x)·dy.
func (a *Activation) VJP(p *Pass, dy *device.Array) *device.Array {
	saved := p.Pop(a)
	dx := p.into(dy)
	device.MapVJP(dx, saved[0], saved[len(saved)-1], dy, a.Func, a.P)
	return dx
}

// Affine is By·x + Plus, elementwise, with constants: 2x − 1 brings pixels from [0, 1] to [−1, 1].
type Affine struct {
	stateless

	By, Plus float64
}

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
