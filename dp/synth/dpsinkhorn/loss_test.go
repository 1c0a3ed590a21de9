package dpsinkhorn

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/device"
	"coupling/ot"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func cpu(t testing.TB) *device.Device {
	t.Helper()
	dev, err := device.CPU{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

func randomLabelled(rng *rand.Rand, dev *device.Device, n, d, classes int) (Labelled, *mat.Dense) {
	x := mat.NewDense(n, d, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return float64(float32(2*rng.Float64() - 1)) }, x)
	labels := make([]int, n)
	for i := range labels {
		labels[i] = rng.IntN(classes)
	}
	return Labelled{X: dev.FromDense(device.Float32, x), Labels: labels}, x
}

// withOneHot appends Label·onehot.
func withOneHot(x *mat.Dense, labels []int, classes int, label float64) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n, d+classes, nil)
	for i, l := range labels {
		copy(out.RawRowView(i), x.RawRowView(i))
		out.Set(i, d+l, label)
	}
	return out
}

// The gradient is that of ot.SemiDebiased of GeomLoss's iteration, which is tested against GeomLoss.
func TestGradientAgainstHost(t *testing.T) {
	dev := cpu(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		n, m int
		l    Loss
	}{
		{10, 12, Loss{L1: 1, Fresh: .4, Diameter: 30}},
		{9, 3, Loss{L1: 0, Fresh: 0, Diameter: 30, Blur: 1}},
		{8, 8, Loss{L1: 3, Fresh: 1, Diameter: 25, Scaling: .9, Blur: 2}},
		{5, 1, Loss{Fresh: .2, Label: 4, Diameter: 30}},
		{10, 12, Loss{L1: 1, NoSquare: true, Fresh: .4, Diameter: 30}},
	} {
		const d, classes = 17, 3
		x, hx := randomLabelled(rng, dev, c.n+c.l.fresh(c.n), d, classes)
		y, hy := randomLabelled(rng, dev, c.m, d, classes)
		private, public, err := c.l.Gradient(x, y, classes)
		if err != nil {
			t.Fatal(err)
		}
		full, _ := c.l.withDefaults(d, classes)
		fx, fy := withOneHot(hx, x.Labels, classes, full.Label), withOneHot(hy, y.Labels, classes, full.Label)
		total, _ := fx.Dims()
		var fresh *mat.Dense
		if total > c.n {
			fresh = mat.DenseCopyOf(fx.Slice(c.n, total, 0, d+classes))
		}
		var cost ot.PointCost = ot.SqEuclideanL1(c.l.L1)
		if c.l.NoSquare {
			cost = ot.L1
		}
		want, err := ot.SemiDebiased{Of: ot.Annealed{Blur: full.Blur, Scaling: full.Scaling, Diameter: full.Diameter}}.
			Eval(t.Context(), mat.DenseCopyOf(fx.Slice(0, c.n, 0, d+classes)), fresh, fy, cost, true)
		if err != nil {
			t.Fatal(err)
		}
		p, q := dense(t, private), dense(t, public)
		for i := range total {
			w := make([]float64, d)
			copy(w, q.RawRowView(i))
			ref := want.Fresh
			at := i - c.n
			if i < c.n {
				floats.Add(w, p.RawRowView(i))
				ref, at = want.X, i
			}
			// float32 costs of some 500 over ε = .05 carry 500·2⁻²⁴/.05 = 6e-4 into exponents; gradients are of size 2.
			if diff := floats.Distance(w, ref.RawRowView(at)[:d], math.Inf(1)); diff > 5e-3 {
				t.Errorf("n = %d, m = %d, row %d: off by %g", c.n, c.m, i, diff)
			}
		}
	}
}

func dense(t testing.TB, a *device.Array) *mat.Dense {
	t.Helper()
	m, err := a.Mat()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Without private images their term is 0 and the rest is as ever.
func TestEmptyBatch(t *testing.T) {
	dev := cpu(t)
	rng := rand.New(rand.NewPCG(3, 4))
	l := Loss{L1: 1, Fresh: .5}
	x, _ := randomLabelled(rng, dev, 6, 5, 2)
	y, _ := randomLabelled(rng, dev, 7, 5, 2)
	_, with, err := l.Gradient(x, y, 2)
	if err != nil {
		t.Fatal(err)
	}
	private, without, err := l.Gradient(x, Labelled{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if v := mat.Norm(dense(t, private), 2); v != 0 {
		t.Errorf("private term has norm %g", v)
	}
	if !mat.Equal(dense(t, with), dense(t, without)) {
		t.Error("the public term depends on private images")
	}
}
