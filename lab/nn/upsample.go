package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
)

// Upsample brings x, N×C×H×W, to Factor·H×Factor·W, or to Height×Width where those are set: to nearest pixels, or
// with linear interpolation where Bilinear is set, corners on corners with Align.
type Upsample struct {
	Factor          int
	Height, Width   int
	Bilinear, Align bool
}

// Init does nothing.
func (u *Upsample) Init(*device.Device, device.DType, *rand.Rand) {}

// Params returns nothing.
func (u *Upsample) Params() []*Param { return nil }

// Forward resamples.
func (u *Upsample) Forward(p *Pass, x *device.Array) *device.Array {
	must(x.Rank() == 4, u, "shape of x = %v: must be [N C H W]", x.Shape())
	h, w := u.Height, u.Width
	if h == 0 && w == 0 {
		must(u.Factor > 0, u, "Factor = %d: must be > 0", u.Factor)
		h, w = u.Factor*x.Dim(2), u.Factor*x.Dim(3)
	}
	y := x.Device().New(x.Type(), x.Dim(0), x.Dim(1), h, w)
	if u.Bilinear {
		device.Bilinear(y, x, u.Align)
	} else {
		device.Nearest(y, x)
	}
	p.PushShape(u, x)
	return y
}

// VJP is the transpose.
func (u *Upsample) VJP(p *Pass, dy *device.Array) *device.Array {
	dx := dy.Device().New(dy.Type(), p.PopShape(u)...)
	if u.Bilinear {
		device.BilinearVJP(dx, dy, u.Align)
	} else {
		device.NearestVJP(dx, dy)
	}
	return dx
}
