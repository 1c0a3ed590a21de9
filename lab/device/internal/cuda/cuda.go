// Package cuda is an NVIDIA GPU as a device.
package cuda

import "coupling/lab/device/internal/backend"

// Config says which GPU and which libraries.
type Config struct {
	Ordinal        int
	Driver, CuBLAS string
	TF32           bool
}

// Open returns the GPU.
func Open(c Config) (backend.Backend, error) {
	return nil, backend.ErrNoDevice
}
