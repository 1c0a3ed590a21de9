package contour

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// saddle returns the s > 0 that minimises e^{ΣT·K(s) − sε}/(s(s+1)), where the contour crosses the real axis. The
// exponent is convex, so there is one. It is found within some part of
// a standard deviation of the loss; a few digits suffice: any s > 0 gives certified bounds.
func (a Accountant) saddle(parts []part, eps, start float64) (at crossing, err error) {
	s, err := bracketRoot(cmp.Or(start, 1), func(s float64) (float64, error) {
		if at, err = axis(parts, s); err != nil {
			return 0, err
		}
		return (at.mean - eps - 1/s - 1/(s+1)) / at.scale(), nil
	}, a.saddleTol())
	if err == nil && at.s != s {
		at, err = axis(parts, s)
	}
	return at, err
}

// bracketRoot finds s > 0 where an increasing f vanishes within tol, from start, by bracketing and
// Illinois steps in log s. Where f cannot be evaluated, s was too large.
func bracketRoot(start float64, f func(s float64) (float64, error), tol float64) (float64, error) {
	a, b := math.Inf(-1), math.Inf(1) // logarithms of a bracket
	fa, fb := 0.0, 0.0
	t, stride := logspace.Log(start), 1.0
	if start != 1 {
		stride = 0.3 // not far
	}
	var last error
	for range 200 {
		v, err := f(math.Exp(t))
		if err == nil && math.Abs(v) <= tol {
			return math.Exp(t), nil
		}
		switch {
		case err != nil:
			b, fb, last = t, math.Inf(1), err
		case v < 0:
			a, fa = t, v
			if !math.IsInf(fb, 1) {
				fb /= 2
			}
		default:
			b, fb = t, v
			fa /= 2
		}
		switch {
		case math.IsInf(b, 1):
			t += stride
			stride *= 1.6
		case math.IsInf(a, -1):
			t -= stride
			stride *= 1.6
		case math.IsInf(fb, 1):
			t = (a + b) / 2
		default:
			t = (a*fb - b*fa) / (fb - fa)
			t = min(max(t, a+(b-a)*0.02), b-(b-a)*0.02)
		}
		if math.Abs(t) > 690 || b-a < 1e-13*(1+math.Abs(b)) {
			break
		}
	}
	if last != nil {
		return 0, last
	}
	if b-a < 1 {
		return math.Exp((a + b) / 2), nil
	}
	return 0, fmt.Errorf("contour: no saddle point up to order %.3g: %w", math.Exp(t), ErrCost)
}

// epsilon finds the bounds of the least ε ≥ 0 with log δ(ε) ≤ want, and the order of the contour that gave them.
func (a Accountant) epsilon(ctx context.Context, parts []part,
	want float64) (best pair.Interval, order float64, err error) {
	guess, at, err := estimate(parts, want)
	if err != nil {
		return best, 0, err
	}
	if guess <= 0 {
		guess = 0
		if at, err = a.saddle(parts, 0, 0); err != nil {
			return best, 0, err
		}
	}
	best.Upper = math.Inf(1)
	for try := range 3 {
		s := at.s
		c, err := newContour(ctx, parts, at, guess, a.tol(), a.work())
		if err != nil {
			return best, 0, err
		}
		if lo, hi := c.log(0); try == 0 && guess < 1/s && checkBounds(lo, hi) == nil && hi <= want {
			return pair.Interval{}, s, nil
		}
		eps, slope, err := c.solve(guess, want)
		if err != nil {
			return best, 0, err
		}
		b, err := c.enclose(eps, slope, want)
		if err != nil {
			return best, 0, err
		}
		best = pair.Interval{Lower: max(best.Lower, b.Lower), Upper: min(best.Upper, b.Upper)}
		// Where the saddle-point estimate was far off, so is the contour: go through the saddle of the answer.
		if math.Abs(eps-guess)*s < 1 || b.Upper-b.Lower < 4*a.tol()/s {
			break
		}
		guess = max(eps, 0)
		if next, err := a.saddle(parts, guess, 0); err == nil { // else the bounds hold all the same
			at = next
		}
	}
	return best, at.s, nil
}

// estimate solves the saddle-point approximation of δ(ε) = e^want for ε, by way of s: ε(s) puts the saddle at s.
func estimate(parts []part, want float64) (eps float64, at crossing, err error) {
	logDelta := func(s float64) (float64, error) {
		if at, err = axis(parts, s); err != nil {
			return 0, err
		}
		eps = at.mean - 1/s - 1/(s+1)
		return at.k - s*eps - logspace.Log(s) - math.Log1p(s) - logspace.Log(math.Sqrt(2*math.Pi)*at.scale()), nil
	}
	s, err := bracketRoot(1, func(s float64) (float64, error) {
		ld, err := logDelta(s)
		return want - ld, err
	}, 1e-2)
	if err == nil && at.s != s {
		_, err = logDelta(s)
	}
	return eps, at, err
}

// solve finds ε with log δ(ε) ≈ want by the secant method, starting from the slope −s of the saddle point. It returns
// the slope of log δ there too.
func (c *contour) solve(eps, want float64) (root, slope float64, err error) {
	slope = -c.s
	mid := func(eps float64) float64 {
		lo, hi := c.log(eps)
		if math.IsInf(lo, -1) {
			return hi
		}
		return (lo + hi) / 2
	}
	f := mid(eps) - want
	for range 60 {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			break
		}
		step := min(max(-f/slope, -3/c.s), 3/c.s)
		next := eps + step
		g := mid(next) - want
		if next != eps {
			if d := (g - f) / (next - eps); d < 0 && math.Abs(f-g) > 1e-12 {
				slope = d
			}
		}
		eps, f = next, g
		if math.Abs(f) < 1e-13*(1+math.Abs(want)) || math.Abs(step) < 4*ulp*math.Abs(eps) {
			return eps, slope, nil
		}
	}
	if math.IsNaN(f) || math.Abs(f) > 1 {
		return 0, 0, fmt.Errorf("contour: log δ = %v is not reached near ε = %v: %w", want, eps, ErrCost)
	}
	return eps, slope, nil
}

// enclose steps outwards from the root until the certified bounds of δ lie on either side of the target.
func (c *contour) enclose(eps, slope, want float64) (pair.Interval, error) {
	lo, hi := c.log(eps)
	if err := checkBounds(lo, hi); err != nil {
		return pair.Interval{}, err
	}
	// log δ and want are themselves rounded.
	round := 4 * ulp * (1 + math.Abs(want))
	walk := func(side float64, done func(lo, hi float64) bool) (float64, bool) {
		gap := max((hi-want)/-slope, (want-lo)/-slope, 0)*1.02 + 4*ulp*math.Abs(eps) + round/-slope
		for range 80 {
			at := eps + side*gap
			if math.IsInf(at, 0) || math.IsNaN(at) {
				return 0, false
			}
			if lo, hi := c.log(at); checkBounds(lo, hi) == nil && done(lo, hi) {
				return at, true
			}
			gap *= 1.5
		}
		return 0, false
	}
	upper, ok := walk(1, func(_, hi float64) bool { return hi <= want-round })
	if !ok {
		return pair.Interval{}, fmt.Errorf("contour: no ε is certified for log δ = %v: %w", want, ErrCost)
	}
	lower, ok := walk(-1, func(lo, _ float64) bool { return lo >= want+round })
	if !ok {
		lower = 0
	}
	return pair.Interval{Lower: max(0, lower), Upper: max(0, upper)}, nil
}
