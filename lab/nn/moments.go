package nn

import "coupling/lab/device"

// Normalisations see x as N×C×P, P positions, and take statistics over the axes where a statistic's shape has 1:
// 1×C×1 over a batch, N×C×1 over an instance, N×G×1 over a group.

// planes is x as N×C×P; x has rank 2 or more.
func planes(x *device.Array) *device.Array { return x.Reshape(x.Dim(0), x.Dim(1), -1) }

// standardise returns mean, variance (the mean of squared deviations), 1/√(variance + eps) and (x − mean) times that.
// Deviations are squared after the mean was taken off: E x² − (E x)² would lose what float32 has where means are large.
func standardise(p *Pass, x *device.Array, eps float64, shape ...int) (y, mean, variance, rstd *device.Array) {
	mean = reduce(x, device.Mean, shape...)
	y = p.into(x)
	device.Sub(y, x, mean)
	variance = reduce(y, device.SumSquares, shape...)
	device.Scale(variance, float64(variance.Len())/float64(max(1, x.Len())), variance)
	rstd = inverseRoot(variance, eps)
	device.Mul(y, y, rstd)
	return y, mean, variance, rstd
}

// inverseRoot is 1/√(x + eps).
func inverseRoot(x *device.Array, eps float64) *device.Array {
	r := x.Like()
	device.Map(r, x, device.AddConst, eps)
	device.Map(r, r, device.Rsqrt, 0)
	return r
}

// affine is gamma·y + beta, which broadcast, into a new array.
func affine(y, gamma, beta *device.Array) *device.Array {
	out := y.Like()
	device.Affine(out, gamma, y, beta)
	return out
}

// standardiseVJP is the cotangent of x for y = standardise(x) and the cotangent gamma·dy of y, where gamma does not
// vary over the axes that were normalised: rstd·gamma·(dy − mean(dy) − y·mean(dy·y)), plus what comes by another way
// where more is not nil. sum and along are Σ dy and Σ dy·y over those axes, which the gradients of an affine map need too.
func standardiseVJP(p *Pass, dy, y, scale, sum, along, more *device.Array) *device.Array {
	share := float64(sum.Len()) / float64(max(1, dy.Len()))
	dx := p.into(dy)
	device.AffinePair(dx, scale, dy, scaled(-share, mul(along, scale)), y, shifted(more, -share, mul(sum, scale)))
	return dx
}

// shifted is alpha·x, plus more unless that is nil, a new array.
func shifted(more *device.Array, alpha float64, x *device.Array) *device.Array {
	y := scaled(alpha, x)
	if more != nil {
		device.Add(y, y, more)
	}
	return y
}

// or is v, or def where v is 0.
func or(v, def float64) float64 {
	if v == 0 {
		return def
	}
	return v
}
