package nn

import (
	"fmt"

	"coupling/lab/device"
)

// Pass is one forward and backward pass through a network. The zero value is inference that can be
// differentiated. Arrays that layers make on the way are freed by a device.Scope around the step.
type Pass struct {
	// Training uses batch statistics and dropout and updates singular vectors. Otherwise a pass
	// does not change state.
	Training bool
	// ForwardOnly keeps nothing for VJP.
	ForwardOnly bool
	// InputsOnly makes VJP skip the gradients of parameters: for ∇ₓ.
	InputsOnly bool
	// ParamsOnly is for steps of training: VJP, called once, frees the arrays that layers kept as
	// soon as no other layer needs them, and may return nil, since the cotangent of the input is
	// not used.
	ParamsOnly bool

	// Random is the stream of dropout.
	Random *device.Stream
	// Class is what conditional layers look up for each example, int32 of shape [N]: class labels or noise levels.
	Class *device.Array
	// Condition is a vector for each example, N×D, that a network computes for its conditional layers, and
	// ConditionGrad, of the same shape, is what their VJP adds to. The network that sets them starts with zeros.
	Condition, ConditionGrad *device.Array

	// Squares, of shape [N], makes VJP add the squared norm of each example's own gradient to it, and nothing to the
	// gradients of parameters, and it may return nil. Layers that mix examples panic.
	Squares *device.Array
	// Revisit, with Squares, makes VJP keep copies of the cotangents of layers with parameters, for Weighted.
	Revisit bool

	// FLOP counts the multiplications and additions of the products and convolutions that Forward computes.
	FLOP float64

	frames []frame
	next   int // frames below have not been popped
	// uses counts the frames that hold an array. Those that layers of a Sequential made are its own to free.
	uses   map[*device.Array]int
	made   map[*device.Array]bool
	popped []*device.Array
	spare  *device.Array // an array that the called layer may overwrite
	after  *Activation   // what the called layer, if it endsInMap, does too
	visits []visit
}

// visit is a layer with parameters in a backward pass: what it had kept, and a copy of its cotangent.
type visit struct {
	step
	frames []frame
	dy     *device.Array
}

// visit keeps a copy of the cotangent of a layer that is about to go back.
func (p *Pass) visit(l step, dy *device.Array) (done func()) {
	if !l.isLeaf() || !p.Revisit || p.Squares == nil || len(Trainable(l.Params())) == 0 {
		return func() {}
	}
	v, before := visit{step: l, dy: dy.Clone()}, p.next
	return func() {
		v.frames = p.frames[p.next:before]
		p.visits = append(p.visits, v)
	}
}

// Weighted adds Σ_n factor_n·g_n to the gradients of a network's parameters, where g_n is the gradient of example n,
// after a VJP of the pass with Squares and Revisit. The cost is that of the gradients of parameters alone: no cotangent
// goes back through the layers again. It returns false, with nothing added, where a parameter is in a layer outside of
// any Sequential, or in one that goes back by itself.
func (p *Pass) Weighted(net Layer, factor *device.Array) bool {
	seen := 0
	for _, v := range p.visits {
		seen += len(Trainable(v.Params()))
	}
	if seen != len(Trainable(net.Params())) {
		return false
	}
	n := factor.Len()
	for _, v := range p.visits {
		rows := v.dy.Reshape(n, -1)
		device.Mul(rows, rows, factor.Reshape(n, 1))
		v.run(&Pass{Training: p.Training, Class: p.Class, Condition: p.Condition, ParamsOnly: true, frames: v.frames,
			next: len(v.frames)}, v.VJP, v.dy, false)
	}
	return true
}

// into is x, if the called layer may overwrite it, or a new array like it.
func (p *Pass) into(x *device.Array) *device.Array {
	if p.spare != nil && p.spare == x.Owner() {
		return x
	}
	return x.Like()
}

// frame holds the arrays that one layer kept, or only a shape.
type frame struct {
	layer any
	saved []*device.Array
	shape []int
}

// Push keeps arrays for the VJP of a layer.
func (p *Pass) Push(layer any, saved ...*device.Array) {
	if p.ForwardOnly {
		return
	}
	p.push(frame{layer: layer, saved: saved})
}

// PushShape keeps the shape of x for the VJP of a layer that needs no more of it.
func (p *Pass) PushShape(layer any, x *device.Array) {
	if !p.ForwardOnly {
		p.push(frame{layer: layer, shape: x.Shape()})
	}
}

func (p *Pass) push(f frame) {
	p.frames = append(p.frames[:p.next], f)
	p.next++
	if p.uses == nil {
		p.uses, p.made = map[*device.Array]int{}, map[*device.Array]bool{}
	}
	for _, a := range f.saved {
		p.uses[a.Owner()]++
	}
}

// Pop returns what the last layer kept. It panics unless that is the calling layer.
func (p *Pass) Pop(layer any) []*device.Array { return p.pop(layer).saved }

// PopShape returns the shape that the last layer kept.
func (p *Pass) PopShape(layer any) []int { return p.pop(layer).shape }

func (p *Pass) pop(layer any) frame {
	if p.next == 0 {
		panic(fmt.Sprintf("nn: VJP of %T: no Forward is left to undo on this pass", layer))
	}
	f := p.frames[p.next-1]
	if f.layer != layer {
		panic(fmt.Sprintf("nn: VJP of %T: the last Forward was of %T", layer, f.layer))
	}
	p.next--
	if p.ParamsOnly {
		for _, a := range f.saved {
			p.popped = append(p.popped, a.Owner())
		}
	}
	return f
}

// bottom reports, in the VJP of a layer that has popped its frame, that its cotangent is not used.
func (p *Pass) bottom() bool { return (p.ParamsOnly || p.Squares != nil) && p.next == 0 }

// keep moves the arrays of the frames from a depth on from a closing scope to the enclosing one.
// fresh, unless nil, is an array of the scope outside that may be freed as well.
func (p *Pass) keep(inside *device.Scope, depth int, fresh *device.Array) {
	for _, f := range p.frames[depth:p.next] {
		for _, a := range f.saved {
			if inside.Owns(a) {
				p.made[a.Owner()] = true
				inside.Keep(a)
			} else if a.Owner() == fresh {
				p.made[fresh] = true
			}
		}
	}
}

// drop frees an array, unless nil, that no frame holds.
func (p *Pass) drop(a *device.Array) {
	if a != nil && p.uses[a] == 0 {
		a.Free()
	}
}

// release frees the arrays popped since there were n frames, unless another frame holds them.
func (p *Pass) release(n int) {
	for _, a := range p.popped[n:] {
		if p.uses[a]--; p.uses[a] == 0 && p.made[a] {
			delete(p.made, a)
			a.Free()
		}
	}
	p.popped = p.popped[:n]
}

// Rewind restores the frames that VJP popped, so that the same forward pass can be differentiated
// again. It panics where ParamsOnly has let VJP free it.
func (p *Pass) Rewind() {
	if p.ParamsOnly && p.next < len(p.frames) {
		panic("nn: Rewind: the pass is ParamsOnly: VJP has freed what the layers kept")
	}
	p.next = len(p.frames)
}

// Depth returns the number of layers whose VJP is still to come: 0 after a complete VJP.
func (p *Pass) Depth() int { return p.next }

// params reports whether VJP adds to the gradients of parameters.
func (p *Pass) params() bool { return !p.InputsOnly && p.Squares == nil }

// squares reports whether VJP adds squared norms of examples' gradients.
func (p *Pass) squares() bool { return !p.InputsOnly && p.Squares != nil }

// noSquares is for layers in which an example has no gradient of its own.
func (p *Pass) noSquares(layer any, why string) {
	must(!p.squares(), layer, "no per-example gradients: %s", why)
}

// addCondition adds to the gradient of Condition.
func (p *Pass) addCondition(d *device.Array) {
	if p.ConditionGrad != nil {
		device.Add(p.ConditionGrad, p.ConditionGrad, d)
	}
}

// class is Class, checked.
func (p *Pass) class(layer any, n int) *device.Array {
	must(p.Class != nil, layer, "Pass.Class = nil: a conditional layer needs a class for each example")
	must(p.Class.Len() == n, layer, "Pass.Class has %d classes for %d examples", p.Class.Len(), n)
	return p.Class
}
