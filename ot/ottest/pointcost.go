package ottest

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/cost"
)

// PointCost checks a cost between points in d dimensions: that Points and MatrixFree have the costs that Cost returns
// for each pair, and solve with them (see Geometry); and that Grad agrees with central differences of Cost, adds to
// what dx and dy hold, and skips either where it is nil.
//
// The points are a fixed draw from two Gaussians, so that kinks of a cost, such as those of L1, are not hit.
func PointCost(t *testing.T, c cost.PointCost, d int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(d)))
	draw := func(n int, mean float64) *mat.Dense {
		m := mat.NewDense(n, d, nil)
		m.Apply(func(_, _ int, _ float64) float64 { return mean + rng.NormFloat64() }, m)
		return m
	}
	x, y := draw(6, 0), draw(8, 0.5)
	want := mat.NewDense(6, 8, nil)
	want.Apply(func(i, j int, _ float64) float64 { return c.Cost(x.RawRowView(i), y.RawRowView(j)) }, want)
	Geometry(t, ot.Points(x, y, c), want)
	Geometry(t, ot.MatrixFree(x, y, c), want)
	for i := range 6 {
		gradient(t, c, x.RawRowView(i), y.RawRowView(i))
	}
}

// gradient compares Grad at one pair with central differences.
func gradient(t testing.TB, c cost.PointCost, x, y []float64) {
	t.Helper()
	const h, w = 1e-5, 3.0
	dx, dy := make([]float64, len(x)), make([]float64, len(y))
	dx[0], dy[0] = 7, -7 // Grad adds to these
	c.Grad(dx, nil, w, x, y)
	c.Grad(nil, dy, w, x, y)
	dx[0] -= 7
	dy[0] += 7
	for _, side := range []struct {
		name  string
		at, d []float64
	}{{"x", x, dx}, {"y", y, dy}} {
		for k, v := range side.at {
			side.at[k] = v + h
			above := c.Cost(x, y)
			side.at[k] = v - h
			below := c.Cost(x, y)
			side.at[k] = v
			// 1e-6: h² times a third derivative of up to 1e4, and a rounding of 1e-16/h of the cost. Both are
			// relative to costs and slopes, which may be large.
			got, want := side.d[k], w*(above-below)/(2*h)
			if scale := 1 + math.Abs(want) + math.Abs(above); !(math.Abs(got-want) <= 1e-6*scale) {
				t.Errorf("Grad: ∂c/∂%s[%d] = %v at x = %v, y = %v; differences of Cost give %v",
					side.name, k, got/w, x, y, want/w)
			}
		}
	}
}
