package pld

import "errors"

var (
	// ErrInvalid marks an argument outside its range.
	ErrInvalid = errors.New("invalid argument")
	// ErrRange marks a composition whose numbers leave the range of float64, or of the grids that are permitted.
	ErrRange = errors.New("out of range")
	// ErrUnbounded marks a δ that no ε reaches: the loss is infinite with a larger probability.
	ErrUnbounded = errors.New("no finite epsilon")
)

// ulp is the unit round-off of float64.
const ulp = 1.0 / (1 << 53)
