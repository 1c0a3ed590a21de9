// Package batch draws the indices of examples for training epochs, splits and
// subsets. It sees no data, only a count n, and returns indices in [0, n).
//
//	All      every index, in order
//	Epochs   a random order of all examples, cut into batches
//	Subset   k of n examples, each subset equally likely
//	Split    disjoint random parts
//
// Private training draws its batches in package dp/release, beside what accounts
// for them. Randomness comes only from the *rand.Rand: ranging over a sequence
// twice continues it and gives other batches.
//
// Source: L. Devroye, "Non-uniform random variate generation" (1986), XII.1
// (random subsets).
package batch
