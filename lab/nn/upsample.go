package nn

import "coupling/lab/device"

// Upsample brings x, N×C×H×W, to Factor·H×Factor·W by nearest pixels.
type Upsample struct {
	stateless

	Factor int
}

// Forward resamples.
func (u *Upsample) Forward(p *Pass, x *device.Array) *device.Array {
	must(x.Rank() == 4 && u.Factor > 0, u, "Factor = %d, shape of x = %v: must be > 0 and [N C H W]",
		u.Factor, x.Shape())
	y := x.Device().New(x.Type(), x.Dim(0), x.Dim(1), u.Factor*x.Dim(2), u.Factor*x.Dim(3))
	device.Nearest(y, x)
	p.PushShape(u, x)
	return y
}

// VJP returns the transpose.
func (u *Upsample) VJP(p *Pass, dy *device.Array) *device.Array {
	dx := dy.Device().New(dy.Type(), p.PopShape(u)...)
	device.NearestVJP(dx, dy)
	return dx
}
