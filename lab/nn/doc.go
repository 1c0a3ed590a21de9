// Package nn is layers of neural networks on a device, each with an explicit Forward and VJP.
//
// A layer is a struct literal of its sizes. Init allocates its parameters on a device and draws
// them; Forward maps an array of examples; VJP takes a cotangent of the output, returns that of the
// input and adds to the gradients of the parameters. There is no tape: a Pass is a stack on which
// Forward pushes what VJP needs. VJP pops it in reverse order, and panics with the names of both
// layers if the order is wrong.
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
// VJP returns the gradient at the input, for Langevin sampling; Pass.InputsOnly skips the others.
// All of a step is on the device, so that a device.Graph can record it.
//
// # Conventions
//
// Images are N×C×H×W. Weights have PyTorch's shapes and, unless told otherwise, its initial values,
// from the rng that Init is given; the same rng gives the same network in float32 and float64, up
// to rounding. Layers compute the same as PyTorch's of the same name. Their state (running
// statistics, singular vectors) is in Params without a gradient, which checkpoints store and
// optimisers skip. Passes that are not Training do not change state.
//
// Gradients add up, so that batches can be accumulated; sums have a fixed order, so that the same call gives the same
// bits on one device. Gradients of single examples, for DP-SGD, come as norms (Pass.Squares) and as clipped sums
// (train.ClippedGrads). Wrong shapes are mistakes of the program and panic.
//
// Seq runs an Activation in one pass over memory with the layer before it, if that is one of this
// package with a bias or a normalisation. Layers of other packages are never fused.
//
// Package arch has the networks of the papers; package nntest checks every layer against finite
// differences.
//
// Sources are given with the layers; convolutions are products of unfolded patches (Chellapilla et al. 2006).
package nn
