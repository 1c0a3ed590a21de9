package arch

import (
	"math/rand/v2"
	"strconv"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// RefineNet is the trunk of the score networks: a convolution, four stages of two residual blocks, of which the second
// halves the size and the third and fourth dilate by 2 and 4, and four refinement blocks back up, each with a skip
// from its stage; then normalisation, ELU and a convolution. Images N×C×H×W to the same shape; H and W are even.
type RefineNet struct {
	begin  nn.Layer
	stages [4]nn.Layer
	refine [4]*refine
	end    nn.Layer
}

func (s style) refineNet(channels, features int) *RefineNet {
	f, g := features, 2*features
	two := func(in, out int, down bool, dilation int) nn.Layer {
		return nn.Seq(s.residual(in, out, down, dilation), s.residual(out, out, false, dilation))
	}
	return &RefineNet{
		begin:  conv3(channels, f, 0, false),
		stages: [4]nn.Layer{two(f, f, false, 0), two(f, g, true, 0), two(g, g, true, 2), two(g, g, true, 4)},
		refine: [4]*refine{
			s.refine([]int{g}, g, 1), s.refine([]int{g, g}, g, 1), s.refine([]int{g, g}, f, 1),
			s.refine([]int{f, f}, f, 3),
		},
		end: nn.Seq(s.norm(f), nn.ELU(), conv3(f, channels, 0, false)),
	}
}

// parts is all layers, in order, with their names.
func (r *RefineNet) parts(do func(name string, l nn.Layer)) {
	do("begin", r.begin)
	for i, s := range r.stages {
		do("stage"+strconv.Itoa(i+1), s)
	}
	for i, f := range r.refine {
		f.parts("refine"+strconv.Itoa(i+1)+".", do)
	}
	do("end", r.end)
}

// Init initialises all parts.
func (r *RefineNet) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	r.parts(func(name string, l nn.Layer) { nn.InitChild(name, l, dev, t, rng) })
}

// Params returns those of all parts.
func (r *RefineNet) Params() (params []*nn.Param) {
	r.parts(func(_ string, l nn.Layer) { params = append(params, l.Params()...) })
	return params
}

// Forward goes down and up.
func (r *RefineNet) Forward(p *nn.Pass, x *device.Array) *device.Array {
	h := r.begin.Forward(p, x)
	var at [4]*device.Array
	for i, s := range r.stages {
		h = s.Forward(p, h)
		at[i] = h
	}
	y := r.refine[0].forward(p, at[3])
	for i := 1; i < 4; i++ {
		y = r.refine[i].forward(p, at[3-i], y)
	}
	return r.end.Forward(p, y)
}

// VJP goes back up and down.
func (r *RefineNet) VJP(p *nn.Pass, dy *device.Array) *device.Array {
	d := r.end.VJP(p, dy)
	var at [4]*device.Array
	for i := 3; i > 0; i-- {
		both := r.refine[i].vjp(p, d)
		at[3-i], d = both[0], both[1]
	}
	d = r.refine[0].vjp(p, d)[0]
	for i := 3; i >= 0; i-- {
		if at[i] != nil {
			d = add(d, at[i])
		}
		d = r.stages[i].VJP(p, d)
	}
	return r.begin.VJP(p, d)
}
