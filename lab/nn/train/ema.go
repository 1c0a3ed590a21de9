package train

import (
	"slices"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// EMA is an exponential moving average of parameters, which starts at their first values: score networks are sampled
// with it (Song and Ermon 2020, §3.4, decay 0.999).
type EMA struct {
	decay    float64
	params   []*nn.Param
	averages []*nn.Param
	swapped  *flag // nil without parameters
}

// NewEMA starts averaging the trainable parameters.
func NewEMA(decay float64, params []*nn.Param) *EMA {
	e := &EMA{decay: decay, params: nn.Trainable(params)}
	for _, p := range e.params {
		e.averages = append(e.averages, &nn.Param{Name: p.Name, Value: p.Value.Clone()})
	}
	if len(e.params) > 0 {
		e.swapped = newFlag("swapped", e.params[0].Value.Device())
	}
	return e
}

// Update takes in the parameters after a step: average = decay·average + (1 − decay)·w.
func (e *EMA) Update() { e.UpdateBy(e.decay) }

// UpdateBy is Update with a decay of its own, as for a warm-up. Never inside a recording where it changes with the step.
func (e *EMA) UpdateBy(decay float64) {
	if e.swapped.is() {
		panic("train: EMA.Update: the averages are in the network; Swap them back first")
	}
	for i, p := range e.params {
		device.EMA(e.averages[i].Value, p.Value, decay)
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

// State is the averages, or the parameters while the averages are in the network, and which of the two: a run that is
// stored swapped comes back swapped.
func (e *EMA) State() []*nn.Param {
	if e.swapped == nil {
		return nil
	}
	return append(slices.Clone(e.averages), e.swapped.param)
}

// Free frees the averages.
func (e *EMA) Free() { nn.Free(e.State()) }
