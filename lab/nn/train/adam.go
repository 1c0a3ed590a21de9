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
}

// For makes an optimiser of the trainable parameters.
func (a Adam) For(params []*nn.Param) *Optimiser {
	if a.Beta1 == 0 && a.Beta2 == 0 {
		a.Beta1, a.Beta2 = 0.9, 0.999
	}
	if a.Eps == 0 {
		a.Eps = 1e-8
	}
	o := start(params)
	r := &adam{Adam: a, m: o.zeros("m"), v: o.zeros("v")}
	for _, p := range o.params {
		t := p.Value.Device().FromInts([]int32{0}, 1)
		r.t = append(r.t, t)
		o.state = append(o.state, &nn.Param{Name: "t/" + p.Name, Value: t})
	}
	o.rule = r
	return o
}

// adam is an Adam with its state: for each parameter moments and number of steps.
type adam struct {
	Adam
	m, v, t []*device.Array
}

func (a *adam) step(i int, w, g *device.Array, decay bool) {
	c := device.Adam{Rate: a.Rate, Beta1: a.Beta1, Beta2: a.Beta2, Eps: a.Eps, Decoupled: a.Decoupled}
	if decay {
		c.Decay = a.Decay
	}
	device.StepAdam(w, g, a.m[i], a.v[i], a.t[i], c)
}

func (a *adam) decays() (inGradient, inStep float64) {
	if a.Decoupled {
		return 0, a.Rate * a.Decay
	}
	return a.Decay, 0
}
