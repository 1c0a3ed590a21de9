// Package laplacian solves the linear systems of transport plans as networks of conductances,
// without subtracting conductances.
//
// The system behind every derivative of a plan T, and every Newton step towards one, is
//
//	Diag(T1) u + T v = r,   Tᵀu + Diag(Tᵀ1) v = q,
//
// or, with u eliminated, D v = q − Tᵀ(r/T1), where D = Diag(Tᵀ1) − Tᵀ Diag(1/T1) T is the Laplacian
// of a network on the targets with conductances W_jl = Σᵢ T_ij T_il / (T1)ᵢ. Where blocks of atoms
// hardly exchange mass, D is singular to working precision, yet the solution is well determined: it
// consists of potential differences driven by currents that cross the same weak links. So currents
// are stored by link, antisymmetric, as I_jl, and elimination combines only W and I, by additions
// of terms that do not cancel (the idea of Grassmann, Taksar and Heyman 1985).
//
// Assemble makes the network of a plan. Eliminate solves it to a few units in the last place for
// every plan, with m³/2 multiplications. Cholesky solves it at the speed of BLAS, and reports when
// its result is not to be trusted.
package laplacian
