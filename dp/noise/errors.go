package noise

import (
	"errors"
	"fmt"

	"coupling/dp/internal/check"
)

// ErrSource marks a failure of the source of random bits. Nothing was released.
var ErrSource = errors.New("source of random bits failed")

const in = check.In("noise")

var bad = in.Bad

// failed builds an error about a source.
func failed(format string, args ...any) error {
	return fmt.Errorf("noise: %s: %w", fmt.Sprintf(format, args...), ErrSource)
}
