package arch

import (
	"fmt"

	"coupling/lab/nn"
)

// MLP is a chain of dense layers of the given sizes, with an activation and, where asked for, batch normalisation after
// each but the last, whose output is as it is.
type MLP struct {
	Sizes       []int           // at least two: input, hidden layers, output
	Hidden      func() nn.Layer // makes an activation; nil: ReLU
	FirstLinear bool            // no activation after the first layer, as in SCONES's code
	BatchNorm   bool            // of the batch, at inference too, after activations
}

// Net returns the network, not yet initialised.
func (m MLP) Net() *nn.Sequential {
	if len(m.Sizes) < 2 {
		panic(fmt.Sprintf("arch: MLP: Sizes = %v: must be at least two", m.Sizes))
	}
	net := nn.Seq()
	last := len(m.Sizes) - 2
	for i := range last + 1 {
		net.Layers = append(net.Layers, &nn.Dense{In: m.Sizes[i], Out: m.Sizes[i+1]})
		if i == last || i == 0 && m.FirstLinear {
			continue
		}
		net.Layers = append(net.Layers, m.act())
		if m.BatchNorm {
			net.Layers = append(net.Layers, &nn.BatchNorm{Channels: m.Sizes[i+1], Batch: true})
		}
	}
	return net
}

func (m MLP) act() nn.Layer {
	if m.Hidden == nil {
		return nn.ReLU()
	}
	return m.Hidden()
}

// Critic returns the dual potential of SCONES: d inputs, hidden layers, one linear output. Its first layer has no
// activation and its output is not clamped, as in the published code; the paper speaks of a ReLU at the output. Digits:
// hidden 1024, 1024; faces: eight of 2048; synthetic data: three of 4096.
func Critic(d int, hidden ...int) *nn.Sequential {
	return MLP{Sizes: append(append([]int{d}, hidden...), 1), FirstLinear: true}.Net()
}

// BarycentricPixels returns the barycentric projection of SCONES's digits from in to out pixels in [0, 1], as its code
// has it: 2x − 1, dense layers, (tanh + 1)/2. Code: hidden four of 2048.
func BarycentricPixels(in, out int, hidden ...int) *nn.Sequential {
	net := MLP{Sizes: append(append([]int{in}, hidden...), out), FirstLinear: true}.Net()
	first := nn.Seq(nn.Flatten(), &nn.Affine{By: 2, Plus: -1})
	return nn.Seq(append(append(first.Layers, net.Layers...), nn.Tanh(), &nn.Affine{By: .5, Plus: .5})...)
}
