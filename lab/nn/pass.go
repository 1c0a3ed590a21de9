package nn

import (
	"fmt"

	"coupling/lab/device"
)

// Pass is one way forward through a network and back. The zero value is inference that can be differentiated.
// Arrays that layers make on the way are freed by a device.Scope around the step.
type Pass struct {
	// Training takes batch statistics, drops out and turns singular vectors. Otherwise a pass changes no state.
	Training bool
	// ForwardOnly keeps nothing for VJP.
	ForwardOnly bool
	// InputsOnly makes VJP leave the gradients of parameters alone: for ∇ₓ.
	InputsOnly bool

	// Random is what dropout draws from.
	Random *device.Stream
	// Class is what conditional layers look up for each example, int32 of shape [N]: class labels or noise levels.
	Class *device.Array
	// Condition is a vector for each example, N×D, that a network computes for its conditional layers, and
	// ConditionGrad, of the same shape, is what their VJP adds to. The network that sets them starts with zeros.
	Condition, ConditionGrad *device.Array

	// Squares, of shape [N], makes VJP add the squared norm of each example's own gradient to it, and nothing to the
	// gradients of parameters. Layers that mix examples panic.
	Squares *device.Array

	frames []frame
	next   int // frames below are still to be undone
}

// frame is what one layer kept.
type frame struct {
	layer any
	saved []*device.Array
}

// Push keeps arrays for the VJP of a layer.
func (p *Pass) Push(layer any, saved ...*device.Array) {
	if p.ForwardOnly {
		return
	}
	p.frames = append(p.frames[:p.next], frame{layer, saved})
	p.next++
}

// Pop returns what the last layer kept. It panics unless that is the layer that asks.
func (p *Pass) Pop(layer any) []*device.Array {
	if p.next == 0 {
		panic(fmt.Sprintf("nn: VJP of %T: no Forward is left to undo on this pass", layer))
	}
	f := p.frames[p.next-1]
	if f.layer != layer {
		panic(fmt.Sprintf("nn: VJP of %T: the last Forward was of %T", layer, f.layer))
	}
	p.next--
	return f.saved
}

// Rewind puts back what VJP took off, so that the same forward pass can be differentiated once more.
func (p *Pass) Rewind() { p.next = len(p.frames) }

// Depth is the number of layers that are still to be undone: 0 after a complete VJP.
func (p *Pass) Depth() int { return p.next }

// params says whether VJP adds to the gradients of parameters.
func (p *Pass) params() bool { return !p.InputsOnly && p.Squares == nil }

// squares says whether VJP adds squared norms of examples' gradients.
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
