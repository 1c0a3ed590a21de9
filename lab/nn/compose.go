package nn

import (
	"math/rand/v2"
	"strconv"

	"coupling/lab/device"
)

// Sequential applies layers one after the other. When a layer is done, its temporary arrays are
// freed, except its output and those kept for VJP; a ForwardOnly pass also frees the arrays between
// layers. Activations overwrite inputs that no other layer will read, and run in one pass with the
// bias or normalisation before them.
type Sequential struct {
	Layers []Layer
}

// Seq returns the composition of layers, the first one first.
func Seq(layers ...Layer) *Sequential { return &Sequential{Layers: layers} }

// Init initialises the layers in order; parameters are named after their positions.
func (s *Sequential) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	for i, l := range s.Layers {
		InitChild(strconv.Itoa(i), l, dev, t, rng)
	}
}

// Params returns the layers' parameters in order.
func (s *Sequential) Params() []*Param { return paramsOf(s.Layers...) }

// paramsOf is the parameters of layers, of which some may be nil.
func paramsOf(layers ...Layer) (params []*Param) {
	for _, l := range layers {
		if l != nil {
			params = append(params, l.Params()...)
		}
	}
	return params
}

// Forward applies the layers.
func (s *Sequential) Forward(p *Pass, x *device.Array) *device.Array {
	if !p.ForwardOnly {
		return s.keeping(p, x)
	}
	between := x.Device().Scope()
	defer between.Close()
	for i := 0; i < len(s.Layers); {
		inside := x.Device().Scope()
		l := s.step(i)
		x = inside.Keep(l.run(p, l.Forward, x, false))
		inside.Close()
		i += l.layers
	}
	return between.Keep(x)
}

// step is layers that run as one: one that takes the activation after it along, or one alone.
type step struct {
	Layer
	after  *Activation // nil for one alone
	layers int
}

func (s *Sequential) step(i int) step {
	if endsInMap(s.Layers[i]) && i+1 < len(s.Layers) {
		if a, ok := s.Layers[i+1].(*Activation); ok {
			return step{s.Layers[i], a, 2}
		}
	}
	return step{Layer: s.Layers[i], layers: 1}
}

// isLeaf reports whether the layer is one of this package that writes its result to Pass.into.
func (s step) isLeaf() bool {
	_, ok := s.Layer.(*Activation)
	return ok || endsInMap(s.Layer)
}

// run calls f, which is Forward or VJP of the step's layer. A layer of this package that writes to Pass.into may
// overwrite x if no other layer will read it.
func (s step) run(p *Pass, f func(*Pass, *device.Array) *device.Array, x *device.Array, spare bool) *device.Array {
	p.after = s.after
	if s.isLeaf() && spare {
		p.spare = x.Owner()
	}
	y := f(p, x)
	p.after, p.spare = nil, nil
	return y
}

// keeping is Forward with a VJP to come.
func (s *Sequential) keeping(p *Pass, x *device.Array) *device.Array {
	first := p.next
	var fresh *device.Array // the owner of x, if that was made here
	for i := 0; i < len(s.Layers); {
		inside, depth, l := x.Device().Scope(), p.next, s.step(i)
		i += l.layers
		y := l.run(p, l.Forward, x, fresh != nil && p.uses[fresh] == 0)
		p.keep(inside, depth, fresh)
		if inside.Owns(y) {
			p.drop(fresh)
			fresh = y.Owner()
		} else if y.Owner() != fresh {
			fresh = nil
		}
		x = inside.Keep(y)
		inside.Close()
	}
	if first == 0 {
		delete(p.made, x.Owner()) // is the caller's
	}
	return x
}

// VJP goes back through the layers. Cotangents between them are freed.
func (s *Sequential) VJP(p *Pass, dy *device.Array) *device.Array {
	given := dy
	for i := len(s.Layers) - 1; i >= 0; i-- {
		inside, popped, l := given.Device().Scope(), len(p.popped), s.step(i)
		if i > 0 && s.step(i-1).layers == 2 {
			i--
			l = s.step(i)
		}
		first, visited := len(p.visits), p.visit(l, dy)
		dx := l.run(p, l.VJP, dy, dy.Owner() != given.Owner())
		visited()
		if dx != nil {
			inside.Keep(dx)
		}
		for _, v := range p.visits[first:] {
			inside.Keep(v.dy)
		}
		inside.Close()
		p.release(popped)
		if dy.Owner() != given.Owner() && (dx == nil || dx.Owner() != dy.Owner()) {
			dy.Owner().Free()
		}
		if dy = dx; dy == nil {
			break // the bottom
		}
	}
	return dy
}

// Residual is Body(x) + Shortcut(x).
type Residual struct {
	Body     Layer
	Shortcut Layer // nil: the identity
}

// Init initialises body and shortcut.
func (r *Residual) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	InitChild("body", r.Body, dev, t, rng)
	if r.Shortcut != nil {
		InitChild("shortcut", r.Shortcut, dev, t, rng)
	}
}

// Params returns those of body and shortcut.
func (r *Residual) Params() []*Param { return paramsOf(r.Body, r.Shortcut) }

// Forward adds.
func (r *Residual) Forward(p *Pass, x *device.Array) *device.Array {
	y, skip := r.Body.Forward(p, x), x
	if r.Shortcut != nil {
		skip = r.Shortcut.Forward(p, x)
	}
	return sum(y, skip)
}

// VJP adds the cotangents of both ways.
func (r *Residual) VJP(p *Pass, dy *device.Array) *device.Array {
	skip := dy
	if r.Shortcut != nil {
		skip = r.Shortcut.VJP(p, dy)
	}
	return sumOrNil(r.Body.VJP(p, dy), skip)
}

// sumOrNil is a + b, nil where one of them is: see Pass.ParamsOnly.
func sumOrNil(a, b *device.Array) *device.Array {
	if a == nil || b == nil {
		return nil
	}
	return sum(a, b)
}

func sum(a, b *device.Array) *device.Array {
	y := a.Like()
	device.Add(y, a, b)
	return y
}

// Concat joins the outputs of branches, which all see x, along axis 1. A nil branch is x itself.
type Concat struct {
	Branches []Layer
}

// Init initialises the branches.
func (c *Concat) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	for i, l := range c.Branches {
		if l != nil {
			InitChild(strconv.Itoa(i), l, dev, t, rng)
		}
	}
}

// Params returns those of the branches.
func (c *Concat) Params() []*Param { return paramsOf(c.Branches...) }

// Forward joins.
func (c *Concat) Forward(p *Pass, x *device.Array) *device.Array {
	parts, width := make([]*device.Array, len(c.Branches)), 0
	for i, l := range c.Branches {
		parts[i] = x
		if l != nil {
			parts[i] = l.Forward(p, x)
		}
		width += parts[i].Dim(1)
	}
	shape := append([]int(nil), parts[0].Shape()...)
	shape[1] = width
	y, at := x.Device().New(x.Type(), shape...), 0
	for _, part := range parts {
		device.Paste(y, part, 1, at)
		at += part.Dim(1)
	}
	p.Push(c, parts...)
	return y
}

// VJP cuts the cotangent and adds what the branches return.
func (c *Concat) VJP(p *Pass, dy *device.Array) *device.Array {
	parts, at := p.Pop(c), dy.Dim(1)
	var dx *device.Array
	for i := len(parts) - 1; i >= 0; i-- {
		at -= parts[i].Dim(1)
		d := dy.Device().New(dy.Type(), parts[i].Shape()...)
		device.Cut(d, dy, 1, at)
		if l := c.Branches[i]; l != nil {
			d = l.VJP(p, d)
		}
		if i == len(parts)-1 {
			dx = d
		} else {
			dx = sumOrNil(dx, d)
		}
	}
	return dx
}

// Reshape gives each example another shape; one size may be −1.
type Reshape struct {
	stateless

	Shape []int
}

// Flatten makes each example a row.
func Flatten() *Reshape { return &Reshape{Shape: []int{-1}} }

// Forward returns a view of x.
func (r *Reshape) Forward(p *Pass, x *device.Array) *device.Array {
	p.PushShape(r, x)
	return x.Reshape(append([]int{x.Dim(0)}, r.Shape...)...)
}

// VJP returns a view of dy.
func (r *Reshape) VJP(p *Pass, dy *device.Array) *device.Array {
	return dy.Reshape(p.PopShape(r)...)
}
