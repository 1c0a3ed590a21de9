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
	rows := l.Table.gather(p.class(l, n))
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
	v, n, c := planes(x), x.Dim(0), l.Channels
	gamma, alpha, beta := l.coefficients(p, n)
	eps := or(l.Eps, 1e-5)
	mean, _, rstd := moments(v, eps, 0, n, c, 1)
	center, _, spread := moments(mean, eps, 1, n, 1, 1) // of the means over channels
	means := applied(device.Affine{Scale: spread, Center: center}, mean)
	shift := mul(means, alpha)
	device.Affine{Scale: gamma, Shift: beta}.Apply(shift, shift)
	scale := mul(rstd, gamma)
	y := applied(p.bent(device.Affine{Scale: scale, Center: mean, Shift: shift}), v)
	saved := []*device.Array{mean, rstd, center, spread, means, scale, shift, gamma, alpha, v}
	if p.after != nil {
		saved = append(saved, y)
	}
	p.Push(l, saved...)
	return y.Reshape(x.Shape()...)
}

// VJP returns the cotangent of x. With s = Σ dy and a = Σ dy·(x − μ)·rstd over positions, dbeta is s, dalpha is
// gamma·means·s and dgamma a + alpha·means·s; means has cotangent gamma·alpha·s.
func (l *InstanceNormPlus) VJP(p *Pass, dy *device.Array) *device.Array {
	saved := p.Pop(l)
	mean, rstd, center, spread, means := saved[0], saved[1], saved[2], saved[3], saved[4]
	scale, shift, gamma, alpha, x, y := saved[5], saved[6], saved[7], saved[8], saved[9], saved[len(saved)-1]
	n, c := x.Dim(0), x.Dim(1)
	m := p.bent(device.Affine{Scale: scale, Center: mean, Shift: shift})
	dx, dz, sum, along := affineVJP(p, m, x, y, planes(dy), n, c, 1)
	gammaSum := mul(sum, gamma)
	if !p.InputsOnly {
		dgamma := applied(device.Affine{Scale: rstd, Shift: mul(mul(sum, means), alpha)}, along)
		l.paramGrads(p, dgamma, mul(gammaSum, means), sum)
	}
	dmeans := mul(gammaSum, alpha)
	dmean, _, total, turned := affineVJP(p, device.Affine{Center: center}, mean, mean, dmeans, n, 1, 1)
	device.Normalised{Mean: center, Rstd: spread, Scale: spread, Sum: total, Along: turned}.VJP(dmean, dmeans, mean, 1)
	device.Normalised{
		Mean: mean, Rstd: rstd, Scale: scale, Sum: sum, Along: along, More: scaled(1/float64(x.Dim(2)), dmean),
	}.VJP(dx, dz, x, 0)
	return dx.Reshape(dy.Shape()...)
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
