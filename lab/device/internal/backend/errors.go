package backend

import "errors"

// Errors that backends wrap.
var (
	ErrNoDevice = errors.New("no such device")
	ErrMemory   = errors.New("out of device memory")
	ErrIndex    = errors.New("index out of range")
)
