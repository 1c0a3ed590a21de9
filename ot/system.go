package ot

// negligible is the share of its row and its column below which CG leaves out an entry of T: it is
// below the rounding of the sums.
const negligible = 1e-18

// maxListShare is the share of entries above which products with all of T are faster than with a list of entries.
const maxListShare = 0.1

// system returns D of the plan and the right-hand side (T∘V)ᵀ1 − Tᵀ((T∘V)1/T1). T is held as a
// matrix, or as a list if few entries are not negligible; if both would exceed most entries, every
// product computes T again.
func (p *Plan) system(v field, most int) (*hessian, []float64) {
	n, m := p.Dims()
	h := newHessian(n, m)
	h.sw = newSweep(p.g, 0)
	s := &systemRows{p: p, v: v, cols: make([]float64, len(h.sw.Spans)*m), rhs: make([]float64, len(h.sw.Spans)*m)}
	list := p.listShare() < maxListShare
	if !list && n <= most/m {
		h.full = p.memory.floats(n * m)
	}
	lists := make([]activeSpan, len(h.sw.Spans))
	h.sw.Each(func(w *worker, k int, r span) {
		logT, f, sq := make([]float64, m), make([]float64, m), make([]float64, m)
		for i := r.Lo; i < r.Hi; i++ {
			t := w.exp
			if h.full != nil {
				t = h.full[i*m : (i+1)*m]
			}
			s.row(k, i, t, logT, f, sq, w.cost)
			if list {
				h.row[i] = lists[k].significant(t, p.B, p.mass[i], s.cols[k*m:(k+1)*m], most)
				continue
			}
			h.row[i] = kern.Sum(t)
			axpy(s.cols[k*m:(k+1)*m], t, 1)
		}
	})
	rhs := make([]float64, m)
	for k := range h.sw.Spans {
		axpy(h.col, s.cols[k*m:(k+1)*m], 1)
		axpy(rhs, s.rhs[k*m:(k+1)*m], 1)
	}
	if !list && h.full == nil || list && !h.join(lists, most) {
		h.matrixFree = p
	}
	return h, rhs
}

// systemRows computes the rows of a system; cols and rhs are sums by span.
type systemRows struct {
	p         *Plan
	v         field
	cols, rhs []float64
}

// row writes row i of T to t and adds its part to the right-hand side; the rest is scratch.
func (s *systemRows) row(k, i int, t, logT, f, sq, cost []float64) {
	p := s.p
	p.logRow(i, t, logT, cost)
	if p.mass[i] > 0 {
		s.v(i, f, t, logT)
		centre(f, t, p.mass[i])
		kern.Mul(sq, f, t)
		m := len(t)
		axpy(s.rhs[k*m:(k+1)*m], sq, 1)
	}
}

// significant appends the entries of a row of T that are not negligible, adds them to cols and returns their sum. After more
// than most entries it only adds.
func (a *activeSpan) significant(t, b []float64, mass float64, cols []float64, most int) float64 {
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

// join joins the spans' lists and reports whether they have at most most entries.
func (h *hessian) join(lists []activeSpan, most int) bool {
	var total int
	for _, l := range lists {
		total += len(l.idx)
	}
	if total > most {
		return false
	}
	h.ptr = append(h.ptr, 0)
	h.idx, h.val = make([]int32, 0, total), make([]float64, 0, total)
	for _, l := range lists {
		at := len(h.idx)
		for _, p := range l.ptr {
			h.ptr = append(h.ptr, at+p)
		}
		h.idx, h.val = append(h.idx, l.idx...), append(h.val, l.val...)
	}
	return true
}

// listShare estimates from a few rows the share of the entries of T that are not negligible.
func (p *Plan) listShare() float64 {
	const rows = 8
	n, m := p.Dims()
	t, cost := make([]float64, m), make([]float64, m)
	var seen, kept int
	for k := range rows {
		i := (2*k + 1) * n / (2 * rows)
		if p.mass[i] == 0 {
			continue
		}
		p.row(i, t, cost)
		for j, x := range t {
			if x > 0 && (x >= negligible*p.mass[i] || x >= negligible*p.B[j]) {
				kept++
			}
		}
		seen += m
	}
	return float64(kept) / float64(max(1, seen))
}

// laplacian writes D v = Diag(col) v − Tᵀ(T v / T1), in one pass over the plan.
func (p *Plan) laplacian(dst, v, col []float64) {
	if p.onDevice("a product", false, func(d *devicePlan) error { return d.laplacian(dst, v, col) }) {
		return
	}
	m := len(dst)
	sw := newSweep(p.g, 0)
	part := make([]float64, len(sw.Spans)*m)
	sw.Each(func(w *worker, k int, s span) {
		for i := s.Lo; i < s.Hi; i++ {
			if p.mass[i] > 0 {
				p.row(i, w.exp, w.cost)
				axpy(part[k*m:(k+1)*m], w.exp, dot(w.exp, v)/p.mass[i])
			}
		}
	})
	kern.Mul(dst, col, v)
	for k := range sw.Spans {
		axpy(dst, part[k*m:(k+1)*m], -1)
	}
}
