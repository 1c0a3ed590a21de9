package ot

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/ot/internal/derivative"
	"coupling/ot/internal/transport"
)

// What a device makes of a plan, asked for directly, so that no host stands in for it.
func TestDevicePlanOnDevice(t *testing.T) {
	dev := must.Get(device.Open(cmp.Or(os.Getenv("COUPLING_DEVICE"), "cpu")))
	rng := rand.New(rand.NewPCG(45, 1))
	const n, m = 90, 70
	x, y := mat.NewDense(n, 2, nil), mat.NewDense(m, 2, nil)
	for _, c := range []*mat.Dense{x, y} {
		c.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, c)
	}
	a := make([]float64, n)
	for i := range a {
		a[i] = float64(i % 5)
	}
	for name, g := range map[string]*OnDevice{"points": PointsOn(dev, x, y, SqEuclidean),
		"held": PointsOn(dev, x, y, Euclidean)} {
		p, err := Newton{Eps: 0.1, Tol: 1e-12}.Solve(context.Background(), Problem{Geometry: g, A: a})
		if err != nil || p.Status != Converged {
			t.Fatal(err, p)
		}
		grad := must.Get(p.Grad(Sharp))
		p.t.Costs = g.Engine().OnHost()
		h, rhs := derivative.System(p.t, derivative.EntropyField, n*m)
		v := p.t.Sums()
		var hostX, hostY *mat.Dense
		if g.Engine().MatrixFree() {
			if hostX, err = grad.X(); err != nil {
				t.Fatal(err)
			}
			if hostY, err = grad.Y(); err != nil {
				t.Fatal(err)
			}
		}
		p.t.Costs = g.Engine()
		same := func(what string, got, want []float64) {
			t.Helper()
			for i, w := range want {
				// Sums of terms of at most 10: 1e-12 leaves room for a thousand roundings.
				if !(math.Abs(got[i]-w) <= 1e-12) {
					t.Errorf("%s: %s[%d] = %v, want %v", name, what, i, got[i], w)
				}
			}
		}
		if !p.t.OnDevice("test", true, func(d *transport.DevicePlan) {
			got := d.Values()
			same("values", []float64{got.Sharp, got.KL, got.SumPlogP, got.Mass},
				[]float64{v.Sharp, v.KL, v.SumPlogP, v.Mass})
			free, right := derivative.SystemOn(d)
			same("diagonal", free.Col, h.Col)
			same("currents", right, rhs)
			dst, want, w := make([]float64, m), make([]float64, m), make([]float64, m)
			for j := range w {
				w[j] = rng.NormFloat64()
			}
			h.Mul(want, w)
			d.Laplacian(dst, w, free.Col)
			same("Laplacian", dst, want)
			if !g.Engine().MatrixFree() {
				return
			}
			gx := derivative.PointsOn(d, grad.of.Slopes(p.Beta), false)
			gy := derivative.PointsOn(d, grad.of.Slopes(p.Beta), true)
			same("∂x", gx.RawMatrix().Data, hostX.RawMatrix().Data)
			same("∂y", gy.RawMatrix().Data, hostY.RawMatrix().Data)
		}) {
			t.Errorf("%s: the device did not do it", name)
		}
		g.Close()
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
}
