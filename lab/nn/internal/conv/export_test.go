package conv

import "coupling/lab/device"

// TileBytes makes tiles of at most n bytes on every device, until the function that it returns is called.
func TileBytes(n int) (reset func()) {
	before := tileBytes
	tileBytes = func(*device.Device) int { return n }
	return func() { tileBytes = before }
}
