package contour

import (
	"math"

	"coupling/lab/logspace"
)

// A decay bounds |φ(y)|, φ(y) = M(s+iy)/M(s), the characteristic function of the loss under the
// tilted law p^{s+1}q^{−s}/M(s), for every y of an interval, up to infinity. With it the contour
// can be cut off.
//
// Two bounds hold at every y and for every interval A of outcomes, as the loss is monotone:
//
//   - the spread of the loss: |φ|² = E cos(y(L−L′)) ≤ 1 − 2κ·y²·P(A)²·Var(L|A) while y·range(L on A) ≤ θ,
//     with κ = (1−cos θ)/θ² (of independent copies L, L′); and likewise |φ| ≤ 1 − Σ κ·y²·P(A)·Var(L|A) over disjoint A;
//   - its smoothness: |φ| ≤ 1 − P(A) + V(A)/y, with V(A) the variation of the density g = m/L′ of the loss on A plus
//     its values at the ends (integration by parts).
//
// Probabilities enter by lower and densities by upper bounds over each cell of the line's grid: the logarithmic
// derivative of the tilted density is known exactly, and L″ is a difference of posterior variances: see curve.
type decay struct {
	normal float64 // variance, of a normal loss; then nothing else is set

	loss       []float64 // at the nodes
	mass       []float64 // lower bound of the tilted mass of each cell
	end        []float64 // upper bound of g at each node
	vary       []float64 // upper bound of the variation of g in each cell
	c0, cm, c2 []float64 // running sums of mass, mass·mid, mass·mid²
	ch         []float64 // and of mass·(half width)²
}

// newDecay reads the bounds off a line.
func newDecay(l *line) *decay {
	if l.pair.gaussian() {
		return &decay{normal: l.pair.reach * l.pair.reach}
	}
	n := len(l.loss)
	d := &decay{loss: l.loss, mass: make([]float64, n-1), end: make([]float64, n), vary: make([]float64, n-1)}
	m := make([]float64, n)
	norm := 1.0
	if l.near {
		norm = math.Exp(-l.k0)
	}
	for j := range n {
		m[j] = l.tilt[j] * norm / l.h
	}
	const up, down = 1 + 1e-6, 1 - 1e-6 // swallow the rounding of this function and of M(s)
	for j := range n - 1 {
		x := l.x0 + float64(j)*l.h
		a, b := l.rows[j], l.rows[j+1]
		fall := (l.s+1)*a.pMean - l.s*b.qMean - (x + l.h) // least and largest logarithmic derivative of m in the cell
		rise := (l.s+1)*b.pMean - l.s*a.qMean - x
		lo := max(m[j]*math.Exp(l.h*min(fall, 0)), m[j+1]*math.Exp(-l.h*max(rise, 0)))
		hi := min(m[j]*math.Exp(l.h*max(rise, 0)), m[j+1]*math.Exp(-l.h*min(fall, 0)))
		slope := a.pMean - b.qMean // least L′ in the cell
		curve := max(l.pair.p.curve(a.pMean, b.pMean, slope), l.pair.q.curve(a.qMean, b.qMean, slope))
		d.mass[j] = l.h * lo * down
		d.end[j] = m[j] / (a.pMean - a.qMean) * up
		d.vary[j] = l.h * hi / slope * (max(rise, -fall) + curve) * up
		if !(slope > 0) || math.IsNaN(d.vary[j]) {
			d.vary[j] = math.Inf(1)
		}
	}
	d.end[n-1] = m[n-1] / (l.rows[n-1].pMean - l.rows[n-1].qMean) * up
	for j, g := range d.end {
		if !(g >= 0) {
			d.end[j] = math.Inf(1)
		}
	}
	d.sums()
	return d
}

// curve bounds the posterior variance of the mean over slope, the least L′, where the posterior mean goes
// from a to b: by (max − m)(m − min) at the mean m (Bhatia and Davis 2000), and so by L′ times the span.
func (s *side) curve(a, b, slope float64) float64 {
	at := func(m float64) float64 { return (s.max-m)*(m-s.min) + 1e-12*s.span()*s.span() }
	worst := max(at(a), at(b))
	if mid := (s.min + s.max) / 2; a <= mid && mid <= b {
		worst = at(mid)
	}
	return min(s.span(), worst/slope)
}

func (d *decay) sums() {
	n := len(d.mass)
	back := make([]float64, 4*(n+1))
	d.c0, d.cm, d.c2, d.ch = back[:n+1], back[n+1:2*n+2], back[2*n+2:3*n+3], back[3*n+3:]
	// Centre, so that the variance of a narrow loss survives the running sums.
	centre, total := 0.0, 0.0
	for j, p := range d.mass {
		centre += p * (d.loss[j] + d.loss[j+1]) / 2
		total += p
	}
	centre /= total
	for j, p := range d.mass {
		mid, half := (d.loss[j]+d.loss[j+1])/2-centre, (d.loss[j+1]-d.loss[j])/2
		d.c0[j+1] = d.c0[j] + p
		d.cm[j+1] = d.cm[j] + p*mid
		d.c2[j+1] = d.c2[j] + p*mid*mid
		d.ch[j+1] = d.ch[j] + p*half*half
	}
}

// beyond returns an upper bound of log|φ(y)| over all y ≥ a.
func (d *decay) beyond(a float64) float64 {
	if d.normal > 0 {
		return -a * a * d.normal / 2
	}
	return math.Log1p(-min(d.smooth(a), 1-1e-12))
}

// between returns an upper bound of log|φ(y)| over a ≤ y ≤ b, not above best, which holds for y ≥
// a. One below enough will do.
func (d *decay) between(a, b, best, enough float64) float64 {
	if d.normal > 0 {
		return best
	}
	for _, theta := range [...]float64{0.5, 1.5, math.Pi} {
		if best <= enough {
			return best
		}
		if v := d.spread(theta / b); v > 0 {
			kappa := (1 - math.Cos(theta)) / (theta * theta) * (1 - 1e-12)
			best = min(best, 0.5*math.Log1p(-min(2*kappa*a*a*v, 1-1e-12)))
		}
	}
	if best <= enough {
		return best
	}
	const kappa = 2 / (math.Pi * math.Pi) * (1 - 1e-12)
	return min(best, math.Log1p(-min(kappa*a*a*d.blocks(math.Pi/b), 1-1e-12)))
}

// spread returns a lower bound of the largest P(A)²·Var(L|A) over intervals A on which the loss ranges by width.
func (d *decay) spread(width float64) float64 {
	best, i := 0.0, 0
	for j := 1; j < len(d.loss); j++ {
		for d.loss[j]-d.loss[i] > width {
			i++
		}
		if i >= j {
			continue
		}
		p := d.c0[j] - d.c0[i]
		if !(p > 0) {
			continue
		}
		m := (d.cm[j] - d.cm[i]) / p
		v := (d.c2[j]-d.c2[i])/p - m*m
		v -= 1e-13 * (d.c2[len(d.c2)-1] + d.c2[j]) / p // rounding of the running sums
		if v <= 0 {
			continue
		}
		// The mean of a cell may be off its middle by half a width (Minkowski).
		if sd := math.Sqrt(v) - math.Sqrt(max(0, (d.ch[j]-d.ch[i])/p)); sd > 0 {
			best = max(best, p*p*sd*sd)
		}
	}
	return best
}

// blocks returns a lower bound of Σ P(A)·Var(L|A) over consecutive intervals A on each of which the
// loss ranges by width.
func (d *decay) blocks(width float64) float64 {
	sum := 0.0
	for i := 0; i < len(d.mass); {
		j := i + 1
		for j < len(d.mass) && d.loss[j+1]-d.loss[i] <= width {
			j++
		}
		if d.loss[j]-d.loss[i] <= width {
			sum += d.within(i, j)
		}
		i = j
	}
	return sum * (1 - 1e-9)
}

// within returns a lower bound of P(A)·Var(L|A) for the cells i to j−1.
func (d *decay) within(i, j int) float64 {
	base := d.loss[i]
	p, m, h := 0.0, 0.0, 0.0
	for k := i; k < j; k++ {
		half := (d.loss[k+1] - d.loss[k]) / 2
		p += d.mass[k]
		m += d.mass[k] * (d.loss[k] + half - base)
		h += d.mass[k] * half * half
	}
	if !(p > 0) {
		return 0
	}
	m = m/p + base
	v := 0.0
	for k := i; k < j; k++ {
		x := (d.loss[k]+d.loss[k+1])/2 - m
		v += d.mass[k] * x * x
	}
	// The mean of a cell may be off its middle by half a width (Minkowski).
	if sd := math.Sqrt(v/p) - math.Sqrt(h/p); sd > 0 {
		return p * sd * sd
	}
	return 0
}

// smooth returns the largest P(A) − V(A)/y, at least 0.
func (d *decay) smooth(y float64) float64 {
	best, run := 0.0, math.Inf(-1)
	for j := range d.mass {
		run = max(run, -d.end[j]/y) + d.mass[j] - d.vary[j]/y
		best = max(best, run-d.end[j+1]/y)
	}
	return best
}

// A tail bounds what the nodes beyond some frequency would add, from the decay of each loss.
type tail struct {
	c      *contour
	ratio  float64 // of successive frequencies at which the decay is bounded
	fewest int     // nodes of the grid that the decay is read off
	lines  []*line // if already there
	decays []*decay
}

// beyond bounds h·Σ|e^{ΣT·(K(z)−K(s))}|/|z(z+1)| over the nodes above y, by the integral of a
// decreasing majorant. Far below goal the bound need not be sharp.
func (t *tail) beyond(y, goal float64) (float64, error) {
	if t.decays == nil {
		if t.lines == nil {
			var err error
			if t.lines, err = t.c.lines(0, t.fewest); err != nil {
				return 0, err
			}
		}
		for _, l := range t.lines {
			t.decays = append(t.decays, newDecay(l))
		}
	}
	sum := 0.0
	for y < 1e200 && sum < 1e6 {
		next := y * t.ratio
		inner, outer := 0.0, 0.0
		enough := logspace.Log(goal*y) - 12
		for i, d := range t.decays {
			times := t.c.parts[i].times
			far := d.beyond(y)
			outer += times * far
			inner += times * d.between(y, next, far, enough/times)
		}
		// |z(z+1)| ≥ y², whose reciprocal integrates to 1/y.
		final := math.Exp(outer) / y
		if final <= max(1e-3*sum, 1e-6*goal, 1e-300) {
			return (sum + final) * (1 + 1e-9), nil
		}
		sum += math.Exp(inner) * (1/y - 1/next)
		y = next
	}
	return math.Inf(1), nil
}
