// Package host is the processor as a device.
package host

import (
	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// Open returns the processor.
func Open(isa cpu.ISA, workers int) (backend.Backend, error) {
	return nil, backend.ErrNoDevice
}
