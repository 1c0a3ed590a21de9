package neural

import (
	"fmt"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// Net is a potential computed by a network: Scale times its one output. Make one by NewNet.
type Net struct {
	net   nn.Layer
	dev   *device.Device
	d     int
	scale float64
	opt   *train.Optimiser

	// Of the last Values, for Ascend.
	scope *device.Scope
	pass  *nn.Pass
	out   *device.Array
}

// NewNet makes a potential on R^d of an initialised network from N×d to N×1, with an optimiser that Ascend steps.
func NewNet(net nn.Layer, dev *device.Device, d int, scale float64, opt *train.Optimiser) *Net {
	opt.SetFactor(1) // the first call changes how steps are computed, so make it now
	return &Net{net: net, dev: dev, d: d, scale: scale, opt: opt}
}

// Params returns the parameters, for checkpoints.
func (p *Net) Params() []*nn.Param { return p.net.Params() }

// State returns the state of the optimiser, for checkpoints.
func (p *Net) State() []*nn.Param { return p.opt.State() }

// Dim implements scones.Potential.
func (p *Net) Dim() int { return p.d }

// rows is the number of points that Eval sends through the network at once.
const rows = 1024

// Eval implements scones.Potential.
func (p *Net) Eval(value []float64, grad, y *mat.Dense) error {
	n, d := y.Dims()
	if err := scones.CheckEval(p.d, value, grad, y); err != nil {
		return err
	}
	for lo := 0; lo < n; lo += rows {
		hi := min(lo+rows, n)
		var v []float64
		if value != nil {
			v = value[lo:hi]
		}
		var g *mat.Dense
		if grad != nil {
			g = grad.Slice(lo, hi, 0, d).(*mat.Dense)
		}
		if err := p.block(v, g, y.Slice(lo, hi, 0, d).(*mat.Dense)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Net) block(value []float64, grad, y *mat.Dense) error {
	defer p.dev.Scope().Close()
	pass := &nn.Pass{ForwardOnly: grad == nil, InputsOnly: true}
	out := p.net.Forward(pass, p.dev.FromDense(device.Float32, y))
	if value != nil {
		v, err := out.Float64s()
		if err != nil {
			return err
		}
		for i := range value {
			value[i] = p.scale * v[i]
		}
	}
	if grad == nil {
		return nil
	}
	g, err := p.gradient(pass, out).Mat()
	if err != nil {
		return err
	}
	grad.Copy(g)
	return nil
}

// gradient is that of the sum of the values at the points that pass took to out.
func (p *Net) gradient(pass *nn.Pass, out *device.Array) *device.Array {
	dy := out.Like()
	device.Fill(dy, p.scale)
	return p.net.VJP(pass, dy)
}

// Device implements scones.DevicePotential.
func (p *Net) Device() *device.Device { return p.dev }

// Gradient implements scones.DevicePotential.
func (p *Net) Gradient(y *device.Array) *device.Array {
	g, n := y.Like(), y.Dim(0)
	for lo := 0; lo < n; lo += rows {
		p.convert(g.Rows(lo, min(lo+rows, n)), y.Rows(lo, min(lo+rows, n)))
	}
	return g
}

// convert writes the gradients at points of another type than the network's.
func (p *Net) convert(dst, y *device.Array) {
	defer p.dev.Scope().Close()
	in, pass := p.dev.New(device.Float32, y.Shape()...), &nn.Pass{InputsOnly: true}
	device.Convert(in, y)
	device.Convert(dst, p.gradient(pass, p.net.Forward(pass, in)))
}

// Values implements scones.Model. Its arrays on the device live until Ascend.
func (p *Net) Values(x *mat.Dense) ([]float64, error) {
	p.drop()
	if err := scones.CheckEval(p.d, nil, nil, x); err != nil {
		return nil, err
	}
	p.scope = p.dev.Scope()
	p.pass = &nn.Pass{Training: true, ParamsOnly: true}
	p.out = p.net.Forward(p.pass, p.dev.FromDense(device.Float32, x))
	v, err := p.out.Float64s()
	for i := range v {
		v[i] *= p.scale
	}
	return v, err
}

// Ascend implements scones.Model.
func (p *Net) Ascend(w []float64, factor float64) error {
	if p.pass == nil || len(w) != p.out.Len() {
		return fmt.Errorf("neural: Ascend with %d weights does not follow Values of as many points: %w", len(w),
			scones.ErrShape)
	}
	nn.ZeroGrads(p.net.Params())
	dy := p.out.Like()
	down := make([]float64, len(w)) // optimisers descend
	for i, v := range w {
		down[i] = -p.scale * v
	}
	dy.SetFloats(down)
	p.net.VJP(p.pass, dy)
	p.opt.SetFactor(factor)
	p.opt.Step()
	p.drop()
	return p.dev.Err()
}

func (p *Net) drop() {
	if p.scope != nil {
		p.scope.Close()
	}
	p.scope, p.pass, p.out = nil, nil, nil
}
