package derivative

import (
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"
)

// negligible is the share of its row and its column below which CG leaves out an entry of T: it is
// below the rounding of the sums.
const negligible = 1e-18

// maxListShare is the share of entries above which products with all of T are faster than with a list of entries.
const maxListShare = 0.1

// System returns D of the plan and the right-hand side (T∘V)ᵀ1 − Tᵀ((T∘V)1/T1). T is held as a
// matrix, or as a list if few entries are not negligible; if both would exceed most entries, every
// product computes T again.
func System(p *transport.Plan, v Field, most int) (*Hessian, []float64) {
	n, m := p.Dims()
	h := NewHessian(n, m, p.Memory)
	h.sw = p.Sweep()
	list := listShare(p, h.sw.Scratch[0]) < maxListShare
	if !list && n <= most/m {
		h.full = p.Memory.Floats(n * m)
	}
	if h.lists == nil {
		h.lists = make([]entries, len(h.sw.Spans))
	}
	sums := p.Memory.Floats(2 * m) // the columns of T, and the right-hand side
	h.sw.Columns(sums, func(w *semidual.Worker, k int, r rows.Span, sum []float64) {
		scratch := w.Room(3 * m)
		logT, f, sq, l := scratch[:m], scratch[m:2*m], scratch[2*m:], &h.lists[k]
		l.ptr, l.idx, l.val = l.ptr[:0], l.idx[:0], l.val[:0]
		for i := r.Lo; i < r.Hi; i++ {
			t := w.Exp
			if h.full != nil {
				t = h.full[i*m : (i+1)*m]
			}
			p.LogRow(i, t, logT, w.Cost)
			if p.Mass[i] > 0 {
				v(i, f, t, logT)
				centre(f, t, p.Mass[i])
				kern.Mul(sq, f, t)
				kern.Axpy(sum[m:], 1, sq)
			}
			if list {
				h.rows[i].Sum = l.significant(t, p.B, p.Mass[i], sum[:m], most)
				continue
			}
			h.rows[i].Sum = kern.Sum(t)
			kern.Axpy(sum[:m], 1, t)
		}
	})
	copy(h.Col, sums[:m])
	if !list && h.full == nil || list && !h.take(most) {
		h.MatrixFree = p
	}
	return h, sums[m:]
}

// entries are those of the rows of a span that are not negligible: row i has [ptr[i-1], ptr[i]).
type entries struct {
	ptr []int
	idx []int32
	val []float64
}

// significant appends the entries of a row of T that are not negligible, adds them to cols and
// returns their sum. After more than most entries it only adds.
func (a *entries) significant(t, b []float64, mass float64, cols []float64, most int) float64 {
	var sum float64
	for j, x := range t {
		if x > 0 && (x >= negligible*mass || x >= negligible*b[j]) {
			cols[j] += x
			sum += x
			if len(a.idx) <= most {
				a.idx, a.val = append(a.idx, int32(j)), append(a.val, x)
			}
		}
	}
	a.ptr = append(a.ptr, len(a.idx))
	return sum
}

// take sets the rows to the spans' lists and reports whether they have at most most entries.
func (h *Hessian) take(most int) bool {
	for k, r := range h.sw.Spans {
		l, at := &h.lists[k], 0
		if most -= len(l.idx); most < 0 {
			return false
		}
		for i, end := range l.ptr {
			h.rows[r.Lo+i].Idx, h.rows[r.Lo+i].Val, at = l.idx[at:end], l.val[at:end], end
		}
	}
	return true
}

// listShare estimates from a few rows the share of the entries of T that are not negligible.
func listShare(p *transport.Plan, w *semidual.Worker) float64 {
	const rows = 8
	n, m := p.Dims()
	var seen, kept int
	for k := range rows {
		i := (2*k + 1) * n / (2 * rows)
		if p.Mass[i] == 0 {
			continue
		}
		p.Row(i, w.Exp, w.Cost)
		for j, x := range w.Exp {
			if x > 0 && (x >= negligible*p.Mass[i] || x >= negligible*p.B[j]) {
				kept++
			}
		}
		seen += m
	}
	return float64(kept) / float64(max(1, seen))
}
