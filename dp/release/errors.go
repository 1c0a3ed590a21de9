package release

import (
	"fmt"

	"coupling/dp"
)

// bad builds an error about a parameter.
func bad(format string, args ...any) error {
	return fmt.Errorf("release: %s: %w", fmt.Sprintf(format, args...), dp.ErrParameter)
}
