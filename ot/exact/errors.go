package exact

import (
	"coupling/ot/internal/fault"
	"coupling/ot/internal/simplex"
)

// The kinds of error of this package, for errors.Is; they are those of package ot.
var (
	// ErrShape reports lengths that do not fit each other or are zero.
	ErrShape = fault.ErrShape
	// ErrWeights reports a weight that is negative or not finite, or weights that sum to zero.
	ErrWeights = fault.ErrWeights
	// ErrUnbalanced reports total masses that differ by more than 1e-9 of their size. It is an ErrWeights.
	ErrUnbalanced = simplex.ErrUnbalanced
	// ErrCost reports a cost that is NaN, −Inf or too large, or a point or an exponent that is not finite or out of range.
	ErrCost = fault.ErrCost
	// ErrInfeasible reports a problem that has no plan without the pairs that a cost of +Inf forbids.
	ErrInfeasible = fault.ErrInfeasible
)
