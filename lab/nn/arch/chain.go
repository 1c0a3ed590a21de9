package arch

import (
	"math/rand/v2"
	"strconv"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// chain is chained residual pooling (Lin et al. 2017): a = act(x), y = a + s₁(a) + s₂(s₁(a)) and so on.
type chain struct {
	act    nn.Layer
	stages []nn.Layer
}

func (s style) chain(features, stages int) *chain {
	c := &chain{act: nn.ELU()}
	for range stages {
		stage := append(s.inner(features), s.pool(), conv3(features, features, 0, true))
		c.stages = append(c.stages, nn.Seq(stage...))
	}
	return c
}

// Init initialises the stages.
func (c *chain) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	for i, s := range c.stages {
		nn.InitChild(strconv.Itoa(i), s, dev, t, rng)
	}
}

// Params returns those of the stages.
func (c *chain) Params() []*nn.Param {
	var params []*nn.Param
	for _, s := range c.stages {
		params = append(params, s.Params()...)
	}
	return params
}

// Forward sums the chain.
func (c *chain) Forward(p *nn.Pass, x *device.Array) *device.Array {
	path := c.act.Forward(p, x)
	y := path.Clone()
	for _, s := range c.stages {
		path = s.Forward(p, path)
		device.Add(y, y, path)
	}
	return y
}

// VJP goes back along the chain; each link has the cotangent dy of its own and what the next one returns.
func (c *chain) VJP(p *nn.Pass, dy *device.Array) *device.Array {
	d := dy
	for i := len(c.stages) - 1; i >= 0; i-- {
		d = add(c.stages[i].VJP(p, d), dy)
	}
	return c.act.VJP(p, d)
}

// add is a + b, a new array.
func add(a, b *device.Array) *device.Array {
	y := a.Like()
	device.Add(y, a, b)
	return y
}
