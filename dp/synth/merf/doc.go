// Package merf is DP-MERF (Harder, Adamczewski, Park, AISTATS 2021): one private release of the
// mean of random features for each class, and a generator fitted to it. It is a baseline for
// DP-Sinkhorn and the semi-dual.
//
//	c, g, err := synth.Calibrate(ctx, merf.Config{}, public, dp.Budget{Epsilon: 1, Delta: 1e-5})
//	gen, err := c.Train(ctx, dev, images, synth.Run{Key: key})
//	synthetic, err := gen.Sample(rng, 60000)
//
// With frequencies w_k ~ N(0, I/Length²) the features of an image x in [0, 1]^d are φ(x) =
// √(2/D)[cos w_k·x, sin w_k·x], a vector of norm 1. The one release, on all records, is
//
//	Σ_y [ α·φ(y)⊗onehot(label),  β·onehot(label) ] + N(0, σ²),   α² + β² = 1.
//
// Sensitivity: one record more or less, image and label, moves the sum by its own bracket, of norm
// 1. The rest is post-processing: the generator minimises Σ_c |μ_c − mean φ(generated of class
// c)|², μ_c being the noisy sum over the noisy count. Sums are of coordinates rounded to a grid,
// and products have one shape whatever the number of images, so that one record does not change
// another's part. This holds if a device treats all rows of a product alike, as the CPU and the
// kernels here do.
//
// The generator is that of the published code for 28×28 images; for other sizes it is dense.
// Frequencies, initial weights and codes are public randomness.
package merf
