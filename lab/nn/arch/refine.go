package arch

import (
	"strconv"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// refine is a block of RefineNet (Lin et al. 2017) for one or two inputs: a residual convolution unit each; where
// there are two, a convolution each, brought to one size bilinearly, corners on corners, and summed; chained pooling;
// another unit.
type refine struct {
	adapt []nn.Layer
	merge []nn.Layer // none for one input
	chain nn.Layer
	out   nn.Layer
}

func (s style) refine(in []int, features, outBlocks int) *refine {
	r := &refine{chain: s.chain(features), out: s.rcu(features, outBlocks)}
	for _, c := range in {
		r.adapt = append(r.adapt, s.rcu(c, 2))
		if len(in) > 1 {
			r.merge = append(r.merge, nn.Seq(append(s.inner(c), conv3(c, features, 0, false))...))
		}
	}
	return r
}

// parts is all layers, in order, with their names after that of the block.
func (r *refine) parts(block string, do func(name string, l nn.Layer)) {
	for i, l := range r.adapt {
		do(block+"adapt"+strconv.Itoa(i), l)
	}
	for i, l := range r.merge {
		do(block+"merge"+strconv.Itoa(i), l)
	}
	do(block+"chain", r.chain)
	do(block+"out", r.out)
}

// forward takes inputs of any sizes and returns an output of the size of the first.
func (r *refine) forward(p *nn.Pass, xs ...*device.Array) *device.Array {
	var total *device.Array
	for i, x := range xs {
		h := r.adapt[i].Forward(p, x)
		if len(r.merge) > 0 {
			h = resized(p, r, r.merge[i].Forward(p, h), xs[0])
		}
		if total == nil {
			total = h
		} else {
			total = add(total, h)
		}
	}
	return r.out.Forward(p, r.chain.Forward(p, total))
}

// vjp returns the cotangents of the inputs.
func (r *refine) vjp(p *nn.Pass, dy *device.Array) []*device.Array {
	d := r.chain.VJP(p, r.out.VJP(p, dy))
	out := make([]*device.Array, len(r.adapt))
	for i := len(r.adapt) - 1; i >= 0; i-- {
		h := d
		if len(r.merge) > 0 {
			h = r.merge[i].VJP(p, resizedVJP(p, r, d))
		}
		out[i] = r.adapt[i].VJP(p, h)
	}
	return out
}

// resized brings h to the height and width of like.
func resized(p *nn.Pass, layer any, h, like *device.Array) *device.Array {
	p.PushShape(layer, h)
	if h.Dim(2) == like.Dim(2) && h.Dim(3) == like.Dim(3) {
		return h
	}
	y := h.Device().New(h.Type(), h.Dim(0), h.Dim(1), like.Dim(2), like.Dim(3))
	device.Bilinear(y, h, true)
	return y
}

func resizedVJP(p *nn.Pass, layer any, dy *device.Array) *device.Array {
	shape := p.PopShape(layer)
	if shape[2] == dy.Dim(2) && shape[3] == dy.Dim(3) {
		return dy
	}
	dx := dy.Device().New(dy.Type(), shape...)
	device.BilinearVJP(dx, dy, true)
	return dx
}
