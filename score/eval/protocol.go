package eval

import (
	"coupling/data"
	"coupling/lab/nn/train"
)

// Kind is a kind of classifier.
type Kind int

// The kinds of classifiers.
const (
	Logistic Kind = iota // multinomial logistic regression
	MLP                  // one hidden layer of 100
	CNN                  // convolutions of 32 and 64 channels, in Code and Quick a third of 128
	LeNet                // LeNet-5 with maxima and ReLU; 84 features before the last layer
	// the CNN of PyTorch's MNIST example: convolutions of 32 and 64 channels, maxima of 2×2, dense
	// 128.
	Example
	Oriented // ridge regression on random features of oriented gradients, in every protocol: no network
)

func (k Kind) String() string {
	return [...]string{"logistic regression", "MLP", "CNN", "LeNet", "example CNN", "oriented gradients"}[k]
}

// Protocol is a way to train classifiers. Each takes images scaled to [−1, 1].
type Protocol int

const (
	// Quick is ours, for two cores: Adam at 2e-3 falling along a cosine to 0, batches of 64, 10
	// epochs (networks with convolutions: 5), no hold-out, the last weights. The networks are those
	// of Code, but the CNN drops out a tenth where that has a half, which pays only after many
	// epochs. Example has its own dropout in every protocol.
	Quick Protocol = iota
	// Code is the protocol of DP-Sinkhorn's published code, from which its numbers come. Logistic
	// regression and MLP: Adam at 1e-4 with weight decay 1e-6, at most 300 epochs, patience 10 and
	// 30. CNN: gradient descent at 1e-3 without momentum, at most 500 epochs, patience 60. Batches
	//     of 512; the last tenth of the training images, in their order, is held out, and the
	//     weights best on it are kept. LeNet and Example, which that code does not have, are trained like
	//     the MLP. Evaluate makes the dark half of synthetic images black, as the code does.
	Code
	// Paper follows its appendix D.2. Logistic regression: scikit-learn's, that is L-BFGS, at most
	// 5,000 iterations, on Σ cross-entropy + ½|W|² of all images, in float64. MLP and CNN: Adam
	// with default parameters, a random tenth held out, patience 30. The CNN has two convolutions,
	// of 32 and 64 channels, and dropout ½ after each. What the text leaves open is as in Code:
	// batches of 512, kernels of 3×3, maxima of 2×2, at most 500 epochs. LeNet and Example are
	// trained as the MLP. On 60,000 images L-BFGS takes more than a thousand iterations, of some
	// tenths of a second each on two cores.
	Paper
)

func (p Protocol) String() string {
	return [...]string{"quick", "code", "paper"}[p]
}

// Prepare returns synthetic images as the protocol shows them to classifiers: for Code each value below the middle of
// the range becomes black, for the others the images as they are.
func (p Protocol) Prepare(synthetic *data.Images) *data.Images {
	if p != Code {
		return synthetic
	}
	dark := synthetic.Clone()
	middle, x := (dark.Lo+dark.Hi)/2, dark.Pixels()
	for i, v := range x {
		if v < middle {
			x[i] = dark.Lo
		}
	}
	return dark
}

// recipe is a protocol for one kind of classifier.
type recipe struct {
	sgd          bool // else Adam
	rate, decay  float64
	batch        int
	epochs       int
	patience     int  // 0: train to the end and keep the last weights
	shuffledHold bool // the held-out tenth is drawn, not the last
	cosine       bool
	lbfgs        bool
}

func (p Protocol) recipe(k Kind) recipe {
	switch {
	case p == Paper && k == Logistic:
		return recipe{lbfgs: true, epochs: 5000}
	case p == Paper:
		return recipe{rate: 1e-3, batch: 512, epochs: 500, patience: 30, shuffledHold: true}
	case p == Code && k == CNN:
		return recipe{sgd: true, rate: 1e-3, batch: 512, epochs: 500, patience: 60}
	case p == Code && k == Logistic:
		return recipe{rate: 1e-4, decay: 1e-6, batch: 512, epochs: 300, patience: 10}
	case p == Code:
		return recipe{rate: 1e-4, decay: 1e-6, batch: 512, epochs: 300, patience: 30}
	case k == CNN || k == LeNet || k == Example:
		return recipe{rate: 2e-3, batch: 64, epochs: 5, cosine: true}
	}
	return recipe{rate: 2e-3, batch: 64, epochs: 10, cosine: true}
}

// optimiser makes what moves a model's parameters.
func (r recipe) optimiser(m *Model) *train.Optimiser {
	if r.sgd {
		return train.SGD{Rate: r.rate, Decay: r.decay}.For(m.Params())
	}
	return train.Adam{Rate: r.rate, Decay: r.decay}.For(m.Params())
}
