package eval

import (
	"cmp"

	"coupling/lab/nn"
	"coupling/lab/nn/arch"
)

// Shape describes the input and output of a classifier.
type Shape struct {
	Channels, Height, Width int
	Classes                 int
}

func (s Shape) pixels() int { return s.Channels * s.Height * s.Width }

// check refuses shapes for which there is no network of the kind.
func (s Shape) check(k Kind) error {
	switch {
	case s.Channels < 1 || s.Height < 1 || s.Width < 1 || s.Classes < 2:
		return bad("images of %d×%d×%d in %d classes: must be positive, with two classes or more",
			s.Channels, s.Height, s.Width, s.Classes)
	case k == Logistic || k == MLP || k == Oriented && min(s.Height, s.Width) >= arch.GradientCell:
		return nil
	case k == Oriented:
		return bad("images of %d×%d for %v: must be %d or larger",
			s.Height, s.Width, k, arch.GradientCell)
	case k != CNN && k != LeNet && k != Example:
		return bad("Kind = %d: unknown", int(k))
	case s.Height != s.Width || s.Height < 18:
		return bad("images of %d×%d for a %v: must be square, 18 or larger", s.Height, s.Width, k)
	}
	return nil
}

// network ends in the features of an image and one layer, which makes their logits.
func (c Classifier) network(s Shape) *nn.Sequential {
	switch {
	case c.Kind == MLP:
		return arch.Perceptron(s.pixels(), cmp.Or(c.Width, 100), s.Classes)
	case c.Kind == Oriented:
		return oriented(s, cmp.Or(c.Width, 2000))
	case c.Kind == LeNet:
		return arch.LeNet(s.Channels, s.Height, s.Classes, cmp.Or(c.Width, 6))
	case c.Kind == Example:
		return arch.Example(s.Channels, s.Height, s.Classes, cmp.Or(c.Width, 32))
	case c.Kind == CNN && c.Protocol == Paper:
		return arch.TwoConvolutions(s.Channels, s.Height, s.Classes, cmp.Or(c.Width, 32))
	case c.Kind == CNN:
		rate := .5
		if c.Protocol == Quick {
			rate = .1
		}
		return arch.CNN{Channels: s.Channels, Size: s.Height, Classes: s.Classes, Width: c.Width, Rate: rate}.Net()
	}
	return arch.Logistic(s.pixels(), s.Classes)
}
