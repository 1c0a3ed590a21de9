package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn/initial"
)

// Dense is y = x·Wᵀ + b for x N×In, y N×Out. Parameters: weight Out×In, bias Out. Cost of a forward pass: 2·N·In·Out.
type Dense struct {
	In, Out  int
	NoBias   bool
	Weights  initial.Law // nil: PyTorch's default
	Spectral *Spectral   // nil: the weight as it is

	W, B *Param
}

// Init allocates and draws the parameters.
func (d *Dense) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	must(d.In > 0 && d.Out > 0, d, "In = %d, Out = %d: must be > 0", d.In, d.Out)
	d.W, d.B = newWeight(dev, t, rng, d.Weights, !d.NoBias, d.Out, d.Out, d.In)
	d.Spectral.init(dev, t, rng, d.Out)
}

// Params returns weight, bias and singular vector.
func (d *Dense) Params() []*Param { return append(present(d.W, d.B), d.Spectral.params()...) }

// Forward returns x·Wᵀ + b.
func (d *Dense) Forward(p *Pass, x *device.Array) *device.Array {
	must(x.Rank() == 2 && x.Dim(1) == d.In, d, "shape of x = %v: must be [N %d]", x.Shape(), d.In)
	y := x.Device().New(x.Type(), x.Dim(0), d.Out)
	w, vectors := d.Spectral.apply(p, d.W.Value)
	device.Gemm(y, 1, x.N(), w.T(), 0)
	p.FLOP += 2 * float64(y.Len()*d.In)
	p.Push(d, append([]*device.Array{x, w}, vectors...)...)
	return p.biased(d, y, d.B)
}

// VJP returns dy·W, with dW += dyᵀ·x and db += Σ_n dy. The gradient of one example is an outer product, whose squared
// norm is |x|²·|dy|² (Goodfellow 2015), plus |dy|² for the bias.
func (d *Dense) VJP(p *Pass, dy *device.Array) *device.Array {
	dy = p.biasedVJP(d, dy, d.B)
	saved := p.Pop(d)
	x, w := saved[0], saved[1]
	if p.params() {
		d.Spectral.grad(d.W, saved[1:], func(dw *device.Array) { device.Gemm(dw, 1, dy.T(), x.N(), 1) })
	}
	if p.squares() {
		d.squares(p, x, dy)
	}
	if p.bottom() {
		return nil
	}
	dx := x.Like()
	device.Gemm(dx, 1, dy.N(), w.N(), 0)
	return dx
}

func (d *Dense) squares(p *Pass, x, dy *device.Array) {
	if d.Spectral != nil {
		p.noSquares(d, "spectral normalisation shares the weight's norm")
	}
	n := x.Dim(0)
	sx, sy := reduce(x, device.SumSquares, n, 1), reduce(dy, device.SumSquares, n, 1)
	device.Mul(sx, sx, sy)
	addInto(p.Squares, sx)
	sx.Free()
	sy.Free()
}
