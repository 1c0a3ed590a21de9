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

// endsInMap reports whether l ends with a bias or a normalisation, which takes Pass.after into the same pass over
// memory. A layer of another package that embeds one of these has its methods, but not its type.
func endsInMap(l Layer) bool {
	switch l.(type) {
	case *Dense, *Conv2D, *ConvTranspose2D, *BatchNorm, *InstanceNormPlus:
		return true
	}
	return false
}

// bent is the map m with the activation after it.
func (p *Pass) bent(m device.Affine) device.Affine {
	if p.after != nil {
		m.Func, m.P = p.after.Func, p.after.P
	}
	return m
}

// biased is a(y + b), a being p.after, for y of N×C or N×C×H×W; y is overwritten where the derivative does not need it.
func (p *Pass) biased(layer any, y *device.Array, b *Param) *device.Array {
	a := p.after
	if a == nil && b == nil {
		return y
	}
	out := y
	if a != nil && !a.ofOutput() && !p.ForwardOnly {
		out = y.Like()
	}
	p.bent(device.Affine{Shift: channels(b)}).Apply(planes(out), planes(y))
	if a != nil {
		p.Push(layer, y, out)
	}
	return out
}

// biasedVJP is the cotangent of y, with Σ of it added to the gradient of b, or with Pass.Squares its squares to those.
func (p *Pass) biasedVJP(layer any, dy *device.Array, b *Param) *device.Array {
	a, n, c := p.after, 1, dy.Dim(1)
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
		p.bent(m).VJP(planes(dz), sum, nil, planes(saved[0]), planes(saved[1]), planes(dy))
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
