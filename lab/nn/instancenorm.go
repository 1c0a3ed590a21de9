package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn/initial"
)

// InstanceNormPlus is InstanceNorm++ of score networks (Song and Ermon 2019, appendix A; Song and Ermon 2020): with
// mean μ_c and variance over the positions of one channel of one example, and m, v the mean and the unbiased variance
// of its μ over channels,
//
//	y_c = gamma_c·( (x_c − μ_c)/√(variance_c + Eps) + alpha_c·(μ_c − m)/√(v + Eps) ) + beta_c .
//
// With Classes = 0 alpha, gamma and beta are parameters; else they are looked up for Pass.Class in a table of
// Classes×3C: gamma, alpha, beta. They start as N(1, 0.02²), beta as 0.
type InstanceNormPlus struct {
	Channels int     // at least 2
	Classes  int     // 0: unconditional
	Eps      float64 // 0: 1e-5

	Gamma, Alpha, Beta *Param     // unconditional
	Table              *Embedding // conditional
}

// Init draws the parameters.
func (l *InstanceNormPlus) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	c := l.Channels
	must(c > 1, l, "Channels = %d: must be > 1, a variance over channels is taken", c)
	if l.Classes > 0 {
		l.Table = &Embedding{Classes: l.Classes, Width: 3 * c, Weights: l.rows}
		l.Table.init(dev, t, rng)
		return
	}
	draw := initial.Normal(1, 0.02)
	l.Gamma = newParam(dev, t, "gamma", draw.Draw(rng, c), c)
	l.Alpha = newParam(dev, t, "alpha", draw.Draw(rng, c), c)
	l.Beta = newParam(dev, t, "beta", constants(c, 0), c)
}

// rows draws the rows of the table.
func (l *InstanceNormPlus) rows(rng *rand.Rand, w []float64, shape []int) {
	for i := range w {
		if i%shape[1] < 2*l.Channels {
			w[i] = 1 + 0.02*rng.NormFloat64()
		}
	}
}

func (l *InstanceNormPlus) leaf() {}

// Params returns gamma, alpha and beta, or the table.
func (l *InstanceNormPlus) Params() []*Param {
	if l.Table != nil {
		return l.Table.params()
	}
	return present(l.Gamma, l.Alpha, l.Beta)
}

// coefficients returns gamma, alpha and beta as 1×C×1 or N×C×1.
func (l *InstanceNormPlus) coefficients(p *Pass, n int) (gamma, alpha, beta *device.Array) {
	c := l.Channels
	if l.Table == nil {
		return l.Gamma.Value.Reshape(1, c, 1), l.Alpha.Value.Reshape(1, c, 1), l.Beta.Value.Reshape(1, c, 1)
	}
	rows := l.Table.gather(p, p.class(l, n))
	part := func(i int) *device.Array {
		a := rows.Device().New(rows.Type(), n, c)
		device.Cut(a, rows, 1, i*c)
		return a.Reshape(n, c, 1)
	}
	return part(0), part(1), part(2)
}

// Forward normalises.
func (l *InstanceNormPlus) Forward(p *Pass, x *device.Array) *device.Array {
	must(x.Rank() == 4 && x.Dim(1) == l.Channels, l, "shape of x = %v: must be [N %d H W]", x.Shape(), l.Channels)
	n, c := x.Dim(0), l.Channels
	gamma, alpha, beta := l.coefficients(p, n)
	y, mean, _, rstd := standardise(p, planes(x), l.eps(), n, c, 1)
	means, spread := l.acrossChannels(mean)
	shift := y.Device().New(y.Type(), n, c, 1)
	device.Mul(shift, means, alpha)
	device.Affine(shift, gamma, shift, beta)
	p.Push(l, y, rstd, means, spread, gamma, alpha)
	return affine(y, gamma, shift).Reshape(x.Shape()...)
}

func (l *InstanceNormPlus) eps() float64 { return or(l.Eps, 1e-5) }

// acrossChannels standardises means over channels with their unbiased variance.
func (l *InstanceNormPlus) acrossChannels(mean *device.Array) (means, rstd *device.Array) {
	n, c := mean.Dim(0), mean.Dim(1)
	means = mean.Like()
	device.Sub(means, mean, reduce(mean, device.Mean, n, 1, 1))
	variance := reduce(means, device.SumSquares, n, 1, 1)
	device.Scale(variance, 1/float64(c-1), variance)
	rstd = inverseRoot(variance, l.eps())
	device.Mul(means, means, rstd)
	return means, rstd
}

// VJP returns the cotangent of x. With s = Σ dy and a = Σ dy·y over positions, dbeta is s, dalpha is gamma·means·s and
// dgamma a + alpha·means·s; means has cotangent gamma·alpha·s.
func (l *InstanceNormPlus) VJP(p *Pass, dy *device.Array) *device.Array {
	saved := p.Pop(l)
	y, rstd, means, spread, gamma, alpha := saved[0], saved[1], saved[2], saved[3], saved[4], saved[5]
	d := planes(dy)
	n, c, positions := d.Dim(0), d.Dim(1), d.Dim(2)
	sum, along := reduce(d, device.Sum, n, c, 1), dot(d, y, n, c, 1)
	gammaSum := mul(sum, gamma)
	if !p.InputsOnly {
		dalpha, dgamma := mul(gammaSum, means), mul(mul(sum, means), alpha)
		device.Add(dgamma, dgamma, along)
		l.paramGrads(p, dgamma, dalpha, sum)
	}
	dmeans := mul(gammaSum, alpha)
	dmean := dmeans.Like()
	device.AffinePair(dmean, spread, dmeans,
		scaled(-1/float64(c-1), mul(spread, dot(dmeans, means, n, 1, 1))), means,
		scaled(-1, mul(spread, reduce(dmeans, device.Mean, n, 1, 1))))
	more := scaled(1/float64(positions), dmean)
	return standardiseVJP(p, d, y, mul(rstd, gamma), sum, along, more).Reshape(dy.Shape()...)
}

// paramGrads takes the examples' own gradients, N×C×1.
func (l *InstanceNormPlus) paramGrads(p *Pass, dgamma, dalpha, dbeta *device.Array) {
	n, c := dgamma.Dim(0), dgamma.Dim(1)
	if l.Table != nil {
		rows := dgamma.Device().New(dgamma.Type(), n, 3*c)
		for i, d := range []*device.Array{dgamma, dalpha, dbeta} {
			device.Paste(rows, d.Reshape(n, c), 1, i*c)
		}
		l.Table.scatter(p, p.Class, rows)
		return
	}
	grads := []*device.Array{dgamma, dalpha, dbeta}
	for i, w := range []*Param{l.Gamma, l.Alpha, l.Beta} {
		if p.squares() {
			addSquares(p.Squares, grads[i])
		} else {
			addSum(w.Grad, grads[i], 1, c, 1)
		}
	}
}
