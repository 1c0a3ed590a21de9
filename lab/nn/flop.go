package nn

import (
	"coupling/lab/device"
	"coupling/lab/nn/initial"
)

// FLOP returns the multiplications and additions of products and convolutions in one example's
// forward pass, which it runs once with weights of zero on dev. A step of training takes three
// times as many: the way back is one pass for the inputs and one for the weights.
func FLOP(dev *device.Device, net Layer, shape ...int) float64 {
	defer dev.Scope().Close()
	net.Init(dev, device.Float32, initial.Zeros)
	p := &Pass{ForwardOnly: true, Class: dev.FromInts(make([]int32, 1), 1)}
	net.Forward(p, dev.New(device.Float32, append([]int{1}, shape...)...))
	return p.FLOP
}
