package freg

import "fmt"

// bad builds an error of one of the kinds of package ot (ot.ErrShape, ot.ErrWeights, ot.ErrCost, ot.ErrParameter,
// ot.ErrUnsupported), for errors.Is.
func bad(kind error, format string, args ...any) error {
	return fmt.Errorf("ot/freg: %s: %w", fmt.Sprintf(format, args...), kind)
}
