// Package fault has the kinds of error that package ot and its neighbours share, so that errors.Is
// works with one set, and the names of their constants.
package fault

import (
	"errors"
	"fmt"
)

var (
	// ErrShape marks sizes that do not fit together, or are empty.
	ErrShape = errors.New("sizes do not match")
	// ErrWeights marks weights that are not a measure: NaN, negative, of zero total, or of unequal totals.
	ErrWeights = errors.New("weights are not a measure")
	// ErrCost marks a cost, or a point, that is NaN or infinite or too large.
	ErrCost = errors.New("cost out of range")
	// ErrParameter marks a parameter outside its range.
	ErrParameter = errors.New("parameter out of range")
	// ErrInfeasible marks a problem that has no plan without the pairs that a cost of +Inf forbids.
	ErrInfeasible = errors.New("no plan")
	// ErrUnsupported marks a request that the solver, the geometry or the plan cannot answer.
	ErrUnsupported = errors.New("not supported")
)

// Sub returns a kind with its own text that also belongs to another kind.
func Sub(text string, of error) error { return sub{text, of} }

type sub struct {
	text string
	of   error
}

func (s sub) Error() string { return s.text }
func (s sub) Unwrap() error { return s.of }

// New returns an error of a kind with a message that begins with the package's name.
func New(pkg string, kind error, format string, args ...any) error {
	return sub{pkg + ": " + fmt.Sprintf(format, args...), kind}
}

// OT is New for package ot.
func OT(kind error, format string, args ...any) error { return New("ot", kind, format, args...) }

// Name returns the name of constant v of a type, or type(v) where it has none.
func Name(typ string, v int, names ...string) string {
	if v < 0 || v >= len(names) {
		return fmt.Sprintf("%s(%d)", typ, v)
	}
	return names[v]
}
