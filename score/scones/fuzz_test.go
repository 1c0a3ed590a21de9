package scones

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/must"
	"coupling/ot/fdiv"

	"gonum.org/v1/gonum/mat"
)

// The factor of a plan has no NaN at any violation: densities are ≥ 0 and do not fall, penalties never fall below their
// tangent at 0, and slopes of the logarithm are ≥ 0.
func FuzzCompatibility(f *testing.F) {
	f.Add(0, 1., 0., 0., 1.)
	f.Add(1, 1e-3, 1000., 0., -1e6)
	f.Add(2, 1e300, 1e-300, 0., 1.)
	f.Add(4, 2., 0., 50., 1e9)
	f.Add(3, 1e-300, 0., 0., 1e300)
	f.Fuzz(func(t *testing.T, which int, lambda, beta, limit, v float64) {
		all := fdiv.All()
		k := Compatibility{F: all[uint(which)%uint(len(all))], Lambda: lambda, Beta: beta, Cap: limit}
		if k.Check() != nil || math.IsNaN(v) || math.IsInf(v, 0) || math.IsInf(v/lambda, 0) {
			return
		}
		m, l, s, p := k.Density(v), k.LogDensity(v), k.Slope(v), k.Penalty(v)
		if !(m >= 0) || math.IsNaN(l) || math.IsNaN(p) {
			t.Fatalf("%+v at V = %g: density %g, its logarithm %g, penalty %g", k, v, m, l, p)
		}
		if up := k.Density(v + math.Abs(v)/8); !(up >= m*(1-1e-12)) {
			t.Fatalf("%+v: density %g at V = %g, %g above", k, m, v, up)
		}
		if (m > 0 && !math.IsInf(m, 1) || k.Beta > 0) && !(s >= 0) {
			t.Fatalf("%+v at V = %g: slope %g", k, v, s)
		}
		if k.Beta == 0 && m > 1e-300 && m < 1e300 && math.Abs(l-math.Log(m)) > 1e-9*(1+math.Abs(l)) {
			t.Fatalf("%+v at V = %g: log density %g, of density %g", k, v, l, m)
		}
	})
}

// Potentials off their points are finite at finite points, or are refused when they are made;
// projections stay in the hull.
func FuzzDiscrete(f *testing.F) {
	f.Add(1., 0., 1., 0., 1., 2.)
	f.Add(1e-12, 0., 1e6, 0., 1., 2.)
	f.Add(1e-300, 0., 1., 3., 1e100, 2.)
	f.Add(1e300, -1e300, 1., 1e-300, 1., -1.)
	f.Fuzz(func(t *testing.T, lambda, p, q, a, b, y float64) {
		d, err := NewDiscrete(mat.NewDense(2, 1, []float64{a, b}), []float64{1, 2}, []float64{p, q}, lambda, false)
		if err != nil || math.IsNaN(y) || math.Abs(y) > 1e307 || math.Abs(a) > 1e307 || math.Abs(b) > 1e307 {
			return
		}
		at, g, v := mat.NewDense(1, 1, []float64{y}), mat.NewDense(1, 1, nil), make([]float64, 1)
		must.Do(d.Eval(v, g, at))
		if math.IsNaN(v[0]) || math.IsNaN(g.At(0, 0)) {
			t.Fatalf("value %g, gradient %g", v[0], g.At(0, 0))
		}
		to, slack := d.Barycentric(at).At(0, 0), 1e-12*(math.Abs(a)+math.Abs(b))
		if !(to >= min(a, b)-slack && to <= max(a, b)+slack) {
			t.Fatalf("%g goes to %g, not between %g and %g", y, to, a, b)
		}
		if j := d.Draw(rand.New(rand.NewPCG(1, 1)), at)[0]; j != 0 && j != 1 {
			t.Fatalf("atom %d", j)
		}
	})
}

// Two clouds are fitted and sampled with finite points, or refused, whatever their coordinates.
func FuzzFit(f *testing.F) {
	f.Add(0., 1., 2., 3., 0., 0.)
	f.Add(0., 1e-200, 2., 3., 0., 0.)
	f.Add(0., 1e150, -1e150, 3., 0., 0.)
	f.Add(1., 1., 1., 1., 1., 1e-3)
	f.Add(0., 1., 1e9, 1e9+1, 1e-6, 0.)
	f.Add(5., 6., 7., 8., 1e12, 1e12)
	f.Fuzz(func(t *testing.T, a, b, c, d, lambda, h float64) {
		rng := seeded(1)
		x, y := mat.NewDense(2, 2, []float64{a, b, b, a}), mat.NewDense(3, 2, []float64{c, d, d, a, a, c})
		fit := Fit{Lambda: lambda, Bandwidth: h, Steps: 5}
		fit.Solver.MaxIter = 50
		fitted, err := fit.Run(t.Context(), rng, x, y)
		if err != nil {
			return
		}
		out, err := fitted.Sample(t.Context(), rng, x, 2)
		if err != nil {
			return
		}
		for _, v := range out.RawMatrix().Data {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("sample %g", v)
			}
		}
	})
}
