package nn

import "coupling/lab/device"

// AvgPool is the mean of each window of x, N×C×H×W, padding counted as zeros. As in convolutions,
// windows lie wholly within the padded image (PyTorch's ceil_mode=False, there is no other): rows
// and columns left over at the end are not pooled.
type AvgPool struct {
	stateless

	Window device.Window
}

// Forward takes means.
func (a *AvgPool) Forward(p *Pass, x *device.Array) *device.Array {
	y := pooled(a, x, a.Window)
	device.AvgPool(y, x, a.Window)
	p.PushShape(a, x)
	return y
}

// VJP spreads dy evenly.
func (a *AvgPool) VJP(p *Pass, dy *device.Array) *device.Array {
	dx := dy.Device().New(dy.Type(), p.PopShape(a)...)
	device.AvgPoolVJP(dx, dy, a.Window)
	return dx
}

// MaxPool is the largest element in each window of x, N×C×H×W; windows are those of AvgPool.
type MaxPool struct {
	stateless

	Window device.Window
}

// Forward takes maxima.
func (m *MaxPool) Forward(p *Pass, x *device.Array) *device.Array {
	y := pooled(m, x, m.Window)
	index := x.Device().New(device.Int32, y.Shape()...)
	device.MaxPool(y, index, x, m.Window)
	p.Push(m, index)
	p.PushShape(m, x)
	return y
}

// VJP gives each dy to the element that won.
func (m *MaxPool) VJP(p *Pass, dy *device.Array) *device.Array {
	dx := dy.Device().New(dy.Type(), p.PopShape(m)...)
	device.MaxPoolVJP(dx, dy, p.Pop(m)[0], m.Window)
	return dx
}

func pooled(layer any, x *device.Array, w device.Window) *device.Array {
	must(x.Rank() == 4, layer, "shape of x = %v: must be [N C H W]", x.Shape())
	oh, ow := w.Out(x.Dim(2), x.Dim(3))
	return x.Device().New(x.Type(), x.Dim(0), x.Dim(1), oh, ow)
}
