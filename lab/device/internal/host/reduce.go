package host

import (
	"math"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// Reductions beside those of the interface: ReduceDot, the sums of AffineVJP, and moments.
const (
	dot = backend.NumReduction + iota
	slopes
	moments
)

// Reduce reduces the axes where dst has size 1.
func (e *engine[T]) Reduce(dst, x tensor, f backend.Reduction) {
	e.reduce(dst, x, reduction[T]{f: f})
}

// ReduceDot is Σ x·y over the axes where dst has size 1.
func (e *engine[T]) ReduceDot(dst, x, y tensor) {
	e.reduce(dst, x, reduction[T]{f: dot, y: view[T](y)})
}

// A reduction is kept × folded: the loops over the elements of the result, and over what becomes one of them. Its
// partial results are float64 and belong to chunks that depend on the shape alone; chunks are folded in their order.
type reduction[T cpu.Float] struct {
	e      *engine[T]
	f      backend.Reduction
	x, y   []T
	kept   loops
	folded loops
	count  int // elements that become one

	d *derivative[T] // of slopes
	m *momentsOf[T]  // of moments
}

// reduce splits the axes in kept and folded and takes the way that reads rows along.
func (e *engine[T]) reduce(dst, x tensor, r reduction[T]) {
	r.e, r.x = e, view[T](x)
	stride := x.Len()
	columns := false // the innermost axis is kept
	for i, n := range x.Shape {
		if n > 0 {
			stride /= n
		}
		step := [maxOperands]int{stride}
		if n == 1 {
			continue
		}
		if columns = dst.Shape[i] != 1; columns {
			r.kept.add(n, step)
		} else {
			r.folded.add(n, step)
		}
	}
	r.count = r.folded.turns()
	out := view[T](dst)
	if x.Len() == 0 {
		e.items(len(out), grain, func(i int) {
			r.put(out, i, r.empty())
		})
		return
	}
	if columns {
		r.columns(out)
	} else {
		r.rows(out)
	}
}

// partial is a sum, or a log-sum-exp as top + log(sum), or a maximum as top; of slopes sum is Σ dz
// and top Σ dz·(x − center); of moments n is the count, top the mean and sum that of squared
// deviations from it.
type partial struct{ top, sum, n float64 }

// empty is the partial of nothing.
func (r *reduction[T]) empty() partial {
	if r.f == slopes || r.f == moments {
		return partial{}
	}
	return partial{top: math.Inf(-1)}
}

// merge is the partial of both.
func merge(f backend.Reduction, a, b partial) partial {
	switch f {
	case backend.Largest:
		return partial{top: max(a.top, b.top)}
	case backend.LogSumExp:
		if math.IsNaN(a.top) || math.IsNaN(b.top) {
			return partial{top: math.NaN(), sum: math.NaN()}
		}
		if a.top < b.top {
			a, b = b, a
		}
		if math.IsInf(b.top, -1) || math.IsInf(a.top, 1) {
			return a
		}
		return partial{top: a.top, sum: a.sum + b.sum*math.Exp(b.top-a.top)}
	case slopes:
		return partial{top: a.top + b.top, sum: a.sum + b.sum}
	case moments:
		return mergeMoments(a, b)
	default:
		return partial{sum: a.sum + b.sum}
	}
}

// finish makes the result of a partial.
func (r *reduction[T]) finish(p partial) float64 {
	switch r.f {
	case backend.Mean:
		return p.sum / float64(r.count)
	case backend.Norm:
		return math.Sqrt(p.sum)
	case backend.Largest:
		return p.top
	case backend.LogSumExp:
		if math.IsInf(p.top, 0) {
			return p.top
		}
		return p.top + math.Log(p.sum)
	default:
		return p.sum
	}
}

// rows reduces where the innermost axis is folded: each element of the result is a sequence of runs.
func (r *reduction[T]) rows(out []T) {
	runs := r.folded
	run, _ := runs.inner()
	piece := min(run, grain)
	cuts := (run + piece - 1) / piece
	pieces := runs.turns() * cuts // of one element
	share := per(piece)           // pieces in a chunk
	chunks := (pieces + share - 1) / share
	parts := r.e.partials(len(out), chunks)
	r.e.each(len(out)*chunks, per(piece*min(share, pieces)), func(lo, hi int) {
		var buf [strip]T
		for i := lo; i < hi; i++ {
			base, first := r.kept.at(i / chunks)[0], i%chunks*share
			cur, p := runs.from(first/cuts), r.empty()
			for j := first; j < min(first+share, pieces); j++ {
				at := j % cuts * piece
				p = merge(r.f, p, r.run(&buf, i/chunks, base+cur.at[0]+at, min(piece, run-at)))
				if at+piece >= run {
					cur.next()
				}
			}
			if chunks == 1 {
				r.put(out, i, p)
			} else {
				parts[i] = p
			}
		}
	})
	if chunks > 1 {
		r.foldChunks(out, parts, 1, chunks)
	}
}

// partials is scratch memory for the partials of n elements in some chunks, none for one chunk.
func (e *engine[T]) partials(n, chunks int) []partial {
	if chunks == 1 {
		return nil
	}
	if cap(e.parts) < n*chunks {
		e.parts = make([]partial, n*chunks)
	}
	return e.parts[:n*chunks]
}

// put writes result i.
func (r *reduction[T]) put(out []T, i int, p partial) {
	switch r.f {
	case slopes:
		r.d.put(i, p)
	case moments:
		r.m.put(i, p)
	default:
		out[i] = T(r.finished(p, i))
	}
}

// finished is the result of element i from the partial of all that became it.
func (r *reduction[T]) finished(p partial, i int) float64 {
	if v := r.finish(p); r.f != backend.Norm || !is64[T]() || v > 0x1p-480 && v < math.Inf(1) {
		return v
	}
	return r.scaledNorm(i)
}

// scaledNorm is the norm of element i where squares leave the range of float64.
func (r *reduction[T]) scaledNorm(i int) float64 {
	base, norm := r.kept.at(i)[0], 0.0
	for j := range r.count {
		norm = math.Hypot(norm, float64(r.x[base+r.folded.at(j)[0]]))
	}
	return norm
}

// run is the partial of n adjacent elements of result i; buf is scratch.
func (r *reduction[T]) run(buf *[strip]T, i, from, n int) partial {
	x := r.x[from : from+n]
	switch r.f {
	case slopes:
		return r.d.run(r.e, i, from, x, buf)
	case moments:
		return r.m.run(r.e, x, buf)
	case backend.Largest:
		return partial{top: float64(largest(x))}
	case backend.LogSumExp:
		return r.logSumExp(x)
	case backend.SumSquares, backend.Norm:
		return partial{sum: r.e.k.WideDot(x, x)}
	case dot:
		return partial{sum: r.e.k.WideDot(x, r.y[from:from+n])}
	default:
		return partial{sum: r.e.k.WideSum(x)}
	}
}

// logSumExp is a run's log-sum-exp with sum 1. The kernels make NaN of +Inf, which is told apart here.
func (r *reduction[T]) logSumExp(x []T) partial {
	v := float64(r.e.k.LogSumExp(x))
	if math.IsNaN(v) {
		v = float64(largest(x)) // +Inf, or NaN
	}
	return partial{top: v, sum: 1}
}

// largest is the maximum; NaN passes.
func largest[T cpu.Float](x []T) T {
	a := T(math.Inf(-1))
	b, c, d := a, a, a
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d = max(a, x[0]), max(b, x[1]), max(c, x[2]), max(d, x[3])
	}
	for _, v := range x {
		a = max(a, v)
	}
	return max(a, b, c, d)
}
