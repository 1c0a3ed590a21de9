// Package dpsinkhorn trains generators of images from private ones by transport, with differential privacy: the method
// of Cao et al. (2021), its two accountings kept apart, and beside it mechanisms that get more out of the same ε.
//
//	synth/dpsinkhorn     algorithm 1: DCGAN or BigGAN, semi-debiased Sinkhorn loss, sanitised gradients at the images
//	synth/semidual       private semi-dual transport: atoms, potentials and covariances, in seconds
//	synth/merf           DP-MERF: one release of random features, as a competitor
//	synth/denoise        a class-conditional denoiser by DP-SGD, as another
//
// # In words
//
//	t := dpsinkhorn.Training{
//		Net:  dpsinkhorn.Net{DCGAN: &arch.DCGAN{Latent: 12, Classes: 10, Embed: 4}},
//		Loss: dpsinkhorn.Loss{L1: 1, Fresh: .4}, Sanitiser: dpsinkhorn.WholeBatch{Multiplier: 1.1},
//		Rate: 50./60000, Steps: 160_000, Adam: train.Adam{Rate: 1e-4, Decay: 2e-5}, Dir: "run",
//	}
//	event, err := t.Event()                                     // what dp.Epsilon asks for
//	g, err := t.Run(ctx, dev, images, 10, key)                  // goes on where it was killed
//	synthetic, err := g.Sample(rng, 60_000)
//
// A step draws a Poisson batch of private images, generates n + ⌊p·n⌋ images, takes the gradient of the loss at the
// images, clips it and adds noise (the release), and goes back through the network from there: post-processing. See
// WholeBatch for the sensitivity that holds, and PerRow for the one that was published and does not.
//
// # What is public
//
// The number of private images, their shape, range and classes; and every setting, with the number of steps. Choosing
// settings by looking at results on private images spends budget that no accountant here sees. The time that a step
// takes is not protected, nor is the machine: who has the key, or the memory, has the images.
//
// # Noise and resuming
//
// All randomness of a run is a function of its key and of what it hides; noise is drawn on a grid, and a ledger is synced
// before each release: see package release. So a run that is killed ends in the same weights and spends nothing twice. Dir serves
// one process at a time, and no run of fewer steps than were spent there. One key serves one run: two with the same key share
// their batches, and reveal more than their events composed.
//
// # Cost
//
// At the paper's size a step is 22 GFLOP, .3 to .7 s on two cores. The gradient, 39,200 numbers, goes to the host and back for
// its noise, which is exact and so made there: 200 ns a value and core.
//
// Source: T. Cao, A. Bie, A. Vahdat, S. Fidler, K. Kreis, "Don't generate me: training differentially private generative
// models with Sinkhorn divergence" (NeurIPS 2021), and nv-tlabs/DP-Sinkhorn_code.
package dpsinkhorn
