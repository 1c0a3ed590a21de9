package host

import (
	"math"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// Steps of optimisers go through all parameters as one row of numbers, a chunk at a time: what a
// chunk's step has written is in the cache for its average.

// row is the parameters of an update. Runs of v and average are empty where there are none.
type row[T cpu.Float] struct {
	w, g, m, v, average [][]T
	size                int
}

func newRow[T cpu.Float](u backend.Update) (r row[T]) {
	views := func(from []tensor) [][]T {
		all := make([][]T, len(u.W))
		for i, t := range from {
			all[i] = view[T](t)
		}
		return all
	}
	r = row[T]{w: views(u.W), g: views(u.G), m: views(u.M), v: views(u.V), average: views(u.Average)}
	for _, w := range r.w {
		r.size += len(w)
	}
	return r
}

// each calls work with the part k of the row and its elements from and to, for every part that lo…hi meets.
func (r row[T]) each(lo, hi int, work func(k, from, to int)) {
	for k, w := range r.w {
		if from, to := max(lo, 0), min(hi, len(w)); from < to {
			work(k, from, to)
		}
		lo, hi = lo-len(w), hi-len(w)
	}
}

// update makes a step: begin sets its constants, given by how much gradients are shortened, and step moves a run.
func (e *engine[T]) update(u backend.Update, begin func(clip float64), step func(w, g, m, v []T)) {
	r := newRow[T](u)
	squares := e.squaredNorm(r, u.Clip > 0)
	var decay T
	e.once(func() {
		clip := 1.0
		if u.Clip > 0 {
			clip = min(1, u.Clip/(math.Sqrt(folded(squares))+1e-6))
		}
		if len(u.Average) > 0 {
			decay = view[T](u.Decay)[0]
		}
		begin(clip)
	})
	e.each(r.size, grain, func(lo, hi int) {
		r.each(lo, hi, func(k, from, to int) {
			w, v := r.w[k][from:to], r.v[k]
			if v != nil {
				v = v[from:to]
			}
			step(w, r.g[k][from:to], r.m[k][from:to], v)
			if a := r.average[k]; a != nil {
				follow(a[from:to], w, decay)
			}
		})
	})
}

// squaredNorm leaves the sums of the squares of the gradients in each chunk where it is asked to.
func (e *engine[T]) squaredNorm(r row[T], asked bool) []float64 {
	if !asked {
		return nil
	}
	sums := make([]float64, (r.size+grain-1)/grain)
	e.each(r.size, grain, func(lo, hi int) {
		sum := 0.0
		r.each(lo, hi, func(k, from, to int) { sum += e.k.WideDot(r.g[k][from:to], r.g[k][from:to]) })
		sums[lo/grain] = sum
	})
	return sums
}

func folded(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// follow is a = decay·a + (1−decay)·w.
func follow[T cpu.Float](a, w []T, decay T) {
	keep := 1 - decay
	a = a[:len(w)]
	for i, v := range w {
		a[i] = decay*a[i] + keep*v
	}
}

// Adam makes one step of Adam (Kingma and Ba 2015, algorithm 1).
func (e *engine[T]) Adam(u backend.Update, t tensor, a backend.Adam) {
	count, factor := view[int32](t), view[T](u.Factor)
	var s adamStep[T]
	e.update(u, func(clip float64) {
		count[0]++
		s = newAdamStep[T](a, float64(count[0]), a.Rate*float64(factor[0]), clip)
	}, func(w, g, m, v []T) { s.do(w, g, m, v) })
}

// adamStep is the constants of one step: w shrinks by keep, then moves by rate·m/(√v·root + eps), where bias
// corrections are in rate and root.
type adamStep[T cpu.Float] struct {
	clip, b1, c1, b2, c2, rate, root, eps, decay, keep T
}

func newAdamStep[T cpu.Float](a backend.Adam, t, rate, clip float64) adamStep[T] {
	s := adamStep[T]{
		clip: T(clip), b1: T(a.Beta1), c1: T(1 - a.Beta1), b2: T(a.Beta2), c2: T(1 - a.Beta2),
		rate: T(rate / (1 - math.Pow(a.Beta1, t))), root: T(1 / math.Sqrt(1-math.Pow(a.Beta2, t))),
		eps: T(a.Eps), keep: 1,
	}
	if a.Decoupled {
		s.keep = T(1 - rate*a.Decay)
	} else {
		s.decay = T(a.Decay)
	}
	return s
}

func (s *adamStep[T]) do(w, g, m, v []T) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	for i, x := range w {
		d := s.clip*g[i] + s.decay*x
		mi := s.b1*m[i] + s.c1*d
		vi := s.b2*v[i] + s.c2*d*d
		m[i], v[i] = mi, vi
		w[i] = s.keep*x - s.rate*mi/(T(math.Sqrt(float64(vi)))*s.root+s.eps)
	}
}

// SGD makes one step of gradient descent with momentum: m = μ·m + g, w −= rate·m, or rate·(g + μ·m) by Nesterov.
func (e *engine[T]) SGD(u backend.Update, s backend.SGD) {
	factor := view[T](u.Factor)
	var clip, rate T
	mu, decay := T(s.Momentum), T(s.Decay)
	e.update(u, func(c float64) {
		clip, rate = T(c), T(s.Rate*float64(factor[0]))
	}, func(w, g, m, _ []T) {
		for i, x := range w {
			d := clip*g[i] + decay*x
			m[i] = mu*m[i] + d
			if s.Nesterov {
				d += mu * m[i]
			} else {
				d = m[i]
			}
			w[i] = x - rate*d
		}
	})
}
