//go:build !unix

package dp

import "time"

var begun = time.Now()

// processorTime is wall time where that of the processor is not known.
func processorTime() time.Duration { return time.Since(begun) }
