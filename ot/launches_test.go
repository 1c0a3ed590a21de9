package ot_test

import (
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest"
	"coupling/ot"

	"gonum.org/v1/gonum/mat"
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

// What half a step of Sinkhorn asks of a GPU.
func TestLaunches(t *testing.T) {
	dev := devicetest.Counting(t)
	const n = 4096
	x, y := mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil)
	x.Set(0, 0, 1)
	g := ot.PointsOn(dev, x, y, ot.SqEuclidean)
	defer g.Close()
	var at []device.Traffic
	s := ot.Sinkhorn{Eps: .1, Tol: 1e-9, MaxIter: 12, Trace: func(ot.Step) error { at = append(at, dev.Traffic()); return nil }}
	if _, err := s.Solve(t.Context(), ot.Problem{Geometry: g}); err != nil {
		t.Log(err)
	}
	if len(at) < 4 {
		t.Fatalf("%d steps", len(at))
	}
	devicetest.Hold(t, "half-step", at[3].Minus(at[2]))
}
