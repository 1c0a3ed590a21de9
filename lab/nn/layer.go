package nn

import (
	"fmt"
	"math/rand/v2"

	"coupling/lab/device"
)

// Layer is a differentiable map with parameters. The first axis of arrays is examples.
//
// A layer is used by one pass at a time and at one place of one network: Init names its parameters
// after that place.
type Layer interface {
	// Init allocates the parameters on a device and draws their first values. It panics on sizes that make no sense.
	Init(dev *device.Device, t device.DType, rng *rand.Rand)
	// Forward returns y = f(x), a new array or a view of x, and keeps on the pass what VJP needs.
	Forward(p *Pass, x *device.Array) *device.Array
	// VJP takes a cotangent dy of the shape of y and returns dx = (∂y/∂x)ᵀ dy; to the gradient of
	// each parameter w it adds (∂y/∂w)ᵀ dy. It pops the frame of the last Forward on the pass,
	// which must be its own, and does not change dy.
	VJP(p *Pass, dy *device.Array) *device.Array
	// Params returns parameters and state, always in the same order.
	Params() []*Param
}

// stateless is the part of a layer without parameters.
type stateless struct{}

// Init does nothing.
func (stateless) Init(*device.Device, device.DType, *rand.Rand) {}

// Params returns nothing.
func (stateless) Params() []*Param { return nil }

// must panics with the layer's type where a shape or a size is wrong.
func must(ok bool, layer any, format string, args ...any) {
	if !ok {
		panic(fmt.Sprintf("nn: %T: ", layer) + fmt.Sprintf(format, args...))
	}
}

// InitChild initialises a part of a composite layer and puts its name before those of its parameters.
func InitChild(name string, child Layer, dev *device.Device, t device.DType, rng *rand.Rand) {
	if child == nil {
		panic("nn: layer " + name + " = nil: must be a layer")
	}
	child.Init(dev, t, rng)
	for _, w := range child.Params() {
		w.Name = name + "." + w.Name
	}
}
