// Package distance compares two samples of vectors: how far apart their distributions are, and
// which of them lacks what.
//
//	Frechet   squared Wasserstein distance of Gaussians fitted to both
//	KID       squared maximum mean discrepancy with the cubic kernel, unbiased, with a standard error
//	Coverage  precision and recall, density and coverage, from balls around nearest neighbours
//	Between   all of them for two sets of images in given features
//
// # A worked example
//
// A generator that draws only the digit 1, well, has precision near 1 and recall near a tenth: each of its images lies
// among real ones, and nine tenths of the real images lie among none of its. Frechet and KID see the same as one number
// each, larger than that of two halves of the real images, which is what to compare with: Frechet is biased upwards by
// something of the order 1/n, KID is not, and is often negative for equal distributions.
//
// The Fréchet distance of synthetic digits in the features of a LeNet trained on MNIST:
//
//	lenet, err := eval.Classifier{Kind: eval.LeNet}.Fit(ctx, dev, train, rng)
//	r, err := distance.Between(ctx, lenet, synthetic, test)
//	fmt.Println("FD-"+r.Features, r.Frechet)
//
// # Conventions
//
// A distance is named after its features and comparable only between the same weights, so the name of learnt features
// ends in a digest of the weights: LeNet-1a2b3c4d. "FID" is what the literature calls the distance in the features of
// one file of Inception weights (package inception); nothing else may be called so.
//
// Samples are rows of *mat.Dense; the real one and the generated one are named where it matters. Frechet is the square,
// as FIDs are. Nothing depends on the order of rows but by rounding, nor on the number of processors.
//
// Sources: Heusel et al. (2017), "GANs trained by a two time-scale update rule", equation 6;
// Bińkowski et al. (2018), "Demystifying MMD GANs", §4; Gretton et al. (2012), "A kernel two-sample
// test", equation 3; Kynkäänniemi et al. (2019), "Improved precision and recall metric", equations
// 1 and 2; Naeem et al. (2020), "Reliable fidelity and diversity metrics", equations 3 to 5; Efron
// and Stein (1981), "The jackknife estimate of variance".
package distance
