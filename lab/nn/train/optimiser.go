package train

import (
	"coupling/lab/device"
	"coupling/lab/nn"
)

// Optimiser moves parameters along their gradients and keeps its state on their device, so that a step can be recorded
// as a device.Graph. Adam.For and SGD.For make one.
type Optimiser struct {
	params []*nn.Param
	state  []*nn.Param
	rule   rule

	factor    *device.Array // of the rate, an array of 1
	scheduled *flag         // factor is used
}

// rule is one parameter's step: w moves by gradient g, i tells which parameter. decay says what to do with weight decay.
type rule interface {
	step(i int, w, g *device.Array, decay bool)
	// decays is the coefficient of decay in the gradient, and that of w in the step.
	decays() (inGradient, inStep float64)
}

// Step moves all parameters once. Gradients are left as they are: see nn.ZeroGrads.
func (o *Optimiser) Step() {
	for i, p := range o.params {
		if !o.scheduled.is() {
			o.rule.step(i, p.Value, p.Grad, true)
		} else {
			o.scaledStep(i, p)
		}
	}
}

// scaledStep makes the step from 0 without decay, adds decay, and adds factor times that to the parameter.
func (o *Optimiser) scaledStep(i int, p *nn.Param) {
	defer p.Value.Device().Scope().Close()
	g := p.Grad
	inGradient, inStep := o.rule.decays()
	if inGradient != 0 {
		g = g.Clone()
		device.Axpby(g, 1, g, inGradient, p.Value)
	}
	move := p.Value.Device().Zeros(p.Value.Type(), p.Value.Shape()...)
	o.rule.step(i, move, g, false)
	if inStep != 0 {
		device.Axpby(move, 1, move, -inStep, p.Value)
	}
	flat := move.Reshape(-1)
	device.Mul(flat, flat, o.factor)
	device.Add(p.Value, p.Value, move)
}

// SetFactor multiplies the rate from the next step on. It copies to the device: call it between steps, never inside a
// recording; and call it before the first recording, since from its first call on steps take another way, which
// differs from the direct one in rounding even at factor 1. The factor is part of State: a resumed run goes on with it.
func (o *Optimiser) SetFactor(f float64) {
	if len(o.params) > 0 {
		o.factor.SetFloats([]float64{f})
		o.scheduled.set(true)
	}
}

// start takes the trainable parameters.
func start(params []*nn.Param) *Optimiser {
	o := &Optimiser{params: nn.Trainable(params)}
	if len(o.params) > 0 {
		v := o.params[0].Value
		o.factor = v.Device().New(v.Type(), 1)
		device.Fill(o.factor, 1)
		o.scheduled = newFlag("scheduled", v.Device())
		o.state = []*nn.Param{{Name: "factor", Value: o.factor}, o.scheduled.param}
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
