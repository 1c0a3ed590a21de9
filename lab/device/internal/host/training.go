package host

import (
	"math"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// CrossEntropy writes losses and gradients of logits.
func (e *engine[T]) CrossEntropy(loss, grad, logits, labels tensor) error {
	k := logits.Shape[1]
	ls, gs, xs, at := view[T](loss), view[T](grad), view[T](logits), view[int32](labels)
	if err := inRange("labels", at, k); err != nil {
		return err
	}
	e.each(len(ls), per(16*k), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x, g := xs[i*k:(i+1)*k], gs[i*k:(i+1)*k]
			label := int(at[i])
			own, top := x[label], largest(x) // before g, which may be x
			total := e.k.ExpAt(g, x, top)
			ls[i] = T(math.Log(float64(total)) + (float64(top) - float64(own)))
			e.k.Scale(g, 1/total, g)
			g[label]--
		}
	})
	return nil
}

// ClipRows scales rows to norm at most bound.
func (e *engine[T]) ClipRows(dst, x tensor, bound float64) error {
	n, d := x.Shape[0], x.Shape[1]
	to, from := view[T](dst), view[T](x)
	down := 1 - 0x1p-23 // by more than norm, quotient and products round up
	if is64[T]() {
		down = 1 - 0x1p-50
	}
	e.each(n, per(d), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row, out := from[i*d:(i+1)*d], to[i*d:(i+1)*d]
			norm, unit := rowNorm(row)
			if norm/unit <= bound {
				copy(out, row)
				continue
			}
			factor, last := bound/norm*down, unit
			if !(unit < 1 && factor <= 1) { // else factor·unit may be denormal
				factor, last = factor*unit, 1
			}
			for j, v := range row {
				out[j] = T(float64(v) * factor * last)
			}
		}
	})
	return nil
}

// rowNorm is norm/unit, the norm of a row: of float64 in twice the precision, also where squares, or the norm itself,
// leave the range of float64. The unit is a power of two.
func rowNorm[T cpu.Float](x []T) (norm, unit float64) {
	if !is64[T]() {
		return math.Sqrt(dots(x, x)), 1
	}
	if norm := math.Sqrt(squares(x, 1)); norm > 0x1p-480 && norm < math.Inf(1) {
		return norm, 1
	}
	top := 0.0
	for _, v := range x {
		top = max(top, math.Abs(float64(v)))
	}
	if top == 0 || math.IsInf(top, 1) || math.IsNaN(top) {
		return top, 1
	}
	unit = math.Ldexp(1, max(-1000, min(-math.Ilogb(top), 1000)))
	return math.Sqrt(squares(x, unit)), unit
}

// squares is Σ (unit·x)² with the error of each product and sum carried along (Ogita, Rump and Oishi 2005, Dot2).
func squares[T cpu.Float](x []T, unit float64) float64 {
	var sum, lost float64
	for _, v := range x {
		v := float64(v) * unit
		p := v * v
		s := sum + p
		z := s - sum
		lost += (sum - (s - z)) + (p - z) + math.FMA(v, v, -p)
		sum = s
	}
	return sum + lost
}

// Adam makes one step of Adam (Kingma and Ba 2015, algorithm 1) over all parameters as one row of numbers.
func (e *engine[T]) Adam(w, g, m, v []tensor, t, factor tensor, a backend.Adam) error {
	step := view[int32](t)
	step[0]++
	a.Rate *= float64(view[T](factor)[0])
	s := newAdamStep[T](a, float64(step[0]))
	total := 0
	for _, p := range w {
		total += p.Len()
	}
	e.each(total, grain, func(lo, hi int) {
		for k, p := range w {
			n := p.Len()
			if from, to := max(lo, 0), min(hi, n); from < to {
				s.do(view[T](p)[from:to], view[T](g[k])[from:to], view[T](m[k])[from:to], view[T](v[k])[from:to])
			}
			lo, hi = lo-n, hi-n
		}
	})
	return nil
}

// adamStep is the constants of one step: w shrinks by keep, then moves by rate·m/(√v·root + eps), where bias
// corrections are in rate and root.
type adamStep[T cpu.Float] struct {
	b1, c1, b2, c2, rate, root, eps, decay, keep T
}

func newAdamStep[T cpu.Float](a backend.Adam, t float64) adamStep[T] {
	s := adamStep[T]{
		b1: T(a.Beta1), c1: T(1 - a.Beta1), b2: T(a.Beta2), c2: T(1 - a.Beta2),
		rate: T(a.Rate / (1 - math.Pow(a.Beta1, t))), root: T(1 / math.Sqrt(1-math.Pow(a.Beta2, t))),
		eps: T(a.Eps), keep: 1,
	}
	if a.Decoupled {
		s.keep = T(1 - a.Rate*a.Decay)
	} else {
		s.decay = T(a.Decay)
	}
	return s
}

func (s adamStep[T]) do(w, g, m, v []T) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	for i, x := range w {
		d := g[i] + s.decay*x
		mi := s.b1*m[i] + s.c1*d
		vi := s.b2*v[i] + s.c2*d*d
		m[i], v[i] = mi, vi
		w[i] = s.keep*x - s.rate*mi/(T(math.Sqrt(float64(vi)))*s.root+s.eps)
	}
}

// SGD makes one step of gradient descent with momentum: m = μ·m + g, w −= rate·m, or rate·(g + μ·m) by Nesterov.
func (e *engine[T]) SGD(w, g, momentum, factor tensor, s backend.SGD) error {
	ws, gs, ms := view[T](w), view[T](g), view[T](momentum)
	s.Rate *= float64(view[T](factor)[0])
	rate, mu, decay := T(s.Rate), T(s.Momentum), T(s.Decay)
	e.each(len(ws), grain, func(lo, hi int) {
		w, g, m := ws[lo:hi], gs[lo:hi], ms[lo:hi]
		for i, x := range w {
			d := g[i] + decay*x
			m[i] = mu*m[i] + d
			if s.Nesterov {
				d += mu * m[i]
			} else {
				d = m[i]
			}
			w[i] = x - rate*d
		}
	})
	return nil
}

// EMA is avg = decay·avg + (1−decay)·w.
func (e *engine[T]) EMA(avg, w tensor, decay float64) error {
	as, ws, a, b := view[T](avg), view[T](w), T(decay), T(1-decay)
	e.each(len(as), grain, func(lo, hi int) {
		x := as[lo:hi]
		for i, v := range ws[lo:hi] {
			x[i] = a*x[i] + b*v
		}
	})
	return nil
}
