// Package batch draws the indices of examples for training steps, splits and
// subsets. It sees no data, only a count n, and returns indices in [0, n).
//
// The privacy of a training run rests on how its batches are drawn, so each
// sampler here has one exactly stated law and an accountant that fits it:
//
//	Poisson             each example independently with probability q; the size is Binomial(n, q), possibly 0
//	WithoutReplacement  a uniform subset of fixed size, anew at each step
//	WithReplacement     independent uniform draws; an example may occur twice
//	Epochs              a random order of all examples, cut into batches (shuffling)
//
// # A worked example
//
// DP-Sinkhorn trains on MNIST with n = 60000 and q = 50/60000, so a batch has
// 50 examples on average and 50 ± 7 typically. Poisson draws such a batch in
// some 50 steps rather than 60000 by jumping over the gaps between chosen
// examples, which are geometric.
//
// # Conventions
//
// A sampler is an endless sequence of (step, indices), where step counts from
// 0; break out of the loop to stop. The slice belongs to the sampler and is
// overwritten by the next step. Randomness comes only from the *rand.Rand; a
// sequence that is ranged over twice continues it and gives other batches.
//
// Sources: A. Mironov, K. Talwar, L. Zhang, "Rényi differential privacy of the
// sampled Gaussian mechanism" (2019) for Poisson; B. Balle, G. Barthe,
// M. Gaboardi, "Privacy amplification by subsampling" (2018) for all three
// kinds of subsampling; L. Devroye, "Non-uniform random variate generation"
// (1986), X.2 (geometric gaps) and XII.1 (random subsets).
package batch
