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

// parted is x as N×G×C/G×P, and gamma and beta likewise.
func (g *GroupNorm) parted(x *device.Array) *device.Array {
	return x.Reshape(x.Dim(0), g.Groups, g.Channels/g.Groups, -1)
}

// Forward normalises.
func (g *GroupNorm) Forward(p *Pass, x *device.Array) *device.Array {
	must(x.Rank() >= 2 && x.Dim(1) == g.Channels, g, "shape of x = %v: must be [N %d …]", x.Shape(), g.Channels)
	v, n := g.parted(x), x.Dim(0)
	mean, _, rstd := moments(v, or(g.Eps, 1e-5), 0, n, g.Groups, 1, 1)
	scale := x.Device().New(x.Type(), n, g.Groups, g.Channels/g.Groups, 1)
	device.Mul(scale, rstd, g.parted(channels(g.Gamma)))
	p.Push(g, v, mean, rstd)
	return applied(device.Affine{Scale: scale, Center: mean, Shift: g.parted(channels(g.Beta))}, v).Reshape(x.Shape()...)
}

// VJP returns the cotangent of x; dgamma is Σ dy·(x − mean)·rstd, dbeta is Σ dy.
func (g *GroupNorm) VJP(p *Pass, dy *device.Array) *device.Array {
	saved := p.Pop(g)
	x, mean, rstd := saved[0], saved[1], saved[2]
	n, c := x.Dim(0), g.Channels
	dx, d, sum, along := affineVJP(p, device.Affine{Center: mean}, x, x, g.parted(dy), n, g.Groups, c/g.Groups, 1)
	if !p.InputsOnly {
		dgamma := mul(along, rstd)
		for i, w := range []*Param{g.Gamma, g.Beta} {
			if grad := [...]*device.Array{dgamma, sum}[i]; p.squares() {
				addSquares(p.Squares, grad)
			} else {
				addSum(w.Grad, grad.Reshape(n, c), 1, c)
			}
		}
	}
	gamma := g.parted(channels(g.Gamma))
	within := func(s *device.Array) *device.Array { return reduce(mul(s, gamma), device.Sum, n, g.Groups, 1, 1) }
	device.Normalised{Mean: mean, Rstd: rstd, Scale: rstd, Sum: within(sum), Along: within(along)}.VJP(dx, mul(d, gamma), x, 0)
	return dx.Reshape(dy.Shape()...)
}
