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
}

// For makes an optimiser of the trainable parameters.
func (s SGD) For(params []*nn.Param) *Optimiser {
	o := start(params)
	o.rule = &sgd{SGD: s, m: o.zeros("momentum")}
	return o
}

// sgd is an SGD with its state.
type sgd struct {
	SGD
	m []*device.Array
}

func (s *sgd) step(i int, w, g *device.Array, decay bool) {
	c := device.SGD{Rate: s.Rate, Momentum: s.Momentum, Nesterov: s.Nesterov}
	if decay {
		c.Decay = s.Decay
	}
	device.StepSGD(w, g, s.m[i], c)
}

func (s *sgd) decays() (inGradient, inStep float64) { return s.Decay, 0 }
