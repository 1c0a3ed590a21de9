// Package pld accounts for any dominating pair by privacy-loss distributions on a grid: an interval
// for ε or δ whose upper end is pessimistic and whose lower end is optimistic, both certified.
//
// # Example
//
// The privacy loss of a composition is a sum of independent losses: put each on a grid, transform, take the T-th power,
// transform back.
//
//	p, _ := pair.Poisson(pair.Laplace, 2, 0.01, 0, 1)
//	b, err := pld.Accountant{}.Bound(ctx, []pair.Step{{Pair: p, Times: 10_000}}, pair.EpsilonAt(1e-6))
//	// the exact ε is in [b.Lower, b.Upper]
//
// # Two grids
//
// A pair is determined by δ as a function of e^ε, which is convex. The pessimistic loss has as its
// profile the chords between nodes on the grid ("connect the dots"); it dominates. The optimistic
// loss has a piecewise linear profile with corners at the same nodes that stays below a tangent of
// δ in every cell; it is dominated. Both have errors of the order of the square of the cells'
// width, so the interval is narrow; rounding losses down instead has an error of the order of the
// width, and usually gives ε = 0. Cells are fine where they decide the composed loss and coarse
// elsewhere; all are multiples of one bin.
//
// # What is certified
//
//   - Values of δ enter with the error that the pair states (RelErr) and rounding, on the safe side; masses are
//     built outside in, so that nothing cancels.
//   - The convolution works on the loss tilted by e^{sL}, with s chosen for the question: the
//     masses that decide δ = 1e-100 are then of order one, far above the round-off of the
//     transform, whose bound is raised to the powers too.
//   - Of many steps only the lowest frequencies count, where the others are certain to be negligible
//     (waves.go); else all are transformed, in powers of two.
//   - The grid is cyclic; the mass that wraps around is bounded by Chernoff's bound on the discrete
//     losses. It can only raise the pessimistic value, and is subtracted from the optimistic one.
//   - Losses beyond the last node, and infinite ones, are counted as infinite.
//
// Where a bin is wider than the range of all negative losses (rare sampling, too few bins) the only
// optimistic measure with its corners on the grid is the trivial one. Lower is then the power of
// the test that some step's loss exceeds a threshold (largest.go), which is nearly exact where
// single steps decide. Upper is not affected.
//
// Where a single large loss decides a tiny δ (at a rate of 1e-6) no tilt has much of its mass at
// the answer and the interval stays wide. Then the answer comes from products of laws on grids of
// their own (direct.go, law.go, jumps.go), which take hundredths of a second to one. Sums of such laws
// are random allocations: Allocated.
//
// Bins and cells are refined until the interval is as narrow as asked for or no bins are left. An
// error means that nothing was certified.
//
// # Conventions
//
// Natural logarithms; δ and ε in the direction of the pairs, as in package contour. The cost
// depends on the grid, not on how often a step is repeated.
//
// # Sources
//
// Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots: tighter discrete approximations
// of privacy loss distributions" (PETS 2022). Koskela, Jälkö, Honkela, "Computing tight
// differential privacy guarantees using FFT" (AISTATS 2020). Gopi, Lee, Wutschitz, "Numerical
// composition of differential privacy" (NeurIPS 2021) for what an enclosure should be. Tilting
// before a convolution: Gerber and Shiu, "Option pricing by Esscher transforms" (1994).
package pld
