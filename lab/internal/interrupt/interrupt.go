// Package interrupt turns the first signal into the end of a context.
package interrupt

import (
	"context"
	"os"
	"os/signal"
)

// Context returns a context that the first of the signals ends; the next one ends the program, so
// that what does not heed the context can be stopped too.
func Context(parent context.Context, signals ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
