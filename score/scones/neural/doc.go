// Package neural has networks in the place of the potentials of package scones: Algorithm 1 and the barycentric projection
// of "Score-based generative neural networks for large-scale optimal transport" (2021), on a device.
//
//	Net          a potential φ_θ: scones.Potential for sampling, scones.Model for Algorithm 1
//	Training     both potentials by scones.Ascent, stored and resumed bit for bit
//	Projection   a network T with E_π |T(x) − y|² least: where x goes on average; stored and resumed likewise
//
// # An example in words
//
// Points of two distributions are the rows of x and y. Training{Ascent: scones.Ascent{Compatibility: {Lambda: 2}, Steps:
// 2000}, Hidden: []int{256, 256, 256}}.Run moves two arch.Critic networks up the dual; its result holds them as Phi and Psi
// of a scones.Coupling, whose Target is a score.Field: exact, or a dsm.Network.
//
// # Conventions
//
// Networks compute in float32 and potentials leave them as float64. A Net belongs to one goroutine at a time, as its device
// does. Its output is multiplied by λ, so that what is learnt is V/λ, of order one; the paper's networks put out V itself,
// for which Unscaled is. Batches are functions of the seed and the step.
//
// Sources: Seguy et al., "Large-scale optimal transport and mapping estimation" (2018), and the public code of SCONES for
// architectures and batches.
package neural
