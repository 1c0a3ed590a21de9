package arch_test

import (
	"testing"

	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/nntest"
)

// tiny is each architecture at a size whose gradients can be checked in a second.
func tiny() []nntest.Case {
	return []nntest.Case{
		{Name: "DCGAN 28", Shape: []int{2, 3}, Classes: 4, Mixes: true, Layer: func() nn.Layer {
			return arch.DCGAN{Latent: 3, Classes: 4, Embed: 2, Hidden: 2}.Net()
		}},
		{Name: "DCGAN 32", Shape: []int{2, 3}, Mixes: true, Layer: func() nn.Layer {
			return arch.DCGAN{Latent: 3, Hidden: 2, Channels: 3, Size: 32, Slope: .2}.Net()
		}},
		{Name: "BigGAN", Shape: []int{3, 4}, Classes: 2, Mixes: true, Layer: func() nn.Layer {
			return arch.BigGAN{
				Latent:  4,
				Classes: 2,
				Embed:   3,
				Hidden:  4,
				Blocks:  1,
				Steps:   8,
				Weights: nntest.Dominated,
			}.Net()
		}},
		{Name: "NCSN", Shape: []int{2, 1, 8, 8}, Classes: 3, Layer: func() nn.Layer {
			return arch.NCSN{Channels: 1, Features: 2, Levels: 3}.Net()
		}},
		{Name: "NCSNv2", Shape: []int{2, 2, 6, 8}, Classes: 3, Layer: func() nn.Layer {
			return arch.NCSNv2{Channels: 2, Features: 2, Sigmas: []float64{1, .3, .1}}.Net()
		}},
		{Name: "BarycentricImages", Shape: []int{2, 1, 4, 4}, Layer: func() nn.Layer {
			return arch.BarycentricImages{Channels: 1, Features: 2}.Net()
		}},
		{Name: "MLP softplus", Shape: []int{5, 3}, Layer: func() nn.Layer {
			return arch.MLP{Sizes: []int{3, 8, 8, 2}, Hidden: func() nn.Layer { return nn.Softplus() }}.Net()
		}},
		{Name: "Critic", Shape: []int{5, 3}, Layer: func() nn.Layer { return arch.Critic(3, 7, 6) }},
		{Name: "BarycentricPixels", Shape: []int{4, 1, 3, 3},
			Layer: func() nn.Layer { return arch.BarycentricPixels(9, 8, 7, 6) }},
		{Name: "Logistic", Shape: []int{4, 1, 3, 3}, Layer: func() nn.Layer { return arch.Logistic(9, 3) }},
		{Name: "Perceptron", Shape: []int{4, 1, 3, 3}, Layer: func() nn.Layer { return arch.Perceptron(9, 8, 3) }},
		{Name: "CNN", Shape: []int{2, 1, 28, 28}, Training: true, Layer: func() nn.Layer {
			return arch.CNN{Width: 2, Rate: .5}.Net()
		}},
		{
			Name:     "TwoConvolutions",
			Shape:    []int{2, 1, 18, 18},
			Training: true,
			Layer:    func() nn.Layer { return arch.TwoConvolutions(1, 18, 3, 2) },
		},
		{
			Name:     "Example",
			Shape:    []int{2, 1, 10, 10},
			Training: true,
			Layer:    func() nn.Layer { return arch.Example(1, 10, 3, 2) },
		},
		{Name: "Scattering", Shape: []int{1, 2, 8, 8}, Mixes: true, Layer: arch.Scattering},
	}
}

func TestGradientsOnDevice(t *testing.T) { nntest.RunCases(t, nntest.Open, tiny()) }
