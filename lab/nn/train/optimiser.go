package train

import (
	"fmt"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// Optimiser moves parameters along their gradients and keeps its state on their device, so that a step can be recorded
// as a device.Graph. Adam.For and SGD.For make one. The parameters are on one device and of one type.
type Optimiser struct {
	params []*nn.Param
	state  []*nn.Param
	update device.Update
	step   func(u device.Update)
	factor *scalar // of the rate; nil without parameters
	mean   *EMA
}

// Step moves all parameters once, and the averages that Average has named. It does not clear
// gradients: see nn.ZeroGrads.
func (o *Optimiser) Step() {
	if len(o.params) == 0 {
		return
	}
	if o.mean != nil && o.mean.swapped.is() {
		panic("train: Optimiser.Step: the averages are in the network; Swap them back first")
	}
	o.step(o.update)
}

// Average makes each step move the averages too, in the same pass over the parameters, which must be those of e.
func (o *Optimiser) Average(e *EMA) {
	if len(e.params) != len(o.params) {
		panic(fmt.Sprintf("train: Optimiser.Average: %d averages of %d parameters", len(e.params), len(o.params)))
	}
	if len(o.params) == 0 {
		return
	}
	o.mean, o.update.Average, o.update.Decay = e, nil, e.decay.array
	for i, p := range e.params {
		if p != o.params[i] {
			panic(fmt.Sprintf("train: Optimiser.Average: average %d is of %s, the parameter is %s", i, p.Name,
				o.params[i].Name))
		}
		o.update.Average = append(o.update.Average, e.averages[i].Value)
	}
}

// SetFactor multiplies the rate, 1 at first, from the next step on. It copies to the device: call
// it between steps, never inside a recording, whose replays take the factor that is set. The factor
// is part of State: a resumed run goes on with it.
func (o *Optimiser) SetFactor(f float64) {
	if len(o.params) > 0 {
		o.factor.set(f)
	}
}

// start takes the trainable parameters, with moments of zero of the given name. Clip bounds the norm of all gradients.
func start(params []*nn.Param, moments string, clip float64) *Optimiser {
	o := &Optimiser{params: nn.Trainable(params)}
	if len(o.params) == 0 {
		return o
	}
	o.factor = newScalar(o.params[0].Value, 1)
	o.state = []*nn.Param{{Name: "factor", Value: o.factor.array}}
	o.update = device.Update{M: o.zeros(moments), Factor: o.factor.array, Clip: clip}
	for _, p := range o.params {
		o.update.W, o.update.G = append(o.update.W, p.Value), append(o.update.G, p.Grad)
	}
	return o
}

// State returns the arrays that a checkpoint stores beside the parameters: the factor of the rate, moments and
// counts.
func (o *Optimiser) State() []*nn.Param { return o.state }

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

// scalar is a number on the device that the host sets between steps.
type scalar struct {
	array *device.Array
	f32   [1]float32
	f64   [1]float64
}

// newScalar makes one of the type of a and on its device.
func newScalar(a *device.Array, v float64) *scalar {
	s := &scalar{array: a.Device().New(a.Type(), 1)}
	s.set(v)
	return s
}

func (s *scalar) set(v float64) {
	s.f32[0], s.f64[0] = float32(v), v
	if s.array.Type() == device.Float64 {
		s.array.Set64(s.f64[:])
	} else {
		s.array.Set32(s.f32[:])
	}
}
