package lab_test

import (
	"context"
	"strings"
	"testing"

	"coupling/lab"
	"coupling/lab/device"
)

// The manifest names what was opened, whatever was asked for elsewhere, and the device ends with the cell.
func TestManifestNamesTheDeviceThatWasOpened(t *testing.T) {
	t.Setenv("COUPLING_DEVICE", "cuda:1")
	s := lab.Must(lab.OpenStore(t.TempDir()))
	var dev *device.Device
	e := lab.Experiment[int, int]{Name: "test/device", Run: func(_ context.Context, c *lab.Cell, p int) (int, error) {
		if p == 0 {
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
		r, err := lab.Do(t.Context(), s, e, 0, n)
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

func TestRandDependsOnSeedAndNameOnly(t *testing.T) {
	a, b := lab.Cell{Key: "x", Seed: 3}, lab.Cell{Key: "y", Seed: 3}
	if a.Rand("u").Uint64() != b.Rand("u").Uint64() {
		t.Error("streams differ between cells of one seed")
	}
	if a.Rand("u").Uint64() == a.Rand("v").Uint64() {
		t.Error("two names give one stream")
	}
}
