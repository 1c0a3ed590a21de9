// Package refine makes the samples of package semidual look like images: each sample moves by gradient
// descent until what fixed filters see of it is what Gaussian transport makes of it, from the law of
// samples to that of the private images, whose moments are one further release. No public images are used.
// Where the budget is too small for the semi-dual, samples start as random shapes (Shapes).
//
//	c, g, err := synth.Calibrate(ctx, refine.Suggested(1, public), public, dp.Budget{Epsilon: 1, Delta: 1e-5})
//	s, err := c.Train(ctx, dev, images, synth.Run{Key: key})       // half a minute on one core
//	synthetic, err := s.Sample(rng, 60_000)                        // minutes
//
// # The mechanism
//
// 1. The semi-dual is trained with a part of the budget. Its samples are as private as its releases. With Shapes there is no such
// training: samples are overlapping ellipses and boxes of random colours, which are drawn without the private images.
//
// 2. Filters for edges in eight directions, for bright and for dark lines in four, and for brightness see an image. The square roots
// of the means of their positive parts in cells of 4×4 pixels, on the leading principal axes of samples with public scales and about
// their mean over samples of the class, are the coordinates u of an image, and z = u·min(1, 1/|u|). Filters are constants; the rest
// is a function of samples.
//
// 3. The one further release, on all records, is for each class Σ_y [ γ, β·z(y) ], and over all classes Σ_y √(1−β²−γ²)·z(y)z(y)ᵀ,
// as the upper triangle with √2 off the diagonal, all with noise N(0, σ²). It gives the mean of each class and the covariance within
// classes, from which noise is removed by means of its known spectrum.
//
// 4. The Gaussian transport map from the samples' covariance to that one, and a shift to the class's mean, map the coordinates of a
// sample to those of an image. Some steps of Adam change its pixels towards them.
//
// 5. With TeacherShare > 0 there are further releases: multinomial logistic regression on the coordinates, the teacher, by gradient descent on
// all records. A step releases Σ_y r(y) ⊗ (p(y) − e_label)·min(1, C/|p(y) − e_label|) with noise N(0, C²σ'²), C = ½, where r(y) are the
// coordinates about the samples' mean over their spread, clipped, and the constant ¼, so that |r| ≤ 1, and p are the class probabilities.
// Targets of step 4 then move on, as little as the variances of samples have it, to where the teacher prefers the sample's class by a
// margin, and a moved sample gets the label that the teacher gives it.
//
// # Privacy
//
// One record more or less, image and label, moves the sums of step 3 by one bracket in one class and by one zzᵀ in what all classes
// share. The squared norm is γ² + β²|z|² + (1−β²−γ²)|zzᵀ|² ≤ 1, since |zzᵀ|_F = |z|² ≤ 1. In arithmetic z is rounded towards 0 to
// multiples of 2⁻¹³, so that sums of z and of zzᵀ are exact in float64 for up to 2²⁷ records, in any order. Features are computed in
// batches of one shape, so that one record does not change another's part where a device treats all rows alike, as the CPU and the
// kernels here do. Features that are not finite count as 0. So the release is the Gaussian mechanism of multiplier σ, which composes
// with those of the semi-dual.
//
// One record more or less moves the sum of step 5 by one outer product, of norm |r|·|p − e|·min(1, C/|p − e|) ≤ C, since p is a
// function of the record and of earlier releases: the sum is divided by the noisy number of records that step 3 released. Both factors
// are rounded towards 0 to multiples of 2⁻¹³, so that these sums are exact too, and each step is a Gaussian mechanism. All else is
// post-processing.
//
// # What it is worth
//
// On test images, one training each, at ε = 10, 1 and 0.3 and δ = 1e-5. DP-Sinkhorn's CNN reads, in percent, trained for two epochs on
// 60,000 images of clothes with a texture, and on 20,000 of handwriting:
//
//	clothes      84.6  82.3  78.6    83.6  81.3  79.8 without moves (three trainings; with moves at ε ≥ 1 too)
//	handwriting  97.3  96.6  95.2    96.9  96.2  95.4
//
// At ε = 0.3 the moves of clothes are of five atoms a class. Textured has one Gaussian there now, on which moves are worth about as much
// as without: of 20,000 images each, held-out ones are read at 79.5 and 79.2 % with them and at 79.7 and 80.0 % without (two keys), and at
// 77.2 and 78.6 % where five atoms a class are moved.
//
// On 60,000 of handwriting it reads 98.1 ± .1 and 97.5 ± .3 at ε = 10 and 1 (three keys), and of held-out training images 97.8 and 97.2,
// where the semi-dual alone teaches 97.5 and 97.0.
// FD-LeNet of handwriting is 13.2, 19.4 and 23.0, and 37.9, 49.1 and 51.4 without moves; of clothes it is 3.7, 4.0 and 5.7. That handwriting
// is at most half as far is a claim of dpsinkhorn/tab1 at full.
//
// The teacher is worth it in colour, at a large budget. By the same CNN after three epochs on 20,000 images, held-out pictures of CIFAR-10,
// 8,333 records and ε = 10, one training each: 44.4 % with it, 38.0 without, 36.5 the semi-dual alone. At ε = 1 it is worth nothing there
// (25 to 28 %, and 27 alone), unless samples start as Shapes: 31.2 and 31.9 % (two keys, two trainings each), and
// 35.2 ± .5 % of the test pictures after two epochs on 60,000 images made of all 10,000 records (three keys; 45.0 ± .3 at ε = 10, from
// samples of the semi-dual). At ε = 10 Shapes are worse, 41 % (one training).
// On clothes and handwriting the teacher is worth nothing, neither at ε = 1 nor, on clothes, at 10.
// It holds a table of records, 2.4 kB each at 300 coordinates, and takes some 15 s for 60,000.
//
// Settings were chosen on held-out training images. One covariance for all classes is worth more at ε = 1 than one for each, and a
// U-Net for all samples, fitted to the same moments in one untuned run, was worth less.
//
// Sources: Dalal, Triggs, "Histograms of oriented gradients for human detection" (2005); for shapes Baradad, Wulff, Wang, Isola,
// Torralba, "Learning to see by looking at noise" (2021).
package refine
