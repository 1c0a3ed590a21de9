package lab

import (
	"context"
	"strings"
	"testing"

	"coupling/lab/device"
)

// The manifest names what was opened, whatever was asked for elsewhere, and the device ends with the cell.
func TestManifestNamesTheDeviceThatWasOpened(t *testing.T) {
	t.Setenv("COUPLING_DEVICE", "cuda:1")
	s := testStore(t)
	var dev *device.Device
	e := Experiment[point, point]{Name: "test/device", Run: func(_ context.Context, c *Cell, p point) (point, error) {
		if p.N == 0 {
			return p, nil
		}
		var err error
		dev, err = c.Device("cpu")
		if err == nil {
			dev.New(device.Float32, 3)
		}
		return p, err
	}}
	for n, want := range []string{"cpu", "cpu ("} {
		r, err := Do(t.Context(), s, e, 0, point{N: n})
		if err != nil || !strings.HasPrefix(r.Manifest.Device, want) || n == 0 && r.Manifest.Device != want {
			t.Errorf("device %q, %v", r.Manifest.Device, err)
		}
	}
	if dev == nil || dev.Err() != nil {
		t.Fatal(dev.Err())
	}
	defer func() {
		if recover() == nil && dev.Err() == nil {
			t.Error("the device outlives its cell")
		}
	}()
	dev.New(device.Float32, 3)
}
