package train

import (
	"coupling/lab/device"
	"coupling/lab/nn"
)

// SGD is gradient descent with momentum: m = Momentum·m + g, w −= Rate·m, PyTorch's convention; Nesterov's moves by
// g + Momentum·m.
type SGD struct {
	Rate, Momentum float64
	Decay          float64 // weight decay: Decay·w is added to the gradient
	Nesterov       bool
	Clip           float64 // as Adam's
}

// For makes an optimiser of the trainable parameters.
func (s SGD) For(params []*nn.Param) *Optimiser {
	o := start(params, "momentum", s.Clip)
	o.step = func(u device.Update) {
		device.StepSGD(u, device.SGD{Rate: s.Rate, Momentum: s.Momentum, Decay: s.Decay, Nesterov: s.Nesterov})
	}
	return o
}
