package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
)

// BatchNorm is gamma·(x − mean)/√(variance + Eps) + beta for each channel of x, N×C or N×C×H×W (Ioffe and Szegedy
// 2015). Training passes, and all passes where Batch is set, take mean and variance over examples and positions; others
// take running means of those, in which a training pass has weight Momentum. VJP goes through the statistics.
type BatchNorm struct {
	Channels int
	Eps      float64 // 0: 1e-5
	Momentum float64 // 0: 0.1
	Batch    bool    // batch statistics at inference too, no running ones
	NoAffine bool    // gamma = 1, beta = 0

	Gamma, Beta, Mean, Var *Param
}

// Init allocates gamma = 1, beta = 0 and the running mean 0 and variance 1.
func (b *BatchNorm) Init(dev *device.Device, t device.DType, _ *rand.Rand) {
	c := b.Channels
	must(c > 0, b, "Channels = %d: must be > 0", c)
	if !b.NoAffine {
		b.Gamma, b.Beta = newParam(dev, t, "gamma", constants(c, 1), c), newParam(dev, t, "beta", constants(c, 0), c)
	}
	if !b.Batch {
		b.Mean, b.Var = newState(dev, t, "mean", constants(c, 0), c), newState(dev, t, "var", constants(c, 1), c)
	}
}

// Params returns gamma, beta and the running statistics.
func (b *BatchNorm) Params() []*Param { return present(b.Gamma, b.Beta, b.Mean, b.Var) }

// Forward normalises.
func (b *BatchNorm) Forward(p *Pass, x *device.Array) *device.Array {
	v := planes(x)
	mean, rstd := b.statistics(p, v)
	scale := rstd
	if b.Gamma != nil {
		scale = mul(rstd, channels(b.Gamma))
	}
	y := applied(p.bent(device.Affine{Scale: scale, Center: mean, Shift: channels(b.Beta)}), v)
	saved := []*device.Array{mean, rstd, scale, v}
	if p.after != nil {
		saved = append(saved, y)
	}
	p.Push(b, saved...)
	return y.Reshape(x.Shape()...)
}

// statistics returns mean and 1/√(variance + Eps), of the batch or running.
func (b *BatchNorm) statistics(p *Pass, x *device.Array) (mean, rstd *device.Array) {
	must(x.Rank() == 3 && x.Dim(1) == b.Channels, b, "shape of x = %v: must be [N %d …]", x.Shape(), b.Channels)
	eps := or(b.Eps, 1e-5)
	if !b.batch(p) {
		return channels(b.Mean), inverseRoot(channels(b.Var), eps)
	}
	mean, variance, rstd := moments(x, eps, 0, 1, b.Channels, 1)
	if b.Mean != nil && p.Training {
		b.remember(mean, variance, x.Len()/b.Channels)
	}
	return mean, rstd
}

// batch reports whether statistics come from the batch.
func (b *BatchNorm) batch(p *Pass) bool { return p.Training || b.Batch }

// remember moves the running statistics, the variance as if by count − 1, as PyTorch does.
func (b *BatchNorm) remember(mean, variance *device.Array, count int) {
	m := or(b.Momentum, 0.1)
	unbias := float64(count) / float64(max(1, count-1))
	device.Axpby(b.Mean.Value, 1-m, b.Mean.Value, m, mean.Reshape(b.Channels))
	device.Axpby(b.Var.Value, 1-m, b.Var.Value, m*unbias, variance.Reshape(b.Channels))
}

// VJP returns the cotangent of x; dgamma is Σ dy·(x − mean)·rstd, dbeta is Σ dy.
func (b *BatchNorm) VJP(p *Pass, dy *device.Array) *device.Array {
	saved := p.Pop(b)
	mean, rstd, scale, x, y := saved[0], saved[1], saved[2], saved[3], saved[len(saved)-1]
	n := 1
	if p.squares() {
		n = x.Dim(0)
	}
	m := p.bent(device.Affine{Scale: scale, Center: mean, Shift: channels(b.Beta)})
	dx, dz, sum, along := affineVJP(p, m, x, y, planes(dy), n, b.Channels, 1)
	if b.Gamma != nil && !p.InputsOnly {
		b.paramGrads(p, mul(along, rstd), sum)
	}
	return b.inputVJP(p, dx, dz, x, mean, rstd, scale, sum, along).Reshape(dy.Shape()...)
}

// inputVJP writes to dx the cotangent of x for dz, that of scale·(x − mean): scale·dz where the
// statistics were not of this batch.
func (b *BatchNorm) inputVJP(p *Pass, dx, dz, x, mean, rstd, scale, sum, along *device.Array) *device.Array {
	if !b.batch(p) {
		device.Mul(dx, dz, scale)
		return dx
	}
	p.noSquares(b, "batch statistics mix them")
	device.Normalised{Mean: mean, Rstd: rstd, Scale: scale, Sum: sum, Along: along}.VJP(dx, dz, x, 0)
	return dx
}

// paramGrads takes the gradients of gamma and beta, or those of each example, which running statistics do not mix.
func (b *BatchNorm) paramGrads(p *Pass, dgamma, dbeta *device.Array) {
	for i, w := range []*Param{b.Gamma, b.Beta} {
		if d := [...]*device.Array{dgamma, dbeta}[i]; p.squares() {
			addSquares(p.Squares, d)
		} else {
			addInto(w.Grad, d)
		}
	}
}
