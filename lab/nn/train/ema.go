package train

import (
	"slices"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// EMA is an exponential moving average of parameters, which starts at their first values: score networks are sampled
// with it (Song and Ermon 2020, §3.4, decay 0.999). Optimiser.Average makes steps move it: after each,
// average = decay·average + (1 − decay)·w.
type EMA struct {
	decay    *scalar // nil without parameters
	params   []*nn.Param
	averages []*nn.Param
	swapped  *flag // nil without parameters
}

// NewEMA starts averaging the trainable parameters.
func NewEMA(decay float64, params []*nn.Param) *EMA {
	e := &EMA{params: nn.Trainable(params)}
	for _, p := range e.params {
		e.averages = append(e.averages, &nn.Param{Name: p.Name, Value: p.Value.Clone()})
	}
	if len(e.params) > 0 {
		e.swapped = newFlag("swapped", e.params[0].Value.Device())
		e.decay = newScalar(e.params[0].Value, decay)
	}
	return e
}

// SetDecay sets the decay from the next step on, as for a warm-up. It copies to the device, like Optimiser.SetFactor,
// but is not part of State.
func (e *EMA) SetDecay(decay float64) {
	if e.decay != nil {
		e.decay.set(decay)
	}
}

// Swap puts the averages into the network, and the next time the parameters back. It copies to the device: never inside
// a recording.
func (e *EMA) Swap() {
	if e.swapped != nil {
		e.swapped.set(!e.swapped.is())
	}
	for i, p := range e.params {
		t := p.Value.Clone()
		device.Convert(p.Value, e.averages[i].Value)
		device.Convert(e.averages[i].Value, t)
		t.Free()
	}
}

// State returns the averages, or the parameters while the averages are in the network, and which of the two: a run that
// is stored swapped comes back swapped.
func (e *EMA) State() []*nn.Param {
	if e.swapped == nil {
		return nil
	}
	return append(slices.Clone(e.averages), e.swapped.param)
}
