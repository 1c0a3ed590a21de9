package ot

import (
	"errors"
	"fmt"
)

// The kinds of bad input, for errors.Is. Every error of this package that is the caller's to mend wraps one of them
// and names the argument and its value.
var (
	// ErrShape marks sizes that do not fit together, or are empty.
	ErrShape = errors.New("sizes do not match")
	// ErrWeights marks weights that are not a measure: NaN, negative, of zero total, or of unequal totals.
	ErrWeights = errors.New("weights are not a measure")
	// ErrCost marks a cost, or a point, that is NaN or infinite.
	ErrCost = errors.New("cost is not finite")
	// ErrParameter marks a solver's parameter outside its range.
	ErrParameter = errors.New("parameter out of range")
	// ErrUnderflow marks a problem that kernel scaling cannot represent.
	ErrUnderflow = errors.New("kernel underflows")
	// ErrUnsupported marks a request that the plan's geometry cannot answer.
	ErrUnsupported = errors.New("not supported by this geometry")
)

// inputError is a message that belongs to one of the kinds above.
type inputError struct {
	msg  string
	kind error
}

func (e *inputError) Error() string { return e.msg }
func (e *inputError) Unwrap() error { return e.kind }

// bad builds an error of the given kind; the message gets the package's prefix.
func bad(kind error, format string, args ...any) error {
	return &inputError{msg: "ot: " + fmt.Sprintf(format, args...), kind: kind}
}
