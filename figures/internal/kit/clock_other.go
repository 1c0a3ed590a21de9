//go:build !linux

package kit

import "time"

func threadSeconds() float64  { return time.Since(started).Seconds() }
func processSeconds() float64 { return time.Since(started).Seconds() }
