// Package denoise trains a class-conditional denoiser of images by DP-SGD and samples from it. It
// is the baseline of plain DP-SGD for the methods based on transport. Its loss is a sum over
// private images, each with its own noise, so that clipping an image's gradient bounds its
// influence (package dp/sgd).
//
//	c, g, err := synth.Calibrate(ctx, denoise.Suggested(1, public), public, dp.Budget{Epsilon: 1, Delta: 1e-5})
//	gen, err := c.Train(ctx, dev, images, synth.Run{Key: key})           // half a minute on two cores
//	synthetic, err := gen.Sample(rng, 6000)
//
// # The loss
//
// Images are coefficients x of low frequencies (semidual.Basis). With s, log-uniform on [Least,
// Most], and Gaussian n the network F sees x + s·n, log s and the label as onehot, and
//
//	loss = ½ Σ_k w_k (F_k − F*_k)²,   D_k = skip_k (x + s·n)_k + out_k F_k,   F*_k the F with D = x,
//	skip = d²/(s²+d²),   out = s·d/√(s²+d²),   d_k = Prior/(1 + (f_k/Bend)²),   w_k = d_k/Prior,
//
// (Karras et al. 2022, with a spread d_k for each coefficient, which is a guess about images in
// general and not a function of these). Samples follow the ordinary differential equation dx/ds =
// (x − D(x, s))/s from s = Most down to Least by Heun's rule, labels in turn: class proportions are
// not learnt and cost no budget.
//
// # Privacy
//
// That of dp/sgd: one image with its label more or less, Poisson batches, event
// dp.SGD(NoiseMultiplier, Batch/Records, Steps). Noise levels and n come from the key, separately for
// each image and step. Shape, range and classes of images are public, and Records, which need not be
// their exact number.
//
// Sources: Abadi et al. (2016); Karras, Aittala, Aila, Laine, "Elucidating the design space of
// diffusion-based generative models" (2022); Dockhorn, Cao, Vahdat, Kreis, "Differentially private
// diffusion models" (2023), whose networks are much larger and train for hours on GPUs.
package denoise
