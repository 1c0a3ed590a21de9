package pld

import (
	"fmt"

	"coupling/dp/internal/check"
	"coupling/dp/internal/logspace"
	"coupling/dp/pair"
)

// ErrRange marks a composition whose numbers leave the range of float64, or of the grids that are permitted. It is pair.ErrNotApplicable.
var ErrRange = fmt.Errorf("out of range: %w", pair.ErrNotApplicable)

var bad = check.In("pld").Bad

const ulp = logspace.Ulp
