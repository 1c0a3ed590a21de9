// Package ref is what the operations of package device mean, in float64, written from their documentation and nothing
// else: short loops over indices, no blocking, no tricks. It says for each result how large the terms were that it was
// made of, so that a test can ask for the accuracy that the arithmetic allows and no more.
//
// A Result is a value and a scale for each element. A device that rounds to unit roundoff u is right when
//
//	|got − Value| ≤ c·u·Scale
//
// with a small c that counts its roundings: Scale is |Value| for one operation, Σ|terms| for a sum, and for
// exponentials of a difference the magnitudes that the difference was taken of.
//
// Sums are compensated (Neumaier 1974) with exact products, so that float64 devices are held to something better than
// themselves.
package ref
