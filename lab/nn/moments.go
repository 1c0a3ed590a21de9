package nn

import "coupling/lab/device"

// Normalisations see x as N×C×P, P positions, and take statistics over the axes where a statistic's
// shape has 1: 1×C×1 over a batch, N×C×1 over an instance, N×G×1 over a group. Forward is one pass
// for the moments and one for f(scale·(x − mean) + shift), with the activation f that follows; VJP
// is one for f' with the sums and one for the rest.

// planes is x as N×C×P; x has rank 2 or more.
func planes(x *device.Array) *device.Array { return x.Reshape(x.Dim(0), x.Dim(1), -1) }

// channels is a parameter as 1×C×1, nil for none.
func channels(w *Param) *device.Array {
	if w == nil {
		return nil
	}
	return w.Value.Reshape(1, -1, 1)
}

// moments returns mean, variance (the mean of squared deviations, or their sum over count − lost) and
// 1/√(variance + eps).
func moments(x *device.Array, eps float64, lost int, shape ...int) (mean, variance, rstd *device.Array) {
	dev, t := x.Device(), x.Type()
	mean, variance, rstd = dev.New(t, shape...), dev.New(t, shape...), dev.New(t, shape...)
	device.Moments(mean, variance, rstd, x, eps, lost)
	return mean, variance, rstd
}

// inverseRoot is 1/√(x + eps).
func inverseRoot(x *device.Array, eps float64) *device.Array {
	r := x.Like()
	device.Map(r, x, device.AddConst, eps)
	device.Map(r, r, device.Rsqrt, 0)
	return r
}

// applied is a(x), a new array.
func applied(a device.Affine, x *device.Array) *device.Array {
	y := x.Like()
	a.Apply(y, x)
	return y
}

// affineVJP is the VJP of a, whose sums have a shape. dz is dy itself, which stays as it is, for
// the identity. dx may be written: it is dz or dy where those are not needed any more.
func affineVJP(p *Pass, a device.Affine, x, y, dy *device.Array, shape ...int) (dx, dz, sum, along *device.Array) {
	dev, t := x.Device(), x.Type()
	dx, sum, along = p.into(dy), dev.New(t, shape...), dev.New(t, shape...)
	if dz = dy; a.Func != device.Identity {
		dz = dx
	}
	a.VJP(dz, sum, along, x, y, dy)
	return dx, dz, sum, along
}

// or is v, or def where v is 0.
func or(v, def float64) float64 {
	if v == 0 {
		return def
	}
	return v
}
