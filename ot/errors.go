package ot

import (
	"errors"

	"coupling/ot/internal/fault"
)

// The kinds of bad input, for errors.Is. Every error that the caller can correct wraps one of them
// and names the argument and its value. Packages exact, gaussian and freg return the same ones.
var (
	// ErrShape marks sizes that do not fit together, or are empty.
	ErrShape = fault.ErrShape
	// ErrWeights marks weights that are not a measure: NaN, negative, of zero total, or of unequal totals.
	ErrWeights = fault.ErrWeights
	// ErrCost marks a cost, or a point, that is NaN or −Inf, or a point that is infinite.
	ErrCost = fault.ErrCost
	// ErrParameter marks a parameter outside its range.
	ErrParameter = fault.ErrParameter
	// ErrInfeasible marks a problem that has no plan without the pairs that a cost of +Inf forbids.
	ErrInfeasible = fault.ErrInfeasible
	// ErrUnsupported marks a request that the solver, the geometry or the plan cannot answer: a
	// gradient by points that are not there, a kernel that would underflow, a device's geometry
	// after Close.
	ErrUnsupported = fault.ErrUnsupported
	// ErrUndetermined marks derivatives by weights that float64 does not determine, because atoms
	// are coupled too weakly; see Plan.Coupling.
	ErrUndetermined = errors.New("not determined in float64")
	// ErrUnconverged marks a derivative whose linear system was not solved to its tolerance.
	ErrUnconverged = errors.New("the linear system did not converge")
)

// bad builds an error of the given kind; the message gets the package's prefix.
func bad(kind error, format string, args ...any) error { return fault.OT(kind, format, args...) }
