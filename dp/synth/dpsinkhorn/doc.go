// Package dpsinkhorn is DP-Sinkhorn, a method of package synth: it moves a generator of images
// along the sanitised gradient of a transport loss between its images and private ones. The
// published accounting and the correct one are kept separate.
//
//	t := dpsinkhorn.Training{
//		Net:  dpsinkhorn.Net{DCGAN: &arch.DCGAN{Latent: 12, Embed: 4}},
//		Loss: dpsinkhorn.Loss{L1: 1, Fresh: .4}, Sanitiser: dpsinkhorn.WholeBatch{NoiseMultiplier: 1.1},
//		Rate: 50./60000, Steps: 160_000, Adam: train.Adam{Rate: 1e-4, Decay: 2e-5},
//	}
//	event, err := t.Event(public)                               // for dp.Epsilon
//	g, err := t.Train(ctx, dev, images, synth.Run{Key: key, Dir: "run"})
//	synthetic, err := g.Sample(rng, 60_000)
//
// A step draws a Poisson batch of private images, generates n + ⌊p·n⌋ images, takes the gradient of
// the loss at the images, clips it and adds noise (the release), and goes back through the network
// from there: post-processing. See WholeBatch for the sensitivity that holds, and PerRow for the
// published one, which does not.
//
// # Cost
//
// At the paper's size a step is 22 GFLOP, .3 to .7 s on two cores. The gradient, 39,200 numbers,
// goes to the host and back for its noise, which is drawn exactly and therefore there: 200 ns a
// value on one core.
//
// Source: T. Cao, A. Bie, A. Vahdat, S. Fidler, K. Kreis, "Don't generate me: training
// differentially private generative models with Sinkhorn divergence" (NeurIPS 2021), and
// nv-tlabs/DP-Sinkhorn_code.
package dpsinkhorn
