package host

import (
	"math"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// Reductions whose innermost axis is kept: rows are added to a tile of columns, so that memory is read along.

// tile is the columns that are reduced together; their partials stay in the first-level cache.
const tile = 256

// columns reduces into accumulators of a tile, a chunk of rows at a time.
func (r *reduction[T]) columns(out []T) {
	kept := r.kept
	width, _ := kept.inner()
	outer, rows := kept.turns(), r.count
	tiles := (width + tile - 1) / tile
	share := per(min(width, tile)) // rows in a chunk
	chunks := (rows + share - 1) / share
	parts := r.e.partials(len(out), chunks) // by outer, chunk, column
	r.e.each(outer*chunks*tiles, per(min(width, tile)*min(share, rows)), func(lo, hi int) {
		var acc [tile]partial
		for i := lo; i < hi; i++ {
			group, at := i/tiles, i%tiles*tile
			n := min(tile, width-at)
			first := group % chunks * share
			r.addRows(acc[:n], group/chunks*width+at, kept.at(group / chunks)[0]+at, first, min(first+share, rows))
			if chunks > 1 {
				copy(parts[group*width+at:], acc[:n])
				continue
			}
			for j := range n {
				r.put(out, group*width+at+j, acc[j])
			}
		}
	})
	if chunks > 1 {
		r.foldChunks(out, parts, width, chunks)
	}
}

// foldChunks folds the chunks of each result, rows of width partials.
func (r *reduction[T]) foldChunks(out []T, parts []partial, width, chunks int) {
	r.e.items(len(out), per(chunks), func(i int) {
		at := i/width*chunks*width + i%width
		p := parts[at]
		for c := 1; c < chunks; c++ {
			p = merge(r.f, p, parts[at+c*width])
		}
		r.put(out, i, p)
	})
}

// addRows reduces the elements of rows first to last in len(acc) columns from base on, which become
// result i and the next.
func (r *reduction[T]) addRows(acc []partial, i, base, first, last int) {
	fill(acc, r.empty())
	if r.f == slopes {
		r.d.rows(r, acc, i, base, first, last)
		return
	}
	if r.f == moments {
		r.m.rows(r, acc, base, first, last)
		return
	}
	if r.f == backend.LogSumExp && r.addExponentials(acc, base, first, last) {
		return
	}
	for cur := r.folded.from(first); first < last; first++ {
		from := base + cur.at[0]
		cur.next()
		x := r.x[from : from+len(acc)]
		switch r.f {
		case backend.Largest:
			for j, v := range x {
				acc[j].top = max(acc[j].top, float64(v))
			}
		case backend.LogSumExp:
			for j, v := range x {
				acc[j] = merge(r.f, acc[j], partial{top: float64(v), sum: 1})
			}
		case backend.SumSquares, backend.Norm:
			for j, v := range x {
				acc[j].sum += float64(v) * float64(v)
			}
		case dot:
			addProducts(acc, x, r.y[from:from+len(acc)])
		default:
			for j, v := range x {
				acc[j].sum += float64(v)
			}
		}
	}
}

// addExponentials is addRows for log-sum-exps by the kernels, which make NaN of +Inf: false asks to do it another way.
func (r *reduction[T]) addExponentials(acc []partial, base, first, last int) bool {
	var tops, sums [tile]T
	top, sum := tops[:len(acc)], sums[:len(acc)]
	r.e.k.ColStart(top, sum)
	for cur := r.folded.from(first); first < last; first++ {
		r.e.k.ColAdd(top, sum, r.x[base+cur.at[0]:][:len(acc)], 0, -1)
		cur.next()
	}
	for j, s := range sum {
		if s != s {
			fill(acc, partial{top: math.Inf(-1)})
			return false
		}
		if s > 0 {
			acc[j] = partial{top: float64(top[j]), sum: float64(s)}
		}
	}
	return true
}

func addProducts[T cpu.Float](acc []partial, x, y []T) {
	acc, y = acc[:len(x)], y[:len(x)]
	for j, v := range x {
		acc[j].sum += float64(v) * float64(y[j])
	}
}
