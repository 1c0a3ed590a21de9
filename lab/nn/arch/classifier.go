package arch

import (
	"coupling/lab/device"
	"coupling/lab/nn"
)

// Logistic is multinomial logistic regression: images of so many pixels to the logits of classes.
func Logistic(pixels, classes int) *nn.Sequential {
	return nn.Seq(nn.Flatten(), &nn.Dense{In: pixels, Out: classes})
}

// Perceptron returns the MLP of DP-Sinkhorn's evaluation: one hidden layer, 100 wide there, with ReLU.
func Perceptron(pixels, hidden, classes int) *nn.Sequential {
	net := MLP{Sizes: []int{pixels, hidden, classes}}.Net()
	return nn.Seq(append([]nn.Layer{nn.Flatten()}, net.Layers...)...)
}

// CNN is the convolutional classifier of DP-Sinkhorn's evaluation, as its code has it: three unpadded 3×3 convolutions
// of 32, 64 and 128 channels, with maxima of 2×2 before the ReLU of the first two and dropout of whole channels after
// them; then dense 128, ReLU, dropout and dense. The paper speaks of two convolutions (TwoConvolutions).
type CNN struct {
	Channels int // 0: 1
	Size     int // side of the images; 0: 28
	Classes  int // 0: 10
	Width    int // channels of the first convolution; 0: 32
	Rate     float64
}

// Net returns the network, not yet initialised. Rate 0 drops nothing; the code has .5.
func (c CNN) Net() *nn.Sequential {
	w := orInt(c.Width, 32)
	layers, side := stages(orInt(c.Channels, 1), orInt(c.Size, 28), w, c.Rate)
	side -= 2
	return nn.Seq(append(layers,
		&nn.Conv2D{In: 2 * w, Out: 4 * w, Window: device.SquareWindow(3, 1, 0)}, nn.ReLU(), nn.Flatten(),
		&nn.Dense{In: 4 * w * side * side, Out: 4 * w}, nn.ReLU(), &nn.Dropout{Rate: c.Rate},
		&nn.Dense{In: 4 * w, Out: orInt(c.Classes, 10)},
	)...)
}

// stages are two unpadded 3×3 convolutions to w and 2w channels, each with maxima of 2×2, ReLU and
// dropout of whole channels, and the side of their view of images.
func stages(channels, size, w int, rate float64) (layers []nn.Layer, side int) {
	for _, out := range []int{w, 2 * w} {
		layers = append(layers, &nn.Conv2D{In: channels, Out: out, Window: device.SquareWindow(3, 1, 0)},
			&nn.MaxPool{Window: device.SquareWindow(2, 2, 0)}, nn.ReLU(), &nn.Dropout{Rate: rate, Channels: true})
		channels, size = out, (size-2)/2
	}
	return layers, size
}

// TwoConvolutions returns the CNN that the paper of DP-Sinkhorn speaks of, with w and 2w channels and
// dropout of a half; w is 32.
func TwoConvolutions(channels, size, classes, w int) *nn.Sequential {
	layers, side := stages(channels, size, w, .5)
	return nn.Seq(append(layers, nn.Flatten(), &nn.Dense{In: 2 * w * side * side, Out: classes})...)
}

// Example returns the classifier of PyTorch's MNIST example: two unpadded 3×3 convolutions of w and 2w
// channels with ReLU, maxima of 2×2 and dropout of a quarter; then dense 4w, ReLU, dropout of a
// half and dense. The example's w is 32.
func Example(channels, size, classes, w int) *nn.Sequential {
	side := (size - 4) / 2
	return nn.Seq(
		&nn.Conv2D{In: channels, Out: w, Window: device.SquareWindow(3, 1, 0)}, nn.ReLU(),
		&nn.Conv2D{In: w, Out: 2 * w, Window: device.SquareWindow(3, 1, 0)}, nn.ReLU(),
		&nn.MaxPool{Window: device.SquareWindow(2, 2, 0)}, &nn.Dropout{Rate: .25}, nn.Flatten(),
		&nn.Dense{In: 2 * w * side * side, Out: 4 * w}, nn.ReLU(), &nn.Dropout{Rate: .5},
		&nn.Dense{In: 4 * w, Out: classes},
	)
}

// LeNet returns LeNet-5 (LeCun et al. 1998, figure 2) for images of any size, with maxima for means, ReLU for tanh and
// all channels connected: convolutions 5×5 to w channels (padded by 2) and to 16w/6, dense 120 and 84. LeCun's w is 6.
func LeNet(channels, size, classes, w int) *nn.Sequential {
	side, wide := (size/2-4)/2, 16*w/6
	return nn.Seq(
		&nn.Conv2D{In: channels, Out: w, Window: device.SquareWindow(5, 1, 2)},
		&nn.MaxPool{Window: device.SquareWindow(2, 2, 0)}, nn.ReLU(),
		&nn.Conv2D{In: w, Out: wide, Window: device.SquareWindow(5, 1, 0)},
		&nn.MaxPool{Window: device.SquareWindow(2, 2, 0)}, nn.ReLU(), nn.Flatten(),
		&nn.Dense{In: wide * side * side, Out: 120}, nn.ReLU(),
		&nn.Dense{In: 120, Out: 84}, nn.ReLU(), &nn.Dense{In: 84, Out: classes},
	)
}
