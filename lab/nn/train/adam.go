package train

import (
	"coupling/lab/device"
	"coupling/lab/nn"
)

// Adam is Kingma and Ba (2015), algorithm 1; with Decoupled, AdamW (Loshchilov and Hutter 2019, algorithm 2).
type Adam struct {
	Rate         float64
	Beta1, Beta2 float64 // both 0: 0.9 and 0.999
	Eps          float64 // 0: 1e-8
	Decay        float64 // weight decay: Decay·w is added to the gradient
	Decoupled    bool    // or Rate·Decay·w is taken off w
	// Clip, unless 0, is the most that the Euclidean norm of all gradients together may be: gradients are taken times
	// min(1, Clip/(norm + 1e-6)), as PyTorch does.
	Clip float64
}

// For makes an optimiser of the trainable parameters.
func (a Adam) For(params []*nn.Param) *Optimiser {
	if a.Beta1 == 0 && a.Beta2 == 0 {
		a.Beta1, a.Beta2 = 0.9, 0.999
	}
	if a.Eps == 0 {
		a.Eps = 1e-8
	}
	o := start(params, "m", a.Clip)
	if len(o.params) == 0 {
		return o
	}
	o.update.V = o.zeros("v")
	t := o.factor.array.Device().FromInts([]int32{0}, 1)
	o.state = append(o.state, &nn.Param{Name: "t", Value: t})
	o.step = func(u device.Update) {
		device.StepAdam(u, t, device.Adam{
			Rate: a.Rate, Beta1: a.Beta1, Beta2: a.Beta2, Eps: a.Eps, Decay: a.Decay, Decoupled: a.Decoupled,
		})
	}
	return o
}
