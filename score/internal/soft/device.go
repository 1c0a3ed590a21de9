package soft

import (
	"math"

	"coupling/lab/device"
)

// DevicePoints are points and their logarithmic weights on a device, in float64.
type DevicePoints struct {
	dev     *device.Device
	y, h    *device.Array
	scaled  *device.Array // √inv y
	scaling *device.Array // √inv
}

// OnDevice copies the points to a device.
func (p *Points) OnDevice(dev *device.Device) *DevicePoints {
	y := dev.From64(p.points, p.m, p.d)
	return &DevicePoints{
		dev:     dev,
		y:       y,
		h:       dev.From64(p.h, p.m),
		scaled:  y.Like(),
		scaling: dev.New(device.Float64, 1, 1),
	}
}

// Sharpen sets inv. The kernels of plans take it as a number, which a recording keeps: so points
// are scaled by its root, with an error of a unit in the last place of coordinates.
func (r *DevicePoints) Sharpen(inv float64) {
	r.scaling.Set64([]float64{math.Sqrt(inv)})
	device.Mul(r.scaled, r.y, r.scaling)
}

// Means returns the softmin averages at the points x, float64 N×d, in a new array. It may be recorded.
// Cost: each exponential twice.
func (r *DevicePoints) Means(x *device.Array) *device.Array {
	at, u, out, square := x.Like(), r.dev.New(device.Float64, x.Dim(0)), x.Like(), device.Cost{Square: 1}
	device.Mul(at, x, r.scaling)
	device.PointLSE(u, at, r.scaled, r.h, square, 1)
	device.Scale(u, -1, u)
	device.PointApply(out, at, r.scaled, u, r.h, r.y, square, 1)
	at.Free()
	u.Free()
	return out
}

// Close frees the arrays.
func (r *DevicePoints) Close() {
	for _, a := range []*device.Array{r.y, r.h, r.scaled, r.scaling} {
		a.Free()
	}
}
