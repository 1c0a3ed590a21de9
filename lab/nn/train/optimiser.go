package train

import (
	"coupling/lab/device"
	"coupling/lab/nn"
)

// Optimiser moves parameters along their gradients and keeps its state on their device, so that a step can be recorded
// as a device.Graph. Adam.For and SGD.For make one. The parameters are on one device and of one type.
type Optimiser struct {
	params []*nn.Param
	state  []*nn.Param
	rule   func(w, g []*device.Array) // a step of all parameters w, with gradients g
	factor *device.Array              // of the rate, an array of 1; nil without parameters
}

// Step moves all parameters once. Gradients are left as they are: see nn.ZeroGrads.
func (o *Optimiser) Step() {
	if len(o.params) == 0 {
		return
	}
	w, g := make([]*device.Array, len(o.params)), make([]*device.Array, len(o.params))
	for i, p := range o.params {
		w[i], g[i] = p.Value, p.Grad
	}
	o.rule(w, g)
}

// SetFactor multiplies the rate, 1 at first, from the next step on. It copies to the device: call it between steps, never
// inside a recording, whose replays take the factor that is set. The factor is part of State: a resumed run goes on with
// it.
func (o *Optimiser) SetFactor(f float64) {
	if len(o.params) > 0 {
		o.factor.SetFloats([]float64{f})
	}
}

// start takes the trainable parameters.
func start(params []*nn.Param) *Optimiser {
	o := &Optimiser{params: nn.Trainable(params)}
	if len(o.params) > 0 {
		v := o.params[0].Value
		o.factor = v.Device().New(v.Type(), 1)
		device.Fill(o.factor, 1)
		o.state = []*nn.Param{{Name: "factor", Value: o.factor}}
	}
	return o
}

// State is what a checkpoint keeps beside the parameters: the factor of the rate, moments and counts.
func (o *Optimiser) State() []*nn.Param { return o.state }

// Free frees the state.
func (o *Optimiser) Free() { nn.Free(o.state) }

// zeros adds state of zeros for each parameter.
func (o *Optimiser) zeros(name string) []*device.Array {
	var all []*device.Array
	for _, p := range o.params {
		a := p.Value.Device().Zeros(p.Value.Type(), p.Value.Shape()...)
		all = append(all, a)
		o.state = append(o.state, &nn.Param{Name: name + "/" + p.Name, Value: a})
	}
	return all
}
