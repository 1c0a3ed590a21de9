// Package semidual learns a synthetic data set from private labelled images by private semi-dual transport: sums over
// examples, as in DP-SGD, so that everybody can be in every step and noise shrinks as the data grows.
//
// # In words
//
//	c, g, err := synth.Calibrate(ctx, semidual.Suggested(1, public), public, dp.Budget{Epsilon: 1, Delta: 1e-5})
//	m, err := c.Train(ctx, dev, images, synth.Run{Key: key})      // seconds on two cores
//	synthetic, err := m.Sample(rng, 60000)                        // as often as one likes: post-processing
//
// # The mechanism
//
// For atoms x_1 … x_n with labels and potentials v the semi-dual of entropic transport from the atoms, uniform, to the
// data (Genevay et al. 2016) is
//
//	E_y[ −reg·log Σ_i exp((v_i − |x_i−y|²)/reg) ] + mean v,
//
// where the sum is over the atoms of y's own label: the label is a part of the example, and as private. Its gradients
// are sums over examples, each of which acts alone through w(y) = softmax_i((v_i − |x_i−y|²)/reg):
//
//	∂/∂v_i = 1/n − E_y w_i(y),      ∂/∂x_i = 2 E_y w_i(y)(x_i − y).
//
// That is what DP-Sinkhorn's own loss lacks, where the plan of a batch couples all its examples. A step releases
//
//	Σ_{y in batch} [ β·w(y),  √(1−β²)/C · s(y)⊗(y−x) ] + N(0, σ²),   s = w·min(1, C/√Σ_i w_i²|y−x_i|²).
//
// # Sensitivity
//
// Inserting or removing one record, image and label, changes the sum by one bracket, whose squared norm is at most
// β²|w|₂² + (1−β²)/C²·|s⊗(y−x)|₂² ≤ β² + (1−β²) = 1: |w|₂ ≤ |w|₁ ≤ 1 without any clipping, and the second part is
// clipped over the whole n×d tensor. An example does not move atoms of other labels, so this holds whatever the label is.
// So the step is the Gaussian mechanism of multiplier σ, on a Poisson batch where Rate < 1, for the relation of one
// record more or less; nothing about it is in dispute.
//
// In arithmetic: coefficients are rounded to a grid before anything else and weights downwards to another, so that inner
// products and sums are exact in float64, whatever the order and the device: no record moves another's part by a bit. Noise is
// drawn on a grid by package noise. An empty batch is a sum of 0 with noise like any other, and the release has the
// same shape whatever the batch.
//
// Covariances are two further releases, on all records: Σ aaᵀ·min(1, C₂/|a|²)/C₂ with a = y − x_j for the likeliest
// atom j of y's label, as upper triangles with √2 off the diagonal, so that the Euclidean norm of a record's part is the
// Frobenius norm, at most 1. All of these compose to one exact ε in package dp.
//
// What is computed from releases is free. Atoms are clamped to images, and grown from the class mean by splitting along the class's
// covariance, so that none is lost in the noise; at the end they are filtered by that covariance. Debias pushes them apart by their
// transport to themselves. Samples are atoms with Gaussian steps of the local covariance, from which noise is removed by what is known
// of its spectrum. Samples then get the contrast of images (Tone); the figure dpsinkhorn/utility measures what samples are worth.
//
// # Sources
//
// Genevay, Cuturi, Peyré, Bach, "Stochastic optimization for large-scale optimal transport" (2016) for the semi-dual;
// Abadi et al. (2016) for noisy sums of clipped parts; Capitaine, Donati-Martin, Féral, "The largest eigenvalues of finite
// rank deformation of large Wigner matrices" (2009). Cao et al., "Don't generate me" (2021) is what it competes with.
package semidual
