// Package synth is the common face of private generators: methods that learn a synthetic data set of labelled images from private
// ones, with differential privacy. Each method is a package below this one, and one of your own is a type with the five functions of
// Method.
//
//	semidual     private semi-dual transport: atoms, potentials and covariances, in seconds
//	merf         DP-MERF: one release of random features, and a network fitted to it
//	denoise      a class-conditional denoiser by DP-SGD
//	dpsinkhorn   DP-Sinkhorn: DCGAN or BigGAN, semi-debiased Sinkhorn loss, sanitised gradients at the images
//
// In a program:
//
//	public, err := synth.PublicOf(images)                                           // what is told whatever ε is
//	m, g, err := synth.Calibrate(ctx, semidual.Suggested(1, public), public, dp.Budget{Epsilon: 1, Delta: 1e-5})
//	sampler, err := m.Train(ctx, dev, images, synth.Run{Key: key, Dir: dir})        // goes on in dir where it was killed
//	synthetic, err := sampler.Sample(rng, 60_000)                                   // as often as one likes: post-processing
//
// Publication does all of it and writes a folder that can be given away, with a Statement: the command coupling private.
//
// # What is public
//
// The number of private images, their shape, range and classes (Public); and every setting, with the number of steps. Choosing
// settings by looking at results on private images spends budget that no accountant here sees. The time that a step takes is not
// protected, nor is the machine: whoever has the key, or the memory, has the images.
//
// # Noise and resuming
//
// All randomness of a run is a function of its key and of what it hides; noise is drawn on a grid, and the ledger is synced before each
// release: see package release. So a run that is killed ends in the same weights and spends nothing twice. A folder serves one process
// at a time, and no run of fewer releases than were made there. One key serves one run: two with the same key share their batches, and
// reveal more than their events composed.
package synth
