package contour

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"

	"coupling/lab/logspace"
)

// A part is one loss of a composition, how often it is composed, and the accuracy (−log) its log-moments need for that.
type part struct {
	pair          *scaled
	times, digits float64
}

// A contour holds the nodes of the trapezoidal rule for
//
//	δ(ε) = (1/π) ∫₀^∞ Re[ e^{ΣT·K(z) − zε} / (z(z+1)) ] dy,  z = s + iy,
//
// with step h, of a composition. The infinite trapezoidal sum is by Poisson's formula Σ_m e^{sWm} δ(ε+Wm), W = 2π/h:
// δ(ε) itself and terms that are positive. So discretisation only over-states δ, by what Chernoff's bound gives at two
// other abscissae.
type contour struct {
	parts []part
	s, h  float64
	k0    float64 // ΣT·K(s)
	e0    float64 // bound of its absolute error
	size  float64 // ΣT·|K(s)|, for rounding

	dk    []complex128 // ΣT·(K(z)−K(s)) at z = s + ihk
	dkErr []float64    // bounds of their absolute errors
	tail  float64      // bound of h·Σ|e^{dk}|/|z(z+1)| over the nodes beyond the last

	aliases []alias
}

// An alias is another abscissa at which ΣT·K is known, for Chernoff's bound.
type alias struct{ s, k float64 }

// excess is log of sup_x (1 − e^{−x})e^{−sx} = s^s/(1+s)^{1+s}: E(1−e^{ε−L})₊ ≤ e^{excess(s)+K(s)−sε}.
func excess(s float64) float64 {
	if s == 0 {
		return 0
	}
	return -s*math.Log1p(1/s) - math.Log1p(s)
}

// A crossing is a point of the real axis, with the mean and the variance of the tilted loss there.
type crossing struct {
	alias
	mean, variance float64
}

// axis evaluates a composition on the real axis, K with the bound of its error added.
func axis(parts []part, s float64) (crossing, error) {
	c := crossing{alias: alias{s: s}}
	for _, p := range parts {
		l, err := newLine(p.pair, s, 0, p.digits, 0)
		if err != nil {
			return c, err
		}
		m, v := l.moments()
		c.k += p.times * (l.k0 + 2*l.e0)
		c.mean += p.times * m
		c.variance += p.times * v
	}
	if math.IsNaN(c.k) || math.IsInf(c.k, 0) || !(c.variance >= 0) || math.IsInf(c.mean, 0) {
		return c, fmt.Errorf("contour: log-moment at order %.3g is out of the range of float64: %w", s, ErrCost)
	}
	return c, nil
}

// scale is the width of e^{ΣT·K(z)}/(z(z+1)) along the real axis.
func (c crossing) scale() float64 {
	return math.Sqrt(c.variance + 1/(c.s*c.s) + 1/((c.s+1)*(c.s+1)))
}

// aliasBound bounds Σ_{m≠0} e^{sWm} δ(ε+Wm) relative to e^{k0−sε}.
func (c *contour) aliasBound(eps, width float64) float64 {
	base := c.k0 - c.e0 - c.s*eps
	above, below := math.Inf(1), math.Inf(1)
	for _, a := range c.aliases {
		ratio := math.Abs(a.s-c.s) * width
		b := math.Exp(excess(a.s)+a.k-a.s*eps-base-ratio) / -math.Expm1(-ratio)
		if a.s > c.s {
			above = min(above, b)
		} else {
			below = min(below, b)
		}
	}
	return (above + below) * (1 + 1e-9)
}

// newContour samples the contour near the saddle point s for ε until what is left out is below tol relative to δ(ε), or
// its work is spent.
func newContour(ctx context.Context, parts []part, at crossing, eps, tol float64, work int) (*contour, error) {
	s, scale := at.s, at.scale()
	goal := at.k - s*eps + logspace.Log(tol) - logspace.Log(s) - math.Log1p(s) - logspace.Log(scale)
	p, err := chooseContour(parts, at.alias, eps, goal, scale)
	if err != nil {
		return nil, err
	}
	c := &contour{parts: parts, s: p.at.s, h: 2 * math.Pi / p.width, aliases: p.aliases}
	lines, err := c.lines(c.h*math.Ceil(8/scale/c.h), 0) // up to a node
	if err != nil {
		return nil, err
	}
	for i, l := range lines {
		c.k0 += parts[i].times * l.k0
		c.e0 += parts[i].times*l.e0*2 + 4*ulp*parts[i].times*math.Abs(l.k0)
		c.size += parts[i].times * math.Abs(l.k0)
	}
	if !(c.e0 < 1) { // of noise below 1e-15 or so
		return nil, fmt.Errorf("contour: log δ would be known within %.2g only: %w", c.e0, ErrCost)
	}
	return c, c.sample(ctx, lines, math.Exp(goal-(c.k0-c.s*eps)), work)
}

func (c *contour) lines(reach float64, fewest int) ([]*line, error) {
	out := make([]*line, len(c.parts))
	for i, p := range c.parts {
		l, err := newLine(p.pair, c.s, reach, p.digits, fewest)
		if err != nil {
			return nil, err
		}
		out[i] = l
	}
	return out, nil
}

// lateGoal is how much more of a tail will do once half of the work is done.
const lateGoal = 100

// costly is the number of evaluations that the finer bound of the tail costs, or to foresee how far the work reaches.
const costly = 100_000

// sample evaluates nodes until the tail is below goal. Where no frequency within the permitted work
// would do it refuses at once.
func (c *contour) sample(ctx context.Context, lines []*line, goal float64, work int) error {
	tails := []tail{{c: c, lines: lines, ratio: 1.4}, {c: c, ratio: 1.1, fewest: 2000}}
	reach, foreseen := lines[0].reach, false
	c.tail = math.Inf(1)
	hopeless := func(y float64) error {
		return fmt.Errorf(
			"contour: nodes up to frequency %.3g, all that the work allows for, leave a tail above %.2g: %w", y,
			goal, ErrDecay)
	}
	check, spent := 4, 0
	for k := 0; ; k++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		y := float64(k) * c.h
		if y > reach {
			if spent > costly && !foreseen {
				foreseen = true
				if far := c.farthest(y, work-spent); !within(tails, far, goal) {
					return hopeless(far)
				}
			}
			reach = 2 * y
			finer, err := c.lines(reach, 0)
			if err != nil {
				return fmt.Errorf("contour: after %d nodes: %w: %w", k, ErrDecay, err)
			}
			lines = finer
		}
		dk, e := c.node(lines, complex(c.s, y))
		c.dk, c.dkErr = append(c.dk, dk), append(c.dkErr, e)
		each := 0
		for _, l := range lines {
			each += 4 + len(l.loss)
		}
		if k == 0 {
			if far := float64(work/each) * c.h; !within(tails, far, goal) {
				return hopeless(far)
			}
		}
		if k >= check && math.Exp(real(dk))/max(y, c.h) < goal*100 {
			for i := range tails {
				if i > 0 && spent < costly {
					break
				}
				bound, err := tails[i].beyond(y, goal)
				if err != nil {
					return err
				}
				if c.tail = min(c.tail, bound); c.tail <= goal || c.tail <= lateGoal*goal && spent > work/2 {
					return nil
				}
			}
			check = k + 1 + k/8
		}
		if spent += each; spent > work {
			return hopeless(y)
		}
	}
}

// farthest returns the frequency that the work reaches from y on, where lines are made for twice
// the frequency each time that has doubled.
func (c *contour) farthest(y float64, work int) float64 {
	for left := float64(work); ; y *= 2 {
		each := 0
		for _, p := range c.parts {
			_, _, n, err := planLine(p.pair, c.s, 2*y, p.digits, 0)
			if err != nil {
				return y
			}
			each += 4 + n
		}
		cost := y / c.h * float64(each)
		if cost > left {
			return y * (1 + left/cost)
		}
		left -= cost
	}
}

// within reports whether some tail is known to be below goal beyond y, the sharper bounds last.
func within(tails []tail, y, goal float64) bool {
	for i := range tails {
		if bound, err := tails[i].beyond(y, goal); err != nil || bound <= goal {
			return err == nil
		}
	}
	return false
}

// node returns ΣT·(K(z)−K(s)) and a bound of its absolute error; where the error is not small the exponent is only
// an upper bound, and the error infinite.
func (c *contour) node(lines []*line, z complex128) (dk complex128, e float64) {
	bad := false
	upper := 0.0
	for i, l := range lines {
		t := c.parts[i].times
		k, r, top := l.at(z)
		d := k - complex(l.k0, 0)
		dk += complex(t, 0) * d
		upper += t * min(0, top-l.k0+2*l.e0)
		if !(r <= 0.5) {
			bad = true
			continue
		}
		e += t * (r/(1-r) + 2*l.e0 + 6*ulp*(cmplx.Abs(k)+math.Abs(l.k0)))
	}
	if bad || !(e <= 0.5) || cmplx.IsNaN(dk) {
		return complex(upper, 0), math.Inf(1)
	}
	return dk, e
}

// log returns bounds of log δ(ε).
func (c *contour) log(eps float64) (lo, hi float64) {
	sum, wrong, half := 0.0, 0.0, 0.5
	for k, dk := range c.dk {
		y := float64(k) * c.h
		z := complex(c.s, y)
		size := math.Exp(real(dk)) / cmplx.Abs(z*(z+1)) * half
		e := c.dkErr[k] + ulp*(8+4*math.Abs(imag(dk))+4*y*math.Abs(eps))
		half = 1
		if e > 0.5 {
			wrong += size
			continue
		}
		phase := imag(dk) - y*eps - cmplx.Phase(z) - cmplx.Phase(z+1)
		sum += size * math.Cos(phase)
		wrong += size * (2*e + float64(len(c.dk))*ulp)
	}
	aliases := c.aliasBound(eps, 2*math.Pi/c.h)
	sum, wrong = sum*c.h/math.Pi, (wrong*c.h+c.tail)/math.Pi*(1+1e-12)
	base := c.k0 - c.s*eps
	slack := c.e0 + leftOut(c.parts) + 4*ulp*(c.size+c.s*math.Abs(eps)+math.Abs(base)+4)
	return base - slack + logspace.Log(max(0, sum-wrong-aliases)), base + slack + logspace.Log(max(0, sum+wrong))
}
