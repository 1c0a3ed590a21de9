// Package dsm learns scores: a network on a device becomes a score.Field by denoising score matching.
//
//	loss = E ½ σ² |s_θ(x + σz, σ) + z/σ|²,     x a point of the data, z ~ N(0, I), σ uniform over the noise levels
//
// whose minimiser is s(y, σ) = ∇ log p_σ(y), p_σ the data smoothed by N(0, σ²I) (Vincent 2011; Song and Ermon 2019).
//
// # Example
//
// Points of a mixture in the plane are the rows of a matrix. DenoisingMLP(mean, spread, levels, 64,
// 1) is a network that learns the difference from a Gaussian with the data's mean and variance; an
// embedding gives it the noise level. Training{Steps: 2000}.Run fits it. The returned Network is a
// Field with the moving average of the weights, which score.Langevin{Levels: levels} samples like
// the exact field. DenoisingUNet is the same for images. With Training.Base, a mixture of
// score.FitMixture for instance, a network learns only what that field lacks.
//
// # Conventions
//
// Networks take the number of a noise level in Pass.Class and return the score itself: arch.NCSN,
// arch.NCSNv2, or a Denoiser. For a σ between levels a field returns the score of the level nearest
// in log σ. Batches, levels and noise of a step are functions of the seed and the number of that
// step, so that a run that was killed and resumed gives the same bits on one device. A checkpoint
// identifies its run by data, levels, rates and seed; that of another run is refused.
//
// Sources: Karras et al., "Elucidating the design space of diffusion-based generative models"
// (2022); Vincent, "A connection between score matching and denoising autoencoders" (2011); Song
// and Ermon (2019, 2020); the public code of SCONES for the weights of the loss.
package dsm
