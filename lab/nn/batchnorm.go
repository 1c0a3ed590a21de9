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

func (b *BatchNorm) leaf() {}

// Params returns gamma, beta and the running statistics.
func (b *BatchNorm) Params() []*Param { return present(b.Gamma, b.Beta, b.Mean, b.Var) }

// Forward normalises.
func (b *BatchNorm) Forward(p *Pass, x *device.Array) *device.Array {
	y, scale := b.normalise(p, x)
	out := y
	if b.Gamma != nil {
		gamma := b.Gamma.Value.Reshape(1, b.Channels, 1)
		out = affine(y, gamma, b.Beta.Value.Reshape(1, b.Channels, 1))
		scale = mul(scale, gamma)
	}
	p.Push(b, y, scale)
	return out.Reshape(x.Shape()...)
}

// normalise returns (x − mean)·rstd as N×C×P, and rstd.
func (b *BatchNorm) normalise(p *Pass, x *device.Array) (y, rstd *device.Array) {
	must(x.Rank() >= 2 && x.Dim(1) == b.Channels, b, "shape of x = %v: must be [N %d …]", x.Shape(), b.Channels)
	eps := or(b.Eps, 1e-5)
	if !b.batch(p) {
		y, rstd = p.into(planes(x)), inverseRoot(b.Var.Value.Reshape(1, b.Channels, 1), eps)
		device.Affine(y, rstd, planes(x), scaled(-1, mul(rstd, b.Mean.Value.Reshape(1, b.Channels, 1))))
		return y, rstd
	}
	y, mean, variance, rstd := standardise(p, planes(x), eps, 1, b.Channels, 1)
	if b.Mean != nil && p.Training {
		b.remember(mean, variance, x.Len()/b.Channels)
	}
	return y, rstd
}

// batch says whether statistics come from the batch.
func (b *BatchNorm) batch(p *Pass) bool { return p.Training || b.Batch }

// remember moves the running statistics, the variance as if by count − 1, as PyTorch does.
func (b *BatchNorm) remember(mean, variance *device.Array, count int) {
	m := or(b.Momentum, 0.1)
	unbias := float64(count) / float64(max(1, count-1))
	device.Axpby(b.Mean.Value, 1-m, b.Mean.Value, m, mean.Reshape(b.Channels))
	device.Axpby(b.Var.Value, 1-m, b.Var.Value, m*unbias, variance.Reshape(b.Channels))
}

// VJP returns the cotangent of x; dgamma is Σ dy·y, dbeta is Σ dy.
func (b *BatchNorm) VJP(p *Pass, dy *device.Array) *device.Array {
	saved := p.Pop(b)
	y, scale := saved[0], saved[1]
	d := planes(dy)
	sum, along := reduce(d, device.Sum, 1, b.Channels, 1), dot(d, y, 1, b.Channels, 1)
	if b.Gamma != nil {
		if p.squares() {
			b.squares(p, d, y)
		}
		if p.params() {
			addInto(b.Gamma.Grad, along)
			addInto(b.Beta.Grad, sum)
		}
	}
	return b.inputVJP(p, d, y, scale, sum, along).Reshape(dy.Shape()...)
}

// inputVJP is scale·(dy − mean(dy) − y·mean(dy·y)), or scale·dy where the statistics were not of this batch.
func (b *BatchNorm) inputVJP(p *Pass, dy, y, scale, sum, along *device.Array) *device.Array {
	if !b.batch(p) {
		return mul(dy, scale)
	}
	if p.squares() {
		p.noSquares(b, "batch statistics mix them")
	}
	return standardiseVJP(p, dy, y, scale, sum, along, nil)
}

// squares is the norms of examples' gradients of gamma and beta, which running statistics do not mix.
func (b *BatchNorm) squares(p *Pass, dy, y *device.Array) {
	n := dy.Dim(0)
	addSquares(p.Squares, dot(dy, y, n, b.Channels, 1))
	addSquares(p.Squares, reduce(dy, device.Sum, n, b.Channels, 1))
}
