package dpsinkhorn

import (
	"fmt"

	"coupling/dp"
)

// ErrParameter marks a parameter outside its range, for errors.Is. It is the one of package dp.
var ErrParameter = dp.ErrParameter

// bad builds an error about a parameter.
func bad(format string, args ...any) error {
	return fmt.Errorf("dpsinkhorn: %s: %w", fmt.Sprintf(format, args...), ErrParameter)
}
