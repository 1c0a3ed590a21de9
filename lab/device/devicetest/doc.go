// Package devicetest holds devices to what package device promises.
//
//	func TestMine(t *testing.T) {
//		devicetest.Run(t, func(tb testing.TB) *device.Device { … open … })
//	}
//
// Run does every operation, in float32 and float64, on random data of awkward shapes (0, 1, primes, one more and one
// less than a power of two), in arrays of their own and in views at odd offsets with guarded borders, and compares with
// references in float64 that are written from the documentation (package ref beside this one). Then it does everything
// again, in another order and with another GOMAXPROCS, and demands the same bits; then memory, scopes, recorded graphs,
// errors and what closing does.
//
// Two devices that pass agree: within both tolerances, random numbers bit for bit. Same demands all
// bits of two devices that differ in nothing that a result may depend on, such as the number of
// workers.
//
// # Tolerances
//
// A result passes within c·u·scale of its reference, where u is the unit roundoff (2^−24, 2^−53), scale is the size of
// the terms that the result was made of, and c counts roundings: see near. Copies, comparisons and single operations
// of IEEE 754 must be exact.
package devicetest
