package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
)

// GroupNorm is BatchNorm's formula with statistics over the positions and the channels of a group of one example (Wu
// and He 2018); gamma and beta are for each channel. Groups = Channels is instance normalisation, Groups = 1 layer
// normalisation.
type GroupNorm struct {
	Channels, Groups int     // Groups divides Channels
	Eps              float64 // 0: 1e-5

	Gamma, Beta *Param
}

// Init allocates gamma = 1 and beta = 0.
func (g *GroupNorm) Init(dev *device.Device, t device.DType, _ *rand.Rand) {
	c := g.Channels
	must(c > 0 && g.Groups > 0 && c%g.Groups == 0, g, "Channels = %d, Groups = %d: must divide", c, g.Groups)
	g.Gamma, g.Beta = newParam(dev, t, "gamma", constants(c, 1), c), newParam(dev, t, "beta", constants(c, 0), c)
}

func (g *GroupNorm) leaf() {}

// Params returns gamma and beta.
func (g *GroupNorm) Params() []*Param { return present(g.Gamma, g.Beta) }

// Forward normalises.
func (g *GroupNorm) Forward(p *Pass, x *device.Array) *device.Array {
	must(x.Rank() >= 2 && x.Dim(1) == g.Channels, g, "shape of x = %v: must be [N %d …]", x.Shape(), g.Channels)
	n, c := x.Dim(0), g.Channels
	grouped, _, _, rstd := standardise(p, x.Reshape(n, g.Groups, -1), or(g.Eps, 1e-5), n, g.Groups, 1)
	y := grouped.Reshape(n, c, -1)
	p.Push(g, y, rstd)
	return affine(y, g.Gamma.Value.Reshape(1, c, 1), g.Beta.Value.Reshape(1, c, 1)).Reshape(x.Shape()...)
}

// VJP returns the cotangent of x; dgamma is Σ dy·y, dbeta is Σ dy.
func (g *GroupNorm) VJP(p *Pass, dy *device.Array) *device.Array {
	saved := p.Pop(g)
	y, rstd := saved[0], saved[1]
	d := planes(dy)
	n, c := d.Dim(0), g.Channels
	if p.squares() {
		addSquares(p.Squares, dot(d, y, n, c, 1))
		addSquares(p.Squares, reduce(d, device.Sum, n, c, 1))
	}
	if p.params() {
		addInto(g.Gamma.Grad, dot(d, y, 1, c, 1))
		addInto(g.Beta.Grad, reduce(d, device.Sum, 1, c, 1))
	}
	dn := mul(d, g.Gamma.Value.Reshape(1, c, 1)).Reshape(n, g.Groups, -1)
	yn := y.Reshape(n, g.Groups, -1)
	dx := standardiseVJP(p, dn, yn, rstd, reduce(dn, device.Sum, n, g.Groups, 1), dot(dn, yn, n, g.Groups, 1), nil)
	return dx.Reshape(dy.Shape()...)
}
