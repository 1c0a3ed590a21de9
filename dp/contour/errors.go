package contour

import (
	"fmt"

	"coupling/dp/internal/check"
	"coupling/dp/internal/logspace"
	"coupling/dp/pair"
)

// Errors of this package. All are pair.ErrNotApplicable.
var (
	// ErrUnsupported marks a pair whose loss this accountant does not handle.
	ErrUnsupported = fmt.Errorf("unsupported pair: %w", pair.ErrNotApplicable)
	// ErrAtoms marks a loss that takes some values with positive probability: its characteristic function does
	// not decay, so that no finite contour determines δ. Use package pld.
	ErrAtoms = fmt.Errorf("privacy loss has atoms: %w", pair.ErrNotApplicable)
	// ErrDecay marks a composition whose characteristic function decays too slowly for its tail to be bounded
	// below the tolerance within the permitted work. Use package pld.
	ErrDecay = fmt.Errorf("characteristic function decays too slowly: %w", pair.ErrNotApplicable)
	// ErrCost marks a composition that needs more quadrature nodes than are permitted.
	ErrCost = fmt.Errorf("too many quadrature nodes: %w", pair.ErrNotApplicable)
)

var bad = check.In("contour").Bad

const ulp = logspace.Ulp
