package dpsinkhorn

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"
	"coupling/ot"
	"coupling/ot/cost"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

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

// geomloss is the iteration of GeomLoss 0.2.3 at p = 1 between uniform clouds,
// SamplesLoss("sinkhorn", debias=False), written out plainly: averaged updates while ε falls from
// the diameter to the blur, one last update of both potentials from each other, and the gradients
// of that update.
type geomloss struct {
	x, y *mat.Dense
	cost cost.PointCost
	c    *mat.Dense
}

// softmin returns −ε log Σ exp((pot−cost)/ε)/n, and the softmax where weights is not nil.
func softmin(eps float64, pot, cost, weights []float64) float64 {
	x := make([]float64, len(pot))
	for k := range x {
		x[k] = (pot[k] - cost[k]) / eps
	}
	lse := floats.LogSumExp(x)
	for k := range weights {
		weights[k] = math.Exp(x[k] - lse)
	}
	return -eps * (lse - math.Log(float64(len(x))))
}

// update returns both soft minima.
func (l geomloss) update(eps float64, f, g []float64) (nf, ng []float64) {
	for i := range f {
		nf = append(nf, softmin(eps, g, l.c.RawRowView(i), nil))
	}
	for j := range g {
		ng = append(ng, softmin(eps, f, mat.Col(nil, j, l.c), nil))
	}
	return nf, ng
}

// gradients returns those of <a,f> + <b,g> by x and by y.
func (l geomloss) gradients(blur, scaling, diameter float64) (dx, dy *mat.Dense) {
	l.c = ot.Cost(ot.Points(l.x, l.y, l.cost))
	n, m := l.c.Dims()
	_, d := l.x.Dims()
	f, g := l.update(diameter, make([]float64, n), make([]float64, m))
	schedule := []float64{diameter}
	for e := diameter; e > blur; e *= scaling {
		schedule = append(schedule, e)
	}
	schedule = append(schedule, blur)
	for _, eps := range schedule {
		nf, ng := l.update(eps, f, g)
		floats.AddScaledTo(f, nf, 1, f)
		floats.Scale(0.5, f)
		floats.AddScaledTo(g, ng, 1, g)
		floats.Scale(0.5, g)
	}
	dx, dy = mat.NewDense(n, d, nil), mat.NewDense(m, d, nil)
	w := make([]float64, max(n, m))
	for i := range n {
		softmin(blur, g, l.c.RawRowView(i), w[:m])
		for j := range m {
			l.cost.Grad(dx.RawRowView(i), nil, w[j]/float64(n), l.x.RawRowView(i), l.y.RawRowView(j))
		}
	}
	for j := range m {
		softmin(blur, f, mat.Col(nil, j, l.c), w[:n])
		for i := range n {
			l.cost.Grad(nil, dy.RawRowView(j), w[i]/float64(m), l.x.RawRowView(i), l.y.RawRowView(j))
		}
	}
	return dx, dy
}

// semiDebiased returns the gradients of 2 OT(X,Y) − OT(X,Z), Z being X without its first rows
// followed by the fresh ones.
func semiDebiased(x, fresh, y *mat.Dense, cost cost.PointCost, l Loss) (dx, dFresh *mat.Dense) {
	n, d := x.Dims()
	k := 0
	if fresh != nil {
		k, _ = fresh.Dims()
	}
	z := mat.NewDense(n, d, nil)
	for i := range n {
		if i < n-k {
			z.SetRow(i, x.RawRowView(i+k))
		} else {
			z.SetRow(i, fresh.RawRowView(i-(n-k)))
		}
	}
	dx, _ = geomloss{x: x, y: y, cost: cost}.gradients(l.Blur, l.Scaling, l.Diameter)
	zx, zy := geomloss{x: x, y: z, cost: cost}.gradients(l.Blur, l.Scaling, l.Diameter)
	dx.Scale(2, dx)
	dx.Sub(dx, zx)
	zy.Scale(-1, zy)
	for i := k; i < n; i++ {
		floats.Add(dx.RawRowView(i), zy.RawRowView(i-k))
	}
	if k > 0 {
		dFresh = mat.DenseCopyOf(zy.Slice(n-k, n, 0, d))
	}
	return dx, dFresh
}

// The gradient is that of the semi-debiased loss of GeomLoss's iteration.
func TestGradientAgainstHost(t *testing.T) {
	dev := nntest.CPU(t)
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
		private, public := must.Get2(c.l.Gradient(x, y, classes))
		full, _ := c.l.withDefaults(d, classes)
		fx, fy := withOneHot(hx, x.Labels, classes, full.Label), withOneHot(hy, y.Labels, classes, full.Label)
		total, _ := fx.Dims()
		var fresh *mat.Dense
		if total > c.n {
			fresh = mat.DenseCopyOf(fx.Slice(c.n, total, 0, d+classes))
		}
		var cost cost.PointCost = cost.SqEuclideanL1(c.l.L1)
		if c.l.NoSquare {
			cost = ot.L1
		}
		wantX, wantFresh := semiDebiased(mat.DenseCopyOf(fx.Slice(0, c.n, 0, d+classes)), fresh, fy, cost, full)
		p, q := dense(private), dense(public)
		for i := range total {
			w := make([]float64, d)
			copy(w, q.RawRowView(i))
			ref := wantFresh
			at := i - c.n
			if i < c.n {
				floats.Add(w, p.RawRowView(i))
				ref, at = wantX, i
			}
			// float32 costs of some 500 over ε = .05 carry 500·2⁻²⁴/.05 = 6e-4 into exponents; gradients are of size 2.
			if diff := floats.Distance(w, ref.RawRowView(at)[:d], math.Inf(1)); diff > 5e-3 {
				t.Errorf("n = %d, m = %d, row %d: off by %g", c.n, c.m, i, diff)
			}
		}
	}
}

func dense(a *device.Array) *mat.Dense {
	return must.Get(a.Mat())
}

// Without private images their term is 0 and the rest is as ever.
func TestEmptyBatch(t *testing.T) {
	dev := nntest.CPU(t)
	rng := rand.New(rand.NewPCG(3, 4))
	l := Loss{L1: 1, Fresh: .5}
	x, _ := randomLabelled(rng, dev, 6, 5, 2)
	y, _ := randomLabelled(rng, dev, 7, 5, 2)
	_, with := must.Get2(l.Gradient(x, y, 2))
	private, without := must.Get2(l.Gradient(x, Labelled{}, 2))
	if v := mat.Norm(dense(private), 2); v != 0 {
		t.Errorf("private term has norm %g", v)
	}
	if !mat.Equal(dense(with), dense(without)) {
		t.Error("the public term depends on private images")
	}
}
