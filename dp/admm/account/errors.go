package account

import (
	"errors"
	"fmt"
)

// ErrParameter marks a parameter out of range; the message names it and its value.
var ErrParameter = errors.New("parameter out of range")

func bad(format string, args ...any) error {
	return fmt.Errorf("account: %s: %w", fmt.Sprintf(format, args...), ErrParameter)
}
