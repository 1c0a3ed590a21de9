// Package arch is the networks of the papers, as struct literals of their sizes; smaller ones are
// the same literals with smaller numbers.
//
//	DP-Sinkhorn      DCGAN, BigGAN; Logistic, Perceptron, CNN and TwoConvolutions for its evaluation
//	SCONES           Critic for potentials; BarycentricPixels and BarycentricImages for projections;
//	                 NCSN and NCSNv2 for scores
//	anything else    MLP; Example, which is PyTorch's for MNIST; Gradients and Scattering, which are fixed
//
// Each has a method Net, or is a function, that returns a layer of package nn, not yet initialised:
//
//	score := arch.NCSN{Channels: 1, Features: 64, Levels: 10}.Net()
//	score.Init(dev, device.Float32, rng)
//	s := score.Forward(&nn.Pass{Class: levels}, y) // ∇ log p of y at the noise levels
//
// Where a paper and its published code differ, the code is built, since it was measured, and the
// comment says in what the paper differs (TwoConvolutions is of the paper). Numbers of parameters
// are tested against those of the originals.
//
// Sources: Cao et al. (2021) and nv-tlabs/DP-Sinkhorn_code; Daniels et al. (2021) and mdnls/scones; Radford et al.
// (2016); Brock et al. (2019); Song and Ermon (2019, 2020); Lin et al. (2017) for RefineNet; pytorch/examples, mnist.
package arch
