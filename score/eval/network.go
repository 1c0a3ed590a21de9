package eval

import (
	"cmp"

	"coupling/lab/device"
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
		return lenet(s, cmp.Or(c.Width, 6))
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

// lenet is LeNet-5 (LeCun et al. 1998, figure 2) on images of any size, with maxima for means, ReLU for tanh and all
// channels connected: convolutions 5×5 to w channels (padded by 2) and to 16w/6, dense 120 and 84. w is 6.
func lenet(s Shape, w int) *nn.Sequential {
	side, wide := (s.Height/2-4)/2, 16*w/6
	return nn.Seq(
		&nn.Conv2D{In: s.Channels, Out: w, Window: device.SquareWindow(5, 1, 2)},
		&nn.MaxPool{Window: device.SquareWindow(2, 2, 0)}, nn.ReLU(),
		&nn.Conv2D{In: w, Out: wide, Window: device.SquareWindow(5, 1, 0)},
		&nn.MaxPool{Window: device.SquareWindow(2, 2, 0)}, nn.ReLU(), nn.Flatten(),
		&nn.Dense{In: wide * side * side, Out: 120}, nn.ReLU(),
		&nn.Dense{In: 120, Out: 84}, nn.ReLU(), &nn.Dense{In: 84, Out: s.Classes},
	)
}
