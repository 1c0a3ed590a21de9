package host

import "coupling/lab/device/cpu"

// Gemm is c = alpha·op(a)·op(b) + beta·c. Each element is a sum over k whose order depends on k alone (see cpu.Gemm),
// so how rows, columns and matrices are dealt out may depend on the number of workers.
func (e *engine[T]) Gemm(c tensor, alpha float64, a tensor, transA bool, b tensor, transB bool, beta float64) {
	out := view[T](c)
	e.scale(out, T(beta))
	if len(out) == 0 || a.Len() == 0 {
		return
	}
	p := product3[T]{e: e, alpha: T(alpha), out: out, a: matrices[T](a, transA), b: matrices[T](b, transB), batch: 1}
	if len(c.Shape) == 3 {
		p.batch = c.Shape[0]
	}
	p.rows, p.cols, p.depth = p.a.rows, p.b.cols, p.a.cols
	if p.b.shared && !p.a.shared && !transA { // one tall product
		p.rows, p.a.rows, p.batch = p.rows*p.batch, p.a.rows*p.batch, 1
	}
	if p.cols == 1 || p.rows == 1 {
		p.vectors()
	} else {
		p.blocks()
	}
}

// scale is x = beta·x, zeros for beta = 0 whatever x holds.
func (e *engine[T]) scale(x []T, beta T) {
	if beta == 1 {
		return
	}
	e.each(len(x), grain, func(lo, hi int) {
		if beta == 0 {
			clear(x[lo:hi])
		} else {
			e.k.Scale(x[lo:hi], beta, x[lo:hi])
		}
	})
}

// stack is op of the matrices of a tensor of rank 2 or 3.
type stack[T cpu.Float] struct {
	data                 []T
	rows, cols           int // of op
	rowStride, colStride int
	shared               bool // one matrix for all indices
}

func matrices[T cpu.Float](t tensor, transposed bool) stack[T] {
	r := len(t.Shape)
	s := stack[T]{data: view[T](t), rows: t.Shape[r-2], cols: t.Shape[r-1], rowStride: t.Shape[r-1], colStride: 1}
	s.shared = r == 2 || t.Shape[0] == 1
	if transposed {
		return s.transpose()
	}
	return s
}

// at is the rows and columns from r, c on of matrix i.
func (s stack[T]) at(i, r, rows, c, cols int) cpu.Matrix[T] {
	if s.shared {
		i = 0
	}
	from := i*s.rows*s.cols + r*s.rowStride + c*s.colStride
	return cpu.Matrix[T]{Data: s.data[from:], Rows: rows, Cols: cols, RowStride: s.rowStride, ColStride: s.colStride}
}

// product3 is batch products of rows×depth and depth×cols, added to out.
type product3[T cpu.Float] struct {
	e                        *engine[T]
	alpha                    T
	out                      []T
	a, b                     stack[T]
	batch, rows, cols, depth int
}

// blocks deals out blocks of the results, as square as may be: packing a block's factors costs its circumference.
func (p product3[T]) blocks() {
	const least = 1 << 20 // multiplications that are worth a hand-over
	shares := min(2*p.e.workers(), 1+p.batch*p.rows*p.cols*p.depth/least)
	if p.e.workers() == 1 {
		shares = 1
	}
	shares = max(1, (shares+p.batch-1)/p.batch)
	br, bc := split(p.rows, p.cols, shares)
	down, across := (p.rows+br-1)/br, (p.cols+bc-1)/bc
	p.e.itemsPad(p.batch*down*across, 1+least/max(1, br*bc*p.depth*4), func(pad *pad[T], i int) {
		n, r, c := i/(down*across), i/across%down*br, i%across*bc
		rows, cols := min(br, p.rows-r), min(bc, p.cols-c)
		to := cpu.Matrix[T]{
			Data:      p.out[(n*p.rows+r)*p.cols+c:],
			Rows:      rows,
			Cols:      cols,
			RowStride: p.cols,
			ColStride: 1,
		}
		pad.gemm.Add(to, p.alpha, p.a.at(n, r, rows, 0, p.depth), p.b.at(n, 0, p.depth, c, cols))
	})
}

// split is the size of blocks that cut rows×cols into about so many, multiples of every kernel's tile.
func split(rows, cols, shares int) (br, bc int) {
	best := -1
	for down := 1; down <= shares; down++ {
		across := (shares + down - 1) / down
		r, c := roundUp((rows+down-1)/down, 12), roundUp((cols+across-1)/across, 32)
		// Packed elements of the factors, and the padding of tiles.
		cost := across*rows + down*cols + down*r*across*c/64
		if best < 0 || cost < best {
			best, br, bc = cost, r, c
		}
	}
	return br, bc
}

func roundUp(n, step int) int { return (n + step - 1) / step * step }

// vectors is products with one column, or with one row as its transpose: matrices times vectors, read along their rows.
func (p product3[T]) vectors() {
	m, v, n := p.a, p.b, p.rows
	if p.cols != 1 {
		m, v, n = p.b.transpose(), p.a, p.cols
	}
	share := roundUp(min(n, per(p.depth)), 16)
	pieces := (n + share - 1) / share
	p.e.eachPad(p.batch*pieces, per(share*p.depth), func(pad *pad[T], lo, hi int) {
		weights := pad.buf(0, p.depth)
		for i := lo; i < hi; i++ {
			from := i % pieces * share
			to := min(from+share, n)
			p.e.k.Scale(weights, p.alpha, v.at(i/pieces, 0, 0, 0, 0).Data[:p.depth])
			p.vector(pad, p.out[i/pieces*n+from:i/pieces*n+to], m.at(i/pieces, from, to-from, 0, p.depth), weights)
		}
	})
}

// vector adds m·v to y.
func (p product3[T]) vector(scratch *pad[T], y []T, m cpu.Matrix[T], v []T) {
	if m.ColStride != 1 || m.RowStride < m.Cols { // the latter is one row whose elements are rows of one
		p.e.k.GemvT(y, m.Data, m.ColStride, v)
		return
	}
	sums := scratch.buf(1, len(y))
	p.e.k.Gemv(sums, m.Data, m.RowStride, v)
	p.e.k.Axpy(y, 1, sums)
}

func (s stack[T]) transpose() stack[T] {
	s.rows, s.cols, s.rowStride, s.colStride = s.cols, s.rows, s.colStride, s.rowStride
	return s
}
