// Package neural uses networks as the potentials of package scones: Algorithm 1 and the barycentric
// projection of "Score-based generative neural networks for large-scale optimal transport" (2021),
// on a device.
//
//	Net          a potential φ_θ: scones.Potential for sampling, scones.Model for Algorithm 1
//	Training     both potentials by scones.Ascent, stored and resumed bit for bit
//	Projection   a network T with E_π |T(x) − y|² least: where x goes on average; stored and resumed likewise
//
// # Example
//
// Points of two distributions are the rows of x and y. Training{Ascent:
// scones.Ascent{Compatibility: {Lambda: 2}, Steps: 2000}, Hidden: []int{256, 256, 256}}.Run moves
// two arch.Critic networks up the dual; its result holds them as Phi and Psi of a scones.Coupling,
// whose Target is a score.Field: exact, or a dsm.Network.
//
// # Conventions
//
// Networks compute in float32 and potentials leave them as float64. A Net belongs to one goroutine
// at a time, as its device does. Its output is multiplied by λ, so that the network learns V/λ,
// which is of order one. The paper's networks return V itself; set Unscaled for that. Batches are
// functions of the seed and the step.
//
// Sources: Seguy et al., "Large-scale optimal transport and mapping estimation" (2018), and the
// public code of SCONES for architectures and batches.
package neural
