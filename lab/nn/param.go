package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn/initial"
)

// Param is an array that a network keeps from one pass to the next: a parameter, which has a gradient, or state such as
// running statistics, which has none.
type Param struct {
	Name  string        // its place in the network: "1.conv.weight"
	Value *device.Array // its value
	Grad  *device.Array // VJP adds to it; nil for state

	// Restored, unless nil, is called after a checkpoint has set Value, to update a copy of it on
	// the host.
	Restored func() error
}

// newParam is a parameter with these values and a gradient of zero.
func newParam(dev *device.Device, t device.DType, name string, values []float64, shape ...int) *Param {
	p := newState(dev, t, name, values, shape...)
	p.Grad = dev.Zeros(t, shape...)
	return p
}

// newWeight is a weight drawn by a law, and with biases a bias for each of out channels by PyTorch's default.
func newWeight(dev *device.Device, t device.DType, rng *rand.Rand, law initial.Law, biased bool, out int,
	shape ...int) (w, b *Param) {
	w = newParam(dev, t, "weight", law.Draw(rng, shape...), shape...)
	if biased {
		b = newParam(dev, t, "bias", initial.Bias(rng, out, shape...), out)
	}
	return w, b
}

// newState is state with these values.
func newState(dev *device.Device, t device.DType, name string, values []float64, shape ...int) *Param {
	p := &Param{Name: name, Value: dev.New(t, shape...)}
	p.Value.SetFloats(values)
	return p
}

// constants is n times v.
func constants(n int, v float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}

// Trainable returns those that have a gradient.
func Trainable(params []*Param) []*Param {
	var out []*Param
	for _, p := range params {
		if p.Grad != nil {
			out = append(out, p)
		}
	}
	return out
}

// Count returns the number of trainable numbers.
func Count(params []*Param) int {
	n := 0
	for _, p := range Trainable(params) {
		n += p.Value.Len()
	}
	return n
}

// ZeroGrads sets all gradients to zero.
func ZeroGrads(params []*Param) {
	for _, p := range Trainable(params) {
		device.Fill(p.Grad, 0)
	}
}

// Free frees values and gradients. Networks that were initialised inside a device.Scope do not need
// it.
func Free(params []*Param) {
	for _, p := range params {
		p.Value.Free()
		p.Grad.Free()
	}
}

// present leaves out the parameters that a layer does not have.
func present(params ...*Param) []*Param {
	var out []*Param
	for _, p := range params {
		if p != nil {
			out = append(out, p)
		}
	}
	return out
}
