// Package score samples probability densities by their scores ∇ log p.
//
//	Field       ∇ log p_σ, the score of a density convolved with N(0, σ²I), for a batch of points
//	Gaussian, Mixture, Empirical   exact fields; package score/dsm learns one by denoising score matching
//	            Empirical.On and networks compute where chains lie on a GPU (DeviceField)
//	Langevin    Langevin dynamics at one noise level or annealed over many, and a denoising step
//	MALA        the same with a Metropolis test: exact, whatever the step
//
// # Example
//
// A mixture of N(−2, ½) and N(2, ½) on the line is a Mixture; Start makes a Chain of 1000 points,
// all at zero, and Langevin{Step: .02, Steps: 1000}.Run moves them: x += a s(x) + √(2a) z. Half end
// at either side, each side with variance ½ up to the bias of the step, which for a Gaussian of
// variance v is the factor 1/(1 − a/2v). MALA adds the Metropolis test to such steps and reports
// how often it rejects them.
//
// # Two step conventions
//
// Papers and codes write the same dynamics with steps that differ by a factor of two:
//
//	Unhalved    x += a s + √(2a) z         Langevin's equation, NCSNv2, the code of SCONES on images
//	Halved      x += (ε/2) s + √ε z        Song and Ermon 2019, Algorithm 2 of SCONES, its code on Gaussians
//
// Halved with ε = 2a is Unhalved with a. Annealed, the step at noise level σ is Step·(σ/σ_last)².
//
// # Chains that can be stopped
//
// A Chain is points, a seed and the number of steps done. The noise of a step is a function of the
// seed and the number of that step, so a run that was cancelled and resumed gives the same bits as
// an uninterrupted one, for any number of processors. Rows are independent chains. Langevin and MALA
// with a Path store the chain as they run, and resume from there if the process was killed; a file
// of other arguments is refused.
//
// # Sources
//
// Song and Ermon, "Generative modeling by estimating gradients of the data distribution" (2019) and
// "Improved techniques for training score-based generative models" (2020); Jolicoeur-Martineau et
// al., "Adversarial score matching and improved sampling for image generation" (2021), for the
// denoising step; Roberts and Tweedie (1996) for MALA.
package score
