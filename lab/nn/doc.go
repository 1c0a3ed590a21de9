// Package nn is layers of neural networks on a device, each with an explicit Forward and VJP.
//
// A layer is a struct literal of its sizes. Init allocates its parameters on a device and draws them; Forward maps an
// array of examples; VJP takes a cotangent of the output, returns that of the input and adds to the gradients of the
// parameters. There is no tape to look up: a Pass is a stack on which Forward leaves what VJP needs, and VJP takes it
// off in reverse order, or panics naming both layers.
//
// # One step
//
// A generator g, a loss whose gradient at the images we compute ourselves, Adam (package train):
//
//	g := nn.Seq(&nn.Dense{In: 8, Out: 64}, nn.ReLU(), &nn.Dense{In: 64, Out: 784}, nn.Tanh())
//	g.Init(dev, device.Float32, rng)
//	opt := train.Adam{Rate: 1e-3}.For(g.Params())
//	for range steps {
//		s := dev.Scope()                     // frees everything that is made on the way
//		p := &nn.Pass{Training: true}
//		nn.ZeroGrads(g.Params())
//		images := g.Forward(p, z)
//		g.VJP(p, gradientAt(images))         // clipped, with noise: the privacy hook is here
//		opt.Step()
//		s.Close()
//	}
//
// The gradient at an input, for Langevin sampling, is what VJP returns; Pass.InputsOnly saves the rest. All of a step is
// on the device, so that a device.Graph can record it.
//
// # Conventions
//
// Images are N×C×H×W. Weights have PyTorch's shapes and, unless told otherwise, its initial values, from the rng that
// Init is given; the same rng gives the same network in float32 and float64, up to rounding. Layers mean what PyTorch's
// of the same name mean, but say themselves what state they keep: running statistics and singular vectors are Params
// without a gradient, which checkpoints store and optimisers leave alone. Passes that are not Training change nothing.
//
// Gradients add up, so that batches can be accumulated; sums have a fixed order, so that the same call gives the same
// bits on one device. Gradients of single examples, for DP-SGD, come as norms (Pass.Squares) and as clipped sums
// (train.ClippedGrads). Wrong shapes are mistakes of the program and panic.
//
// Package arch has the networks of the papers, package nntest holds every layer to finite differences.
//
// Sources are given with the layers; convolutions are products of unfolded patches (Chellapilla et al. 2006).
package nn
