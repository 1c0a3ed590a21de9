package device

import (
	"errors"

	"coupling/lab/device/internal/backend"
)

// Errors to test for with errors.Is.
var (
	// ErrNoDevice is a device that is not there: no driver, too old a driver, no such number.
	ErrNoDevice = backend.ErrNoDevice
	// ErrMemory is an allocation that the device has no memory for.
	ErrMemory = backend.ErrMemory
	// ErrIndex is an index of Gather, Scatter or CrossEntropy that is out of range.
	ErrIndex = backend.ErrIndex
	// ErrLeak is a device that was closed with live arrays.
	ErrLeak = errors.New("arrays were not freed")
)
