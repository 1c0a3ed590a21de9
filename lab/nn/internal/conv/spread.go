package conv

import "coupling/lab/device"

// Where channels become fewer, at stride 1, y is a sum of shifted images W_i·x. Shifts by i·d − p gather; Col2im
// scatters by o + i'·d − p': the same with the kernel turned round, i' = k − 1 − i, and p' = d(k−1) − p.

// narrows says that multiplying first holds less than half of what unfolding first does, and can be done.
func (g geometry) narrows() bool {
	w := g.turned()
	return 2*g.out*g.before <= g.in*g.after && !g.pointwise() && max(g.w.Stride[0], g.w.Stride[1]) <= 1 && min(w.Pad[0], w.Pad[1]) >= 0
}

// turned is the window from y to x.
func (g geometry) turned() device.Window {
	w := g.w
	for i := range 2 {
		w.Pad[i] = max(1, w.Dilation[i])*(w.Kernel[i]-1) - w.Pad[i]
	}
	return w
}

// taps is the number of weights for a pair of channels.
func (g geometry) taps() int { return g.w.Kernel[0] * g.w.Kernel[1] }

// spread is Apply.
func (g geometry) spread(y, x, weight *device.Array) {
	m := g.turn(weight)
	tiles(x, g.out*g.taps()*g.before, func(lo, hi int) {
		col := x.Device().New(x.Type(), hi-lo, g.out*g.taps(), g.before)
		device.Gemm(col, 1, m.T(), x.Rows(lo, hi).Reshape(hi-lo, g.in, g.before).N(), 0)
		device.Col2im(y.Rows(lo, hi), col, g.turned())
		col.Free()
	})
	m.Free()
}

// spreadInput is Input.
func (g geometry) spreadInput(dx, dy, weight *device.Array) {
	m := g.turn(weight)
	tiles(dx, g.out*g.taps()*g.before, func(lo, hi int) {
		col := g.gather(dy.Rows(lo, hi))
		device.Gemm(dx.Rows(lo, hi).Reshape(hi-lo, g.in, g.before), 1, m.N(), col.N(), 0)
		col.Free()
	})
	m.Free()
}

// spreadWeight is Weight.
func (g geometry) spreadWeight(dw, x, dy *device.Array) {
	turned := dw.Device().Zeros(dw.Type(), g.in, g.out*g.taps())
	tiles(x, g.out*g.taps()*g.before, func(lo, hi int) {
		col := g.gather(dy.Rows(lo, hi))
		addProducts(turned, x.Rows(lo, hi).Reshape(hi-lo, g.in, g.before), col)
		col.Free()
	})
	g.turnBack(dw, turned)
	turned.Free()
}

// gather is the patches of dy that each pixel of x went to.
func (g geometry) gather(dy *device.Array) *device.Array {
	col := dy.Device().New(dy.Type(), dy.Dim(0), g.out*g.taps(), g.before)
	device.Im2col(col, dy, g.turned())
	return col
}

// turn is a weight Out×In×taps as 1 × In × Out·taps with the taps reversed.
func (g geometry) turn(weight *device.Array) *device.Array {
	dev, t := weight.Device(), weight.Type()
	m := dev.New(t, 1, g.in, g.out*g.taps())
	reversed := dev.New(t, g.out, g.in, g.taps())
	device.Reverse(reversed, weight.Reshape(g.out, g.in, g.taps()))
	device.Permute(m.Reshape(g.in, g.out, g.taps()), reversed, 1, 0, 2)
	reversed.Free()
	return m
}

// turnBack adds a turned gradient to one of the weight's own order.
func (g geometry) turnBack(dw, turned *device.Array) {
	ordered := dw.Device().New(dw.Type(), g.out, g.in, g.taps())
	device.Permute(ordered, turned.Reshape(g.in, g.out, g.taps()), 1, 0, 2)
	reversed := ordered.Like()
	device.Reverse(reversed, ordered)
	device.Add(dw, dw, reversed.Reshape(dw.Shape()...))
	ordered.Free()
	reversed.Free()
}
