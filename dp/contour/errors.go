package contour

import "errors"

var (
	// ErrInvalid marks an argument outside its range.
	ErrInvalid = errors.New("invalid argument")
	// ErrUnsupported marks a pair whose loss this accountant does not handle.
	ErrUnsupported = errors.New("unsupported pair")
	// ErrAtoms marks a loss that takes some values with positive probability: its characteristic function does
	// not decay, so that no finite contour determines δ. Use package pld.
	ErrAtoms = errors.New("privacy loss has atoms")
	// ErrDecay marks a composition whose characteristic function decays too slowly for its tail to be bounded
	// below the tolerance within the permitted work. Use package pld.
	ErrDecay = errors.New("characteristic function decays too slowly")
	// ErrCost marks a composition that needs more quadrature nodes than are permitted.
	ErrCost = errors.New("too many quadrature nodes")
)

// ulp is the unit round-off of float64.
const ulp = 1.0 / (1 << 53)
