package ot_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
)

// withZeros sets every seventh weight to 0, and the sum to 1.
func withZeros(w []float64) []float64 {
	var sum float64
	for i := range w {
		if i%7 == 3 {
			w[i] = 0
		}
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// Everything that a plan computes on a device is what it computes on the host, in any dimension, with weights of zero
// and for every cost.
func TestPlanOnDevice(t *testing.T) {
	d := openDevice(t)
	for _, c := range []struct {
		dim  int
		kind cost.PointCost
	}{
		{1, ot.SqEuclidean}, {2, ot.L1}, {3, cost.SqEuclideanL1(0.5)}, {4, cost.Power(1.5)}, {8, ot.SqEuclidean},
		{17, cost.SqEuclideanL1(2)},
		{33, ot.L1}, {64, ot.SqEuclidean}, {70, ot.SqEuclidean},
	} {
		t.Run(fmt.Sprintf("%T in %d", c.kind, c.dim), func(t *testing.T) { planOn(t, d, c.dim, c.kind) })
	}
}

// planOn compares plans that are solved to 1e-11, so that what is derived from them differs by 1e-8 of its size at the
// most; costs that are held in float32 are given to the host as they were rounded.
func planOn(t *testing.T, d *device.Device, dim int, kind cost.PointCost) {
	t.Helper()
	rng := seeded(42, uint64(dim))
	const n, m = 170, 139
	x, y := cloud(rng, n, dim, 1, 50), cloud(rng, m, dim, 1, 50.3)
	g := ot.PointsOn(d, x, y, kind)
	free := ot.MatrixFree(x, y, kind)
	var host cost.Geometry = free
	if _, made := free.Points().Vector(); !made {
		host = roundedCloud{free, rounded(ot.Cost(free))}
	}
	p := weighted(host, withZeros(simplex(rng, n)), withZeros(simplex(rng, m)))
	s := ot.LBFGS{Eps: 0.1 * mat.Sum(ot.Cost(host)) / (n * m), Tol: 1e-11}
	want := mustSolve(t, s, p)
	p.Geometry = g
	comparePlans(t, mustSolve(t, s, p), want, y)
	g.Close()
	if n, bytes, _ := d.Live(); n != 0 {
		t.Errorf("%d arrays of %d bytes live on", n, bytes)
	}
}

// solved returns the plan of a solve without an error, mustSolve one that converged.
func solved(s ot.Solver, p ot.Problem) *ot.Plan {
	return must.Get(s.Solve(ctx, p))
}

func mustSolve(t *testing.T, s ot.Solver, p ot.Problem) *ot.Plan {
	t.Helper()
	plan := solved(s, p)
	if plan.Status != ot.Converged {
		t.Fatal(plan)
	}
	return plan
}

func comparePlans(t *testing.T, got, want *ot.Plan, y *mat.Dense) {
	t.Helper()
	n, m := want.Dims()
	u, v := make([]float64, n), make([]float64, m)
	for i := range u {
		u[i] = math.Sin(float64(i))
	}
	for j := range v {
		v[j] = math.Cos(float64(j))
	}
	a, b := got.Value(), want.Value()
	alike(t, "values", []float64{a.Sharp, a.RegKL, a.RegEntropy, a.SumPlogP, a.KL, a.Mass},
		[]float64{b.Sharp, b.RegKL, b.RegEntropy, b.SumPlogP, b.KL, b.Mass})
	alike(t, "F", got.F, want.F)
	alike(t, "G", got.G, want.G)
	alike(t, "Apply", got.Apply(v), want.Apply(v))
	alike(t, "ApplyT", got.ApplyT(u), want.ApplyT(u))
	alike(t, "Barycentric", got.Barycentric(y).RawMatrix().Data, want.Barycentric(y).RawMatrix().Data)
	for _, loss := range []ot.Loss{ot.Sharp, ot.RegKL} {
		for _, method := range []ot.Method{ot.Method(0), ot.CG, ot.Eliminate} {
			g, h := gradientOf(t, got, loss, method), gradientOf(t, want, loss, method)
			name := fmt.Sprintf("%v by %v: ", loss, method)
			alike(t, name+"Cost", g.Cost().RawMatrix().Data, h.Cost().RawMatrix().Data)
			for what, f := range map[string]func(*ot.Gradient) (*mat.Dense, error){"X": (*ot.Gradient).X,
				"Y": (*ot.Gradient).Y} {
				gx := must.Get(f(g))
				hx := must.Get(f(h))
				alike(t, name+what, gx.RawMatrix().Data, hx.RawMatrix().Data)
			}
			da, db, _ := g.Weights()
			ha, hb, _ := h.Weights()
			alike(t, name+"∂a", da, ha)
			alike(t, name+"∂b", db, hb)
		}
	}
	w := filled(n, m, func(i, j int) float64 { return math.Sin(float64(3*i + j)) })
	gv := must.Get(ot.Backward{}.VJP(ctx, got, w))
	hv := must.Get(ot.Backward{}.VJP(ctx, want, w))
	alike(t, "VJP", gv.Cost.RawMatrix().Data, hv.Cost.RawMatrix().Data)
}

func gradientOf(t *testing.T, p *ot.Plan, loss ot.Loss, method ot.Method) *ot.Gradient {
	t.Helper()
	g, err := ot.Backward{Method: method}.Gradient(ctx, p, loss)
	if err != nil || g.Status != ot.Converged {
		t.Fatal(err, g)
	}
	return g
}

// alike fails unless two vectors agree to 1e-8 of the larger one's size, or are infinite alike.
func alike(t *testing.T, what string, got, want []float64) {
	t.Helper()
	var size, off float64
	for i, w := range want {
		if got[i] != w {
			off = max(off, math.Abs(got[i]-w))
		}
		if !math.IsInf(w, 0) {
			size = max(size, math.Abs(w))
		}
	}
	if len(got) != len(want) || !(off <= 1e-8*size) {
		t.Errorf("%s: off by %g of %g", what, off, size)
	}
}

// Unbalanced plans and those in float64 are the host's too.
func TestUnbalancedOnDevice(t *testing.T) {
	d := openDevice(t)
	rng := seeded(43, 1)
	const n, m = 60, 80
	x, y := cloud(rng, n, 2, 1, 0), cloud(rng, m, 2, 1, 0.5)
	a, b := withZeros(simplex(rng, n)), simplex(rng, m)
	for i := range a {
		a[i] *= 3
	}
	for _, s := range []ot.Unbalanced{{Eps: .1, RhoA: 1, RhoB: 2}, {Eps: .02, RhoA: 1, RhoB: math.Inf(1)}} {
		want := mustSolve(t, s, weighted(ot.Points(x, y, ot.SqEuclidean), a, b))
		for _, typ := range []device.DType{device.Float32, device.Float64} {
			g := ot.PointsOn(d, x, y, ot.SqEuclidean)
			g.Type = typ
			got := mustSolve(t, s, weighted(g, a, b))
			alike(t, "plan", got.Matrix().RawMatrix().Data, want.Matrix().RawMatrix().Data)
			v, w := got.Value(), want.Value()
			alike(t, "values", []float64{v.Sharp, v.RegKL, v.KL, v.Mass}, []float64{w.Sharp, w.RegKL, w.KL, w.Mass})
			g.Close()
		}
	}
}

// roundedCloud is a cloud with its costs rounded to float32.
type roundedCloud struct {
	*cost.Cloud
	cost *mat.Dense
}

func (r roundedCloud) Row(i int, _ []float64) []float64 { return r.cost.RawRowView(i) }

func (r roundedCloud) ExpRow(dst, _ []float64, i int, h []float64, inv, shift float64) (sum float64) {
	for j, v := range h {
		dst[j] = math.Exp(v - r.cost.At(i, j)*inv - shift)
		sum += dst[j]
	}
	return sum
}

// rounded rounds the elements of c to float32.
func rounded(c *mat.Dense) *mat.Dense {
	c.Apply(func(_, _ int, v float64) float64 { return float64(float32(v)) }, c)
	return c
}
