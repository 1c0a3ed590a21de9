package host

import "coupling/lab/device/cpu"

// Gemm is c = alpha·op(a)·op(b) + beta·c.
func (e *engine[T]) Gemm(c tensor, alpha float64, a tensor, transA bool, b tensor, transB bool, beta float64) error {
	out := view[T](c)
	batch, rows, cols := 1, c.Shape[len(c.Shape)-2], c.Shape[len(c.Shape)-1]
	if len(c.Shape) == 3 {
		batch = c.Shape[0]
	}
	e.scale(out, T(beta))
	if len(out) == 0 {
		return nil
	}
	as, bs := matrices[T](a, transA), matrices[T](b, transB)
	depth := as(0).Cols
	shares := max(1, 2*e.workers()/batch)
	block := max((rows+shares-1)/shares, 96)
	blocks := (rows + block - 1) / block
	pads := e.padsOf()
	e.each(batch*blocks, per(2*block*cols*depth/64), func(w, lo, hi int) {
		for i := lo; i < hi; i++ {
			n, from := i/blocks, i%blocks*block
			to := min(from+block, rows)
			cn := cpu.Dense(out[n*rows*cols:(n+1)*rows*cols], rows, cols).Slice(from, to)
			pads[w].gemm.Add(cn, T(alpha), as(n).Slice(from, to), bs(n))
		}
	})
	return nil
}

// scale is x = beta·x, zeros for beta = 0 whatever x holds.
func (e *engine[T]) scale(x []T, beta T) {
	if beta == 1 {
		return
	}
	e.each(len(x), grain, func(_, lo, hi int) {
		if beta == 0 {
			clear(x[lo:hi])
		} else {
			e.k.Scale(x[lo:hi], beta, x[lo:hi])
		}
	})
}

// matrices is op of the matrix at each first index, or of the one matrix there is.
func matrices[T cpu.Float](t tensor, transposed bool) func(i int) cpu.Matrix[T] {
	data, r := view[T](t), len(t.Shape)
	rows, cols := t.Shape[r-2], t.Shape[r-1]
	shared := r == 2 || t.Shape[0] == 1
	return func(i int) cpu.Matrix[T] {
		if shared {
			i = 0
		}
		m := cpu.Dense(data[i*rows*cols:(i+1)*rows*cols], rows, cols)
		if transposed {
			return m.T()
		}
		return m
	}
}
