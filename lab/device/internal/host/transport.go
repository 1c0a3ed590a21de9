package host

import (
	"math"

	"coupling/lab/device/cpu"
)

// Optimal transport with the costs held.

// LSERows is out_i = log Σ_j exp(h_j − c_ij·inv), for each first index of a batch.
func (e *engine[T]) LSERows(out, c, h tensor, inv float64) {
	to, cs, hs := view[T](out), view[T](c), view[T](h)
	n, m := c.Shape[len(c.Shape)-2], c.Shape[len(c.Shape)-1]
	e.each(len(to), per(4*m), func(lo, hi int) { // no call for each of many short rows
		for i := lo; i < hi; i++ {
			b := i / n
			to[i] = e.k.RowLSE(hs[b*m:(b+1)*m], cs[i*m:(i+1)*m], T(inv))
		}
	})
}

// band is the columns that are done together; their sums stay in the first-level cache.
const band = 512

// LSECols is out_j = log Σ_i exp(g_i − c_ij·inv), for each first index of a batch: a band of columns and a chunk of
// rows at a time, chunks merged in float64.
func (e *engine[T]) LSECols(out, c, g tensor, inv float64) {
	to, cs, gs := view[T](out), view[T](c), view[T](g)
	n, m := c.Shape[len(c.Shape)-2], c.Shape[len(c.Shape)-1]
	if len(to) == 0 {
		return
	}
	const rows = 256 // of a chunk; float32 sums do not get longer
	bands, chunks := (m+band-1)/band, max(1, (n+rows-1)/rows)
	sums := e.hold(0, 2*chunks*len(to)) // by batch and chunk: maxima, then sums, of m columns each
	e.items(len(to)/m*chunks*bands, per(min(n, rows)*min(m, band)), func(i int) {
		group, from := i/bands, i%bands*band
		b, first, w := group/chunks, group%chunks*rows, min(band, m-from)
		top, sum := sums[2*group*m+from:][:w], sums[(2*group+1)*m+from:][:w]
		e.k.ColStart(top, sum)
		for r := first; r < min(first+rows, n); r++ {
			e.k.ColAdd(top, sum, cs[(b*n+r)*m+from:][:w], gs[b*n+r], T(inv))
		}
	})
	e.items(len(to), per(8*chunks), func(i int) {
		at := i/m*chunks*2*m + i%m
		to[i] = T(mergeColumn(sums[at:], m, chunks))
	})
}

// mergeColumn is the log-sum-exp of chunks whose maxima and sums follow one another, stride apart.
func mergeColumn[T cpu.Float](sums []T, stride, chunks int) float64 {
	top, sum := math.Inf(-1), 0.0
	for c := range chunks {
		t, s := float64(sums[2*c*stride]), float64(sums[(2*c+1)*stride])
		switch {
		case s == 0:
		case t > top:
			sum, top = sum*math.Exp(top-t)+s, t
		default:
			sum += s * math.Exp(t-top)
		}
	}
	if sum == 0 {
		return math.Inf(-1)
	}
	return top + math.Log(sum)
}

// PlanRows is out_i = Σ_j P_ij v_j.
func (e *engine[T]) PlanRows(out, c, u, h, v tensor, inv float64) {
	to, cs, us, hs := view[T](out), view[T](c), view[T](u), view[T](h)
	vs := newValues(e, v)
	m, k := vs.m, vs.k
	e.eachPad(len(us), 12, func(pad *pad[T], lo, hi int) {
		vs.weigh(pad, to[lo*k:hi*k], e.plan(pad, cs[lo*m:hi*m], us[lo:hi], hs, T(inv)))
	})
}

// PlanCols is out_j = Σ_i P_ij v_i, a band of columns at a time. Sums of some rows are taken in the type of the
// elements, those of all in float64.
func (e *engine[T]) PlanCols(out, c, u, h, v tensor, inv float64) {
	to, cs, us, hs, vs, k := view[T](out), view[T](c), view[T](u), view[T](h), view[T](v), v.Shape[1]
	n, m := c.Shape[0], c.Shape[1]
	const some = 64
	e.eachPad(m, band, func(pad *pad[T], lo, hi int) {
		width := hi - lo
		total := make([]float64, k*width)
		t, acc := pad.buf(1, some*width), pad.buf(2, k*width)
		for i := 0; i < n; i += some {
			rows := min(some, n-i)
			for r := range rows {
				e.planRow(t[r*width:(r+1)*width], cs[(i+r)*m+lo:(i+r)*m+hi], us[i+r], hs[lo:hi], T(inv))
			}
			e.spread(pad, acc, vs[i*k:(i+rows)*k], t[:rows*width], k)
			for j, x := range acc {
				total[j] += float64(x)
			}
		}
		for j := lo; j < hi; j++ {
			for q := range k {
				to[j*k+q] = T(total[q*width+j-lo])
			}
		}
	})
}

// spread is acc_qj = Σ_r v_rq t_rj for k columns of v.
func (e *engine[T]) spread(p *pad[T], acc, v, t []T, k int) {
	clear(acc)
	if k == 0 {
		return
	}
	rows, width := len(v)/k, len(acc)/k
	if k > fewColumns {
		p.gemm.Add(cpu.Dense(acc, k, width), 1, cpu.Dense(v, rows, k).T(), cpu.Dense(t, rows, width))
		return
	}
	weights := p.buf(3, rows)
	for q := range k {
		for r := range weights {
			weights[r] = v[r*k+q]
		}
		e.k.GemvT(acc[q*width:(q+1)*width], t, width, weights)
	}
}
