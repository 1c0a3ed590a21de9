// Package synth is the common interface of private generators: methods that learn a synthetic data
// set of labelled images from private ones, with differential privacy. Each method is a package
// below this one; a method of your own is a type with the methods of the interface Method.
//
//	semidual     private semi-dual transport: atoms, potentials and covariances, in seconds
//	refine       its samples, moved until their features have private moments: nearer to real ones, in minutes
//	merf         DP-MERF: one release of random features, and a network fitted to it
//	denoise      a class-conditional denoiser by DP-SGD
//	dpsinkhorn   DP-Sinkhorn: DCGAN or BigGAN, semi-debiased Sinkhorn loss, sanitised gradients at the images
//
// In a program:
//
//	public, err := synth.PublicOf(images)                                           // where their number is public
//	m, g, err := synth.Calibrate(ctx, semidual.Suggested(1, public), public, dp.Budget{Epsilon: 1, Delta: 1e-5})
//	sampler, err := m.Train(ctx, dev, images, synth.Run{Key: key, Dir: dir})        // resumes in dir if it was killed
//	synthetic, err := sampler.Sample(rng, 60_000)                           // any number of times
//
// Publication does all of it and writes a folder that can be published, with a Statement; the
// command coupling private uses it.
//
// # What is public
//
// Shape, range and classes of the private images; and every setting, with the number of steps. Their
// number is too if settings depend on it (Public.Records), as of MNIST: the promise is then for an
// image replaced by an empty one, which is in no sum, with the same event and ε. Publication uses a
// noisy number.
// Choosing settings by looking at results on private images spends budget that
// is not accounted for here. Neither the time of a step nor the machine is protected: anyone with
// the key or the memory can recover the images.
//
// # Noise and resuming
//
// All randomness of a run is a function of its key and of the values that it hides; noise is drawn
// on a grid, and the ledger is synced before each release: see package release. So a killed run,
// resumed, ends in the same weights and spends nothing twice. One process at a time can use a
// folder, and a run must account for at least the releases made there. Use a key for one run only:
// two runs with the same key share their batches, and reveal more than their events composed.
package synth
