//go:build !linux

package lab

// procOf knows nothing here: a dead owner is found by its heartbeat alone.
func procOf(int) proc { return proc{} }

func ended(int, string) bool { return false }
