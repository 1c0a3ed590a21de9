package noise

import (
	"errors"
	"fmt"

	"coupling/dp"
)

// ErrSource marks a failure of the source of random bits. Nothing was released.
var ErrSource = errors.New("source of random bits failed")

// bad builds an error about a parameter.
func bad(format string, args ...any) error {
	return fmt.Errorf("noise: %s: %w", fmt.Sprintf(format, args...), dp.ErrParameter)
}

// noPair builds an error about a mechanism that has no certified event.
func noPair(format string, args ...any) error {
	return fmt.Errorf("noise: %s: %w", fmt.Sprintf(format, args...), dp.ErrNoPair)
}

// failed builds an error about a source.
func failed(format string, args ...any) error {
	return fmt.Errorf("noise: %s: %w", fmt.Sprintf(format, args...), ErrSource)
}
