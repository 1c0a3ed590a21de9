package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
)

// Dropout sets elements to zero with probability Rate in training passes and divides the others by 1 − Rate; at
// inference it does nothing. With Channels set whole channels of one example go together (Tompson et al. 2015). It
// draws from Pass.Random.
type Dropout struct {
	stateless

	Rate     float64 // at least 0, less than 1
	Channels bool
}

// Init checks the rate.
func (d *Dropout) Init(*device.Device, device.DType, *rand.Rand) {
	must(d.Rate >= 0 && d.Rate < 1, d, "Rate = %v: must be in [0, 1)", d.Rate)
}

// Forward drops out.
func (d *Dropout) Forward(p *Pass, x *device.Array) *device.Array {
	if !p.Training || d.Rate == 0 {
		p.Push(d)
		return x
	}
	must(p.Random != nil, d, "Pass.Random = nil: dropout in training draws random numbers")
	shape := append([]int(nil), x.Shape()...)
	if d.Channels {
		for i := 2; i < len(shape); i++ {
			shape[i] = 1
		}
	}
	mask := x.Device().New(x.Type(), shape...)
	p.Random.Uniform(mask, 0, 1)
	device.Map(mask, mask, device.Step, d.Rate)
	device.Scale(mask, 1/(1-d.Rate), mask)
	p.Push(d, mask)
	return mul(x, mask)
}

// VJP multiplies by the same mask.
func (d *Dropout) VJP(p *Pass, dy *device.Array) *device.Array {
	saved := p.Pop(d)
	if len(saved) == 0 {
		return dy
	}
	return mul(dy, saved[0])
}
