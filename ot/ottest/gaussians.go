package ottest

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/gaussian"
)

// gaussians compares plans between Gaussians on a grid with the closed forms. The integrands are
// smooth and decay, so that sums over equispaced nodes converge faster than any power of the
// spacing: at ±7 deviations and spacings of a third of the conditional deviation, the remaining
// error is the tails, of mass 3e-12 and 50 times that in the second moment.
func (s kit) gaussians(t *testing.T) {
	for _, k := range []struct{ mp, a, mq, b, eps float64 }{
		{0, 1, 0, 1, 2}, {0.3, 0.5, -0.4, 1.5, 1}, {0, 2, 1, 0.25, 0.6},
	} {
		x, a := nodes(k.mp, k.a, 70)
		y, b := nodes(k.mq, k.b, 80)
		g := ot.Points(x, y, ot.SqEuclidean)
		plan := s.solve(t, k.eps, ot.Problem{Geometry: g, A: a, B: b})
		normal := func(mean, variance float64) gaussian.Normal {
			return gaussian.Normal{Mean: []float64{mean}, Cov: mat.NewSymDense(1, []float64{variance})}
		}
		want, err := gaussian.Entropic{Eps: k.eps}.Solve(normal(k.mp, k.a), normal(k.mq, k.b))
		if err != nil {
			t.Fatal(err)
		}
		c := ot.Cost(g)
		// First-order quantities err by the marginals' error times the costs', of up to 300.
		within := 1e-7 + s.cost(c) + mat.Max(c)*s.entry(k.eps, c)
		v := plan.Value()
		for _, q := range []struct {
			name      string
			got, want float64
		}{{"Sharp", v.Sharp, want.Transport}, {"KL", v.KL, want.KL}, {"RegKL", v.RegKL, want.Value}} {
			if !(math.Abs(q.got-q.want) <= within) {
				t.Errorf("%+v: %s = %v, closed form %v", k, q.name, q.got, q.want)
			}
		}
		projection, closed := plan.Barycentric(y), want.Barycentric()
		at, f, z := make([]float64, 1), plan.F[35]-want.F(x.RawRowView(35)), 0.0
		for i := range a {
			if a[i] < 1e-4 { // further out the tolerance, divided by the weight, allows errors as large as the row
				continue
			}
			closed.Apply(at, x.RawRowView(i))
			z = max(z, math.Abs(projection.At(i, 0)-at[0]))
			// Potentials are determined up to a constant.
			if d := plan.F[i] - want.F(x.RawRowView(i)) - f; !(math.Abs(d) <= 1e4*within) {
				t.Errorf("%+v: f(%g) is off by %g", k, x.At(i, 0), d)
			}
		}
		if !(z <= 1e4*within) {
			t.Errorf("%+v: the barycentric projection is off by %g", k, z)
		}
	}
}

// nodes returns n equispaced points over ±7 deviations and their weights.
func nodes(mean, variance float64, n int) (*mat.Dense, []float64) {
	x, w := mat.NewDense(n, 1, nil), make([]float64, n)
	var total float64
	for i := range w {
		z := 14 * (float64(i)/float64(n-1) - .5)
		x.Set(i, 0, mean+z*math.Sqrt(variance))
		w[i] = math.Exp(-z * z / 2)
		total += w[i]
	}
	for i := range w {
		w[i] /= total
	}
	return x, w
}
