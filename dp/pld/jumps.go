package pld

import (
	"context"
	"math"
	"sort"

	"coupling/dp/internal/logspace"
)

// A jump is the part of a composition in which the largest loss of a step is in (low, high]. Its measure is positive,
//
//	ν = (μ_{≤high})^{*T} − (μ_{≤low})^{*T},
//
// and the jumps of intervals that cover all losses add up to the composition. Where a single large
// loss decides (rare sampling, small δ), no tilt of the whole composition has its mass about ε: it
// is split between no large loss and one too large. Each jump has its own tilt, with more of its
// mass near the answer.
type jump struct {
	low, high float64
	s         float64 // the tilt
	bound     float64 // Chernoff's of log δ at the ε that it was tilted for
	part      float64 // of the answer
}

// prefix returns the numbers of losses up to low and up to high.
func (j jump) prefix(m *measure) (a, b int) {
	return sort.Search(len(m.loss), func(i int) bool { return m.loss[i] > j.low }), sort.Search(len(m.loss), func(i int) bool { return m.loss[i] > j.high })
}

// size returns the greater size of two moments, of which those of nothing, −∞, are known exactly.
func size(under, over float64) float64 {
	s := 0.0
	for _, k := range [...]float64{under, over} {
		if !math.IsInf(k, -1) {
			s = max(s, math.Abs(k))
		}
	}
	return s
}

// moment returns an upper bound of log ∫ e^{sx} dν, and ΣT times the moments of the losses up to high.
func (j jump) moment(parts []*part, low, sketch bool, s float64) (nu, all float64) {
	below, gap, wrong := 0.0, 0.0, 0.0
	for _, p := range parts {
		m := p.side(low, sketch)
		a, b := j.prefix(m)
		under, over := m.part(0, a).moment(s), m.part(a, b).moment(s)
		below += p.times * under
		if !math.IsInf(over, -1) {
			gap += p.times * logspace.OnePlusExp(over-under)
		}
		all += p.times * logspace.Add(under, over)
		wrong += p.times * momentError(size(under, over), b)
	}
	switch {
	case math.IsInf(all, -1):
		return all, all
	case math.IsInf(below, -1): // nothing is as low
		return all + wrong, all
	}
	return below + logspace.Expm1(gap*(1+1e-12)) + wrong, all
}

// part returns some of the losses of a measure.
func (m *measure) part(a, b int) *measure {
	return &measure{loss: m.loss[a:b], mass: m.mass[a:b], logs: m.logMass()[a:b]}
}

// tiltFor tilts for ε: the order of the least of Chernoff's bounds, which is convex in the order.
func (j *jump) tiltFor(parts []*part, eps float64) {
	f := func(logS float64) float64 {
		s := math.Exp(logS)
		nu, _ := j.moment(parts, false, true, s)
		return nu - s*eps + excess(s)
	}
	a, b := math.Log(1e-3/(1+eps)), math.Log(1e5)
	const golden = 0.6180339887498949
	x, y := b-golden*(b-a), a+golden*(b-a)
	fx, fy := f(x), f(y)
	for b-a > 0.02 {
		if fx < fy || math.IsNaN(fy) {
			b, y, fy = y, x, fx
			x = b - golden*(b-a)
			fx = f(x)
		} else {
			a, x, fx = x, y, fy
			y = a + golden*(b-a)
			fy = f(y)
		}
	}
	j.s, j.bound = math.Exp(x), fx
}

// reach finds the order d for the Chernoff bound of what a jump has beyond x on one side, on the sketch, and where that is below e^goal.
func (j jump) reach(parts []*part, low bool, side float64, g func(k, d float64) float64) (best, at float64) {
	_, all := j.moment(parts, low, true, j.s)
	return leastOver(func(s float64) float64 { k, _ := j.moment(parts, low, true, s); return k }, all, j.s, side, 0.1*j.s, g)
}

// window returns where the tilted mass of a jump is, but for e^goal.
func (j jump) window(parts []*part, goal float64) (first, last float64) {
	first, last = math.Inf(1), math.Inf(-1)
	for _, low := range [...]bool{false, true} {
		b, _ := j.reach(parts, low, -1, func(k, d float64) float64 { return (k - goal) / d })
		a, _ := j.reach(parts, low, 1, func(k, d float64) float64 { return (k - goal) / d })
		if !math.IsInf(a, 0) && !math.IsInf(b, 0) { // a measure without such a jump has no say
			first, last = min(first, -b), max(last, a)
		}
	}
	return first, last
}

// compose convolves a jump on a lattice, and bounds what lies beyond the window.
func (j jump) compose(ctx context.Context, parts []*part, low bool, l lattice, first float64) *density {
	d := &density{lattice: l, s: j.s, first: math.Round(first/l.width) * l.width}
	fft, done := transform(l.bins)
	defer done()
	n, half := float64(l.bins), l.bins/2+1
	gaps := newGaps(half)
	seq := make([]float64, l.bins)
	under, over := make([]complex128, half), make([]complex128, half)
	for _, p := range parts {
		if ctx.Err() != nil {
			return d
		}
		m := p.side(low, false)
		a, b := j.prefix(m)
		k, _, _ := m.part(0, b).logMoment(j.s)
		eta := (16*math.Log2(n) + 32) * ulp
		err1, err2 := m.part(0, a).tilted(j.s, k, l, seq), 0.0
		sum1 := total(seq)
		under = fft.Coefficients(under, seq)
		err2 = m.part(a, b).tilted(j.s, k, l, seq)
		sum2 := total(seq)
		over = fft.Coefficients(over, seq)
		gaps.multiply(under, over, p.times, eta*sum1+err1, eta*sum2+err2)
		d.k += p.times * k
		d.kWrong += 4 * ulp * p.times * math.Abs(k)
	}
	spectrum, size, wrong := gaps.gap, 0.0, 0.0
	for i, z := range spectrum {
		double := 2.0
		if i == 0 || i == half-1 {
			double = 1
		}
		wrong += double * gaps.wrong(i)
		size += double * abs(z)
	}
	fft.Sequence(seq, spectrum)
	d.place(seq)
	d.finish((wrong*(1+1e-9) + size*(16*math.Log2(n)+24)*ulp) / n)
	d.above = math.Exp(j.beyond(parts, low, d.k, 1, d.first+n*l.width)) * (1 + 1e-9)
	d.logBelow = j.beyond(parts, low, d.k, -1, d.first) + 1e-9
	d.below = math.Exp(d.logBelow)
	return d
}

func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// beyond bounds the log of the tilted mass of a jump beyond x on one side.
func (j jump) beyond(parts []*part, low bool, k, side, x float64) float64 {
	_, d := j.reach(parts, low, side, func(k, d float64) float64 { return k - d*side*x })
	nu, _ := j.moment(parts, low, false, j.s+side*d)
	return nu - k - d*side*x + 4*ulp*d*math.Abs(x) + 1e-13*math.Abs(k)
}

// A gaps is the difference of the products of powers of x = under + over and of y = under, coefficient by coefficient, with a bound of its
// error. Powers are taken by squaring, with the difference: X² − Y² = (X − Y)(X + Y), xX − yY = x(X − Y) + over·Y, so that nothing
// cancels. All is polynomials with positive coefficients, so that errors of the coefficients do no more than those of their sizes.
type gaps struct {
	x, y, gap []complex128
	size, off []term
	slack     float64 // relative rounding
}

// A term is such a triple for sizes.
type term struct{ x, y, gap float64 }

func newGaps(n int) *gaps {
	g := &gaps{make([]complex128, n), make([]complex128, n), make([]complex128, n), make([]term, n), make([]term, n), 0}
	for i := range n {
		g.x[i], g.y[i] = 1, 1
		g.size[i], g.off[i] = term{1, 1, 0}, term{1, 1, 0}
	}
	return g
}

// multiply takes one loss more into the products; e and f bound the errors of the coefficients of under and over.
func (g *gaps) multiply(under, over []complex128, times, e, f float64) {
	g.slack += (128 + 32*times) * ulp
	for i := range under {
		a, b := abs(under[i]), abs(over[i])
		if most := a + b + e + f; most < 0.5 && times > 200 || most < 1 && times*(1-most) > 200 { // most^times < e^−138: nothing is left
			g.x[i], g.y[i], g.gap[i] = 0, 0, 0
			g.size[i], g.off[i] = term{}, g.off[i].times(term{x: leftOver, y: leftOver, gap: leftOver})
			continue
		}
		x, y, gap := gapPower(under[i]+over[i], under[i], over[i], times)
		size, off := sizePower(a+b, a, b, times), sizePower(a+b+e+f, a+e, b+f, times)
		g.gap[i] = gap*g.x[i] + y*g.gap[i]
		g.x[i], g.y[i] = g.x[i]*x, g.y[i]*y
		g.size[i], g.off[i] = g.size[i].times(size), g.off[i].times(off)
	}
}

// leftOver is e^−138.
const leftOver = 1.2e-60

func abs(z complex128) float64 { return math.Sqrt(real(z)*real(z) + imag(z)*imag(z)) }

// wrong bounds the error of a difference.
func (g *gaps) wrong(i int) float64 { return max(0, g.off[i].gap-g.size[i].gap) + g.slack*g.off[i].gap }

func (t term) times(o term) term {
	return term{t.x * o.x, t.y * o.y, o.gap*t.x + o.y*t.gap}
}

// gapPower returns x^n, y^n and x^n − y^n.
func gapPower(x, y, over complex128, times float64) (px, py, gap complex128) {
	px, py = 1, 1
	for bit := highest(times); bit > 0; bit >>= 1 {
		gap *= px + py
		px, py = px*px, py*py
		if int(times)&bit != 0 {
			gap = x*gap + over*py
			px, py = px*x, py*y
		}
	}
	return px, py, gap
}

func sizePower(x, y, over, times float64) term {
	t := term{1, 1, 0}
	for bit := highest(times); bit > 0; bit >>= 1 {
		t.gap *= t.x + t.y
		t.x, t.y = t.x*t.x, t.y*t.y
		if int(times)&bit != 0 {
			t.gap = x*t.gap + over*t.y
			t.x, t.y = t.x*x, t.y*y
		}
	}
	return t
}

func highest(times float64) int {
	bit := 1
	for bit<<1 <= int(times) {
		bit <<= 1
	}
	return bit
}
