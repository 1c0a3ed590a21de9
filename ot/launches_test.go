package ot_test

import (
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest"
)

// Thousands of small problems are one launch.
func TestSmallLaunches(t *testing.T) {
	dev := devicetest.Counting(t)
	defer dev.Scope().Close()
	vec := func(n ...int) *device.Array { return dev.New(device.Float32, n...) }
	const batch, n = 4096, 50
	f, g, lastF, lastG, c := vec(batch, n), vec(batch, n), vec(batch, n), vec(batch, n), vec(batch, n, n)
	before := dev.Traffic()
	device.Anneal(f, g, lastF, lastG, c, []float64{4, 2, 1, .5, .25, .1})
	devicetest.Hold(t, "4096 problems of 50×50", dev.Traffic().Minus(before))
}
