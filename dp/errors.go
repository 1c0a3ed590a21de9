package dp

import (
	"fmt"

	"coupling/dp/internal/check"
	"coupling/dp/pair"
)

// Errors of all packages under dp, for errors.Is.
var (
	// ErrParameter marks a parameter outside its range.
	ErrParameter = pair.ErrParameter
	// ErrNoPair marks a part of an event for which no dominating pair is known under the relation.
	ErrNoPair = pair.ErrNoPair
	// ErrUnbounded marks a question whose only certified answer is infinite.
	ErrUnbounded = pair.ErrUnbounded
	// ErrNotApplicable marks a composition that an accountant does not handle; another one may.
	ErrNotApplicable = pair.ErrNotApplicable
)

const in = check.In("dp")

var bad = in.Bad

// noPair builds an error about a part of an event.
func noPair(part Event, format string, args ...any) error {
	return fmt.Errorf("dp: %v: %s: %w", part, fmt.Sprintf(format, args...), ErrNoPair)
}
