package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn/initial"
)

// Embedding is a table with a row of numbers for each class. It is a part of layers that look up Pass.Class.
type Embedding struct {
	Classes, Width int
	Weights        initial.Law // nil: N(0, 1), PyTorch's default

	W *Param // Classes×Width
}

func (e *Embedding) init(dev *device.Device, t device.DType, rng *rand.Rand) {
	must(e.Classes > 0 && e.Width > 0, e, "Classes = %d, Width = %d: must be > 0", e.Classes, e.Width)
	draw := e.Weights
	if draw == nil {
		draw = initial.Normal(0, 1)
	}
	e.W = newParam(dev, t, "embedding", draw.Draw(rng, e.Classes, e.Width), e.Classes, e.Width)
}

func (e *Embedding) params() []*Param { return present(e.W) }

// gather returns the rows of the classes, N×Width.
func (e *Embedding) gather(class *device.Array) *device.Array {
	rows := e.W.Value.Device().New(e.W.Value.Type(), class.Len(), e.Width)
	device.Gather(rows, e.W.Value, class)
	return rows
}

// scatter adds the examples' cotangents to the rows' gradients.
func (e *Embedding) scatter(p *Pass, class, d *device.Array) {
	if p.squares() {
		addSquares(p.Squares, d)
	}
	if p.params() {
		device.Scatter(e.W.Grad, d, class)
	}
}

// AppendClass is [x, E(class)] for x N×D: an embedding of Pass.Class beside the input.
type AppendClass struct {
	Embedding
}

// Init draws the table.
func (a *AppendClass) Init(dev *device.Device, t device.DType, rng *rand.Rand) { a.init(dev, t, rng) }

// Params returns the table.
func (a *AppendClass) Params() []*Param { return a.params() }

// Forward appends.
func (a *AppendClass) Forward(p *Pass, x *device.Array) *device.Array {
	must(x.Rank() == 2, a, "shape of x = %v: must be [N D]", x.Shape())
	n, d := x.Dim(0), x.Dim(1)
	y := x.Device().New(x.Type(), n, d+a.Width)
	device.Paste(y, x, 1, 0)
	device.Paste(y, a.gather(p.class(a, n)), 1, d)
	p.Push(a)
	return y
}

// VJP cuts the cotangent in two.
func (a *AppendClass) VJP(p *Pass, dy *device.Array) *device.Array {
	p.Pop(a)
	n, d := dy.Dim(0), dy.Dim(1)-a.Width
	dx, de := dy.Device().New(dy.Type(), n, d), dy.Device().New(dy.Type(), n, a.Width)
	device.Cut(dx, dy, 1, 0)
	device.Cut(de, dy, 1, d)
	a.scatter(p, p.Class, de)
	return dx
}

// Conditioned runs Body with Pass.Condition set to an embedding of Pass.Class that its layers share, and gathers their
// cotangents in it (BigGAN's shared embedding).
type Conditioned struct {
	Embedding
	Body Layer
}

// Init draws the table and initialises the body.
func (c *Conditioned) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	c.init(dev, t, rng)
	InitChild("body", c.Body, dev, t, rng)
}

// Params returns the table and the body's parameters.
func (c *Conditioned) Params() []*Param { return append(c.params(), c.Body.Params()...) }

// Forward runs the body.
func (c *Conditioned) Forward(p *Pass, x *device.Array) *device.Array {
	outer := p.Condition
	p.Condition = c.gather(p.class(c, x.Dim(0)))
	y := c.Body.Forward(p, x)
	p.Condition = outer
	p.Push(c)
	return y
}

// VJP runs the body's.
func (c *Conditioned) VJP(p *Pass, dy *device.Array) *device.Array {
	p.Pop(c)
	outer := p.ConditionGrad
	p.ConditionGrad = dy.Device().Zeros(dy.Type(), dy.Dim(0), c.Width)
	dx := c.Body.VJP(p, dy)
	c.scatter(p, p.Class, p.ConditionGrad)
	p.ConditionGrad = outer
	return dx
}
