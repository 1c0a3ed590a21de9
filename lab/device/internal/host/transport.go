package host

// Optimal transport with the costs held.

// LSERows is out_i = log Σ_j exp(h_j − c_ij·inv), for each first index of a batch.
func (e *engine[T]) LSERows(out, c, h tensor, inv float64) error {
	to, cs, hs := view[T](out), view[T](c), view[T](h)
	n, m := c.Shape[len(c.Shape)-2], c.Shape[len(c.Shape)-1]
	e.each(len(to), per(4*m), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			b := i / n
			to[i] = e.k.RowLSE(hs[b*m:(b+1)*m], cs[i*m:(i+1)*m], T(inv))
		}
	})
	return nil
}

// band is the columns that are done together; what they accumulate stays in the first-level cache.
const band = 512

// LSECols is out_j = log Σ_i exp(g_i − c_ij·inv), for each first index of a batch.
func (e *engine[T]) LSECols(out, c, g tensor, inv float64) error {
	to, cs, gs := view[T](out), view[T](c), view[T](g)
	n, m := c.Shape[len(c.Shape)-2], c.Shape[len(c.Shape)-1]
	if m == 0 {
		return nil
	}
	bands := (m + band - 1) / band
	e.each(len(to)/m*bands, per(n*min(m, band)), func(_, lo, hi int) {
		var top, sum [band]T
		for i := lo; i < hi; i++ {
			b, from := i/bands, i%bands*band
			w := min(band, m-from)
			e.k.ColStart(top[:w], sum[:w])
			for r := range n {
				e.k.ColAdd(top[:w], sum[:w], cs[(b*n+r)*m+from:][:w], gs[b*n+r], T(inv))
			}
			e.k.ColLSE(to[b*m+from:][:w], top[:w], sum[:w])
		}
	})
	return nil
}

// PlanRows is out_i = Σ_j P_ij v_j.
func (e *engine[T]) PlanRows(out, c, u, h, v tensor, inv float64) error {
	to, cs, us, hs, k := view[T](out), view[T](c), view[T](u), view[T](h), v.Shape[1]
	n, m := c.Shape[0], c.Shape[1]
	vt, pads := transpose(e.crew, view[T](v), m, k), e.padsOf()
	e.each(n, per(m*(k+4)), func(w, lo, hi int) {
		for i := lo; i < hi; i++ {
			e.planRow(pads[w], to[i*k:(i+1)*k], cs[i*m:(i+1)*m], us[i], hs, vt, T(inv))
		}
	})
	return nil
}

// PlanCols is out_j = Σ_i P_ij v_i, a band of columns at a time, sums in float64.
func (e *engine[T]) PlanCols(out, c, u, h, v tensor, inv float64) error {
	to, cs, us, hs, vs, k := view[T](out), view[T](c), view[T](u), view[T](h), view[T](v), v.Shape[1]
	n, m := c.Shape[0], c.Shape[1]
	pads := e.padsOf()
	e.each(m, band, func(w, lo, hi int) {
		acc := make([]float64, (hi-lo)*k)
		for i := range n {
			t := e.plan(pads[w], cs[i*m+lo:i*m+hi], us[i], hs[lo:hi], T(inv))
			for q, weight := range vs[i*k : (i+1)*k] {
				sums := acc[q*len(t) : (q+1)*len(t)]
				for j, p := range t {
					sums[j] += float64(p) * float64(weight)
				}
			}
		}
		for j := lo; j < hi; j++ {
			for q := range k {
				to[j*k+q] = T(acc[q*(hi-lo)+j-lo])
			}
		}
	})
	return nil
}
