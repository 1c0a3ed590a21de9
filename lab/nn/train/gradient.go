package train

import (
	"coupling/lab/device"
	"coupling/lab/nn"
)

// ScaleGrads multiplies all gradients: by 1/k after k accumulated batches.
func ScaleGrads(params []*nn.Param, factor float64) {
	for _, p := range nn.Trainable(params) {
		device.Scale(p.Grad, factor, p.Grad)
	}
}

// GradNorm returns the Euclidean norm of all gradients together, an array of 1 on the device.
func GradNorm(params []*nn.Param) *device.Array {
	var total *device.Array
	for _, p := range nn.Trainable(params) {
		g := p.Grad.Reshape(-1)
		s := g.Device().New(g.Type(), 1)
		device.Reduce(s, g, device.SumSquares)
		if total == nil {
			total = s
			continue
		}
		device.Add(total, total, s)
		s.Free()
	}
	if total != nil {
		device.Map(total, total, device.Sqrt, 0)
	}
	return total
}

// ClipGrads scales all gradients by min(1, bound/(norm + 1e-6)), norm that of all together, as PyTorch does, without a
// copy to the host. Gradients that are not finite make all of them NaN, as there; GradNorm tells.
func ClipGrads(params []*nn.Param, bound float64) {
	factor := GradNorm(params)
	if factor == nil {
		return
	}
	device.Map(factor, factor, device.AddConst, 1e-6)
	atMostOne(factor, bound)
	for _, p := range nn.Trainable(params) {
		g := p.Grad.Reshape(-1)
		device.Mul(g, g, factor)
	}
	factor.Free()
}

// atMostOne is x = min(1, bound/x).
func atMostOne(x *device.Array, bound float64) {
	one := x.Like()
	device.Fill(one, 1)
	device.Map(x, x, device.Recip, 0)
	device.Scale(x, bound, x)
	device.Min(x, x, one)
	one.Free()
}
