package score

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// usable says that numbers are finite and that squares of differences of theirs are not of another world.
func usable(most float64, v ...float64) bool {
	for _, x := range v {
		if !(math.Abs(x) <= most) {
			return false
		}
	}
	return true
}

// Tweedie's formula at any distance and any noise: x + (h² + σ²)·score is in the hull of the
// points, and no input is answered with a NaN.
func FuzzEmpirical(f *testing.F) {
	f.Add(0., 0., 1., 1., .5, .5)
	f.Add(1e200, 0., 1., -1., 0., 1.) // squares overflow
	f.Add(3., 4., 1., -1., 0., 1e-100)
	f.Add(0., 0., 1., 1., 1e-160, 0.) // the variance underflows
	f.Add(-1e300, 1e300, 1e300, -1e300, 1., 1.)
	f.Add(5e-324, 0., 5e-324, 1., 1e-10, 0.)
	f.Fuzz(func(t *testing.T, x, y, a, b, sigma, h float64) {
		points := mat.NewDense(3, 2, []float64{a, b, b, a, x, y})
		e, err := NewEmpirical(points, []float64{1, 3, 0}, h)
		if err != nil {
			return
		}
		at, s := mat.NewDense(1, 2, []float64{x, y}), mat.NewDense(1, 2, nil)
		if err := e.Score(s, at, sigma); err != nil || !usable(1e307, x, y, a, b) {
			return
		}
		v := h*h + sigma*sigma
		lo, hi := min(a, b), max(a, b)
		for k := range 2 {
			g := s.At(0, k)
			if math.IsNaN(g) {
				t.Fatalf("score NaN at (%g, %g) of (%g, %g), σ = %g, h = %g", x, y, a, b, sigma, h)
			}
			if back := at.At(0, k) + v*g; !math.IsInf(g, 0) && usable(1e307, g, v*g) {
				slack := 1e-9 * (math.Abs(x) + math.Abs(y) + math.Abs(a) + math.Abs(b) + v*5e-324)
				if !(back >= lo-slack && back <= hi+slack) && math.Abs(v*g) > 1e-300 {
					t.Fatalf("(%g, %g) goes to %g, not between %g and %g, σ = %g, h = %g", x, y, back, lo, hi, sigma, h)
				}
			}
		}
		var d [1]float64
		if err := e.LogDensity(d[:], at, sigma); err != nil || math.IsNaN(d[0]) || math.IsInf(d[0], 1) {
			t.Fatalf("log density %g, %v at (%g, %g) of (%g, %g), σ = %g, h = %g", d[0], err, x, y, a, b, sigma, h)
		}
	})
}

// A mixture's score pulls to the inside: it is a mean of its parts', of finite size where theirs is.
func FuzzMixture(f *testing.F) {
	f.Add(.5, 1., -1., 1., .3, .1)
	f.Add(1e80, 1., -1., 1., .3, 0.)
	f.Add(0., 1e90, -1e90, 1e-3, 1., 1e-3)
	f.Add(0., 0., 0., 1e-30, 1e-300, 1e30)
	f.Fuzz(func(t *testing.T, x, a, b, v, w, sigma float64) {
		p, err := NewGaussian([]float64{a}, mat.NewSymDense(1, []float64{v}))
		if err != nil {
			return
		}
		q, err := NewGaussian([]float64{b}, mat.NewSymDense(1, []float64{2 * v}))
		if err != nil {
			return
		}
		m, err := NewMixture([]float64{w, 1}, p, q)
		if err != nil {
			return
		}
		at, s, sp, sq := mat.NewDense(1, 1, []float64{x}), mat.NewDense(1, 1, nil), mat.NewDense(1, 1, nil),
			mat.NewDense(1, 1, nil)
		if m.Score(s, at, sigma) != nil || p.Score(sp, at, sigma) != nil || q.Score(sq, at, sigma) != nil ||
			!usable(1e100, x, a, b) || v < 1e-60 || !usable(1e100, v, sigma) {
			return
		}
		lo, hi := min(sp.At(0, 0), sq.At(0, 0)), max(sp.At(0, 0), sq.At(0, 0))
		if g := s.At(0, 0); !(g >= lo-1e-9*math.Abs(lo) && g <= hi+1e-9*math.Abs(hi)) {
			t.Fatalf("score %g at %g, of the parts %g and %g", g, x, lo, hi)
		}
	})
}

// A sampler ends, with finite points or with an error, whatever its settings.
func FuzzLangevin(f *testing.F) {
	f.Add(.1, 1., .1, 0., 1.)
	f.Add(1e9, 1., .1, 5., 1.)
	f.Add(1e300, 1e200, 1e-200, 1e300, 1.)
	f.Add(.5, 1e-300, 1e-300, 1., 1e-9)
	f.Fuzz(func(t *testing.T, step, first, last, x, v float64) {
		g, err := NewGaussian(nil, mat.NewSymDense(1, []float64{v}))
		if err != nil {
			return
		}
		levels, err := Geometric(first, last, 3)
		if err != nil {
			return
		}
		c := Start(seeded(1), mat.NewDense(2, 1, []float64{x, -x}))
		l := Langevin{Levels: levels, Steps: 3, Step: step, Denoise: true}
		if err := l.Run(t.Context(), g, c); err != nil {
			return
		}
		if c.Done != l.Total() || !usable(math.MaxFloat64, c.X.At(0, 0), c.X.At(1, 0)) {
			t.Fatalf("%d steps of %d, points %g", c.Done, l.Total(), c.X.RawMatrix().Data)
		}
	})
}
