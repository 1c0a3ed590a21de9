package host

import (
	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// Optimal transport between points: costs are made on the way, row by row.

// cloud is the points y coordinate after coordinate, as the kernels on points want them, with a cost.
type cloud[T cpu.Float] struct {
	e    *engine[T]
	y    []T // m×d, as given
	t    []T // d×m
	m, d int
	cost cpu.Cost[T]
}

// many is the dimension from which costs are made by blocked products: one row at a time would read all of y.
const many = 24

func (e *engine[T]) cloud(y tensor, cost backend.Cost) cloud[T] {
	c := cloud[T]{
		e:    e,
		y:    view[T](y),
		m:    y.Shape[0],
		d:    y.Shape[1],
		cost: cpu.Cost[T]{Square: T(cost.Square), Abs: T(cost.Abs)},
	}
	c.t = e.transpose(e.hold(0, c.m*c.d), c.y, c.m, c.d)
	return c
}

// transpose writes the columns of an n×m matrix as rows of t, and returns it.
func (e *engine[T]) transpose(t, x []T, n, m int) []T {
	if n > 0 {
		e.each(m, per(n), func(lo, hi int) { e.k.Transpose(t[lo*n:], n, x[lo:], m, n, hi-lo) })
	}
	return t
}

// costs writes the costs between points x, n×d, and all of y to the rows of c.
func (l cloud[T]) costs(p *pad[T], c, x []T) {
	n := len(c) / max(l.m, 1)
	if l.d < many {
		for i := range n {
			l.e.k.PointCosts(c[i*l.m:(i+1)*l.m], x[i*l.d:(i+1)*l.d], l.t, l.cost)
		}
		return
	}
	clear(c)
	xs, ys := cpu.Dense(x, n, l.d), cpu.Dense(l.y, l.m, l.d)
	if l.cost.Square != 0 {
		p.gemm.AddSquares(cpu.Dense(c, n, l.m), xs, ys)
		l.e.k.Scale(c, l.cost.Square, c)
	}
	if l.cost.Abs != 0 {
		abs := p.buf(3, len(c))
		clear(abs)
		p.gemm.AddAbs(cpu.Dense(abs, n, l.m), xs, ys)
		l.e.k.Axpy(c, l.cost.Abs, abs)
	}
}

// blocks calls work with the points lo to hi of x and their costs, which are valid during the call.
func (l cloud[T]) blocks(x tensor, work func(p *pad[T], lo, hi int, c []T)) {
	xs, n, block := view[T](x), x.Shape[0], 12 // a tile of products
	if l.d >= many {
		block *= max(1, min(4, 1<<16/max(l.m, 1))) // packing y is shared by more
	}
	l.e.eachPad(n, block, func(pad *pad[T], lo, hi int) {
		c := pad.buf(0, (hi-lo)*l.m)
		l.costs(pad, c, xs[lo*l.d:hi*l.d])
		work(pad, lo, hi, c)
	})
}

// Costs writes all costs.
func (e *engine[T]) Costs(c, x, y tensor, cost backend.Cost) {
	l, out, xs := e.cloud(y, cost), view[T](c), view[T](x)
	e.eachPad(x.Shape[0], max(48, per(l.m*l.d)), func(pad *pad[T], lo, hi int) {
		l.costs(pad, out[lo*l.m:hi*l.m], xs[lo*l.d:hi*l.d])
	})
}

// PointLSE is out_i = log Σ_j exp(h_j − c_ij·inv).
func (e *engine[T]) PointLSE(out, x, y, h tensor, cost backend.Cost, inv float64) {
	l, to, hs, xs := e.cloud(y, cost), view[T](out), view[T](h), view[T](x)
	if l.d >= many {
		l.blocks(x, func(_ *pad[T], lo, hi int, c []T) {
			for i := lo; i < hi; i++ {
				to[i] = e.k.RowLSE(hs, c[(i-lo)*l.m:(i-lo+1)*l.m], T(inv))
			}
		})
		return
	}
	e.items(len(to), per(l.m*(l.d+4)), func(i int) {
		to[i] = e.k.PointRowLSE(hs, xs[i*l.d:(i+1)*l.d], l.t, l.cost, T(inv))
	})
}

// PointApply is out_i = Σ_j P_ij v_j.
func (e *engine[T]) PointApply(out, x, y, u, h, v tensor, cost backend.Cost, inv float64) {
	l, to, us, hs, k := e.cloud(y, cost), view[T](out), view[T](u), view[T](h), v.Shape[1]
	vs := newValues(e, v)
	l.blocks(x, func(p *pad[T], lo, hi int, c []T) {
		vs.weigh(p, to[lo*k:hi*k], e.plan(p, c, us[lo:hi], hs, T(inv)))
	})
}

// PointCost is out_i = Σ_j P_ij·c_ij.
func (e *engine[T]) PointCost(out, x, y, u, h tensor, cost backend.Cost, inv float64) {
	l, to, us, hs := e.cloud(y, cost), view[T](out), view[T](u), view[T](h)
	l.blocks(x, func(p *pad[T], lo, hi int, c []T) {
		t := e.plan(p, c, us[lo:hi], hs, T(inv))
		for i := range hi - lo {
			to[lo+i] = T(e.dot(t[i*l.m:(i+1)*l.m], c[i*l.m:(i+1)*l.m]))
		}
	})
}

// PointGrad is grad_i = Σ_j P_ij·(1 + r_i + s_j − c_ij·inv)·∂c_ij/∂x_i.
func (e *engine[T]) PointGrad(grad, x, y, u, h, r, s tensor, cost backend.Cost, inv float64, linear bool) {
	l, to, xs := e.cloud(y, cost), view[T](grad), view[T](x)
	us, hs, rs, ss := view[T](u), view[T](h), view[T](r), view[T](s)
	l.blocks(x, func(p *pad[T], lo, hi int, c []T) {
		w := e.plan(p, c, us[lo:hi], hs, T(inv))
		for i := range hi - lo {
			a, b := rs[lo+i]+1, T(inv)
			if linear {
				a, b = rs[lo+i], 0
			}
			row, factor := w[i*l.m:(i+1)*l.m], p.buf(2, l.m)
			e.k.RowLogits(factor, ss, c[i*l.m:(i+1)*l.m], b)
			e.k.Mul(factor, factor, row)
			e.k.Scale(row, a, row)
			e.k.Axpy(row, 1, factor)
		}
		l.slopes(p, to[lo*l.d:hi*l.d], w, xs[lo*l.d:hi*l.d])
	})
}

// slopes is Σ_j w_ij·∂c(x_i, y_j)/∂x_i. In few dimensions differences are taken before they are weighted, since near
// points would cancel; in many, where points are far from one another, Σ w·(x − y) is a product of matrices.
func (l cloud[T]) slopes(p *pad[T], out, w, x []T) {
	if l.cost.Square != 0 && l.d >= many {
		n := len(x) / l.d
		clear(out)
		p.gemm.Add(cpu.Dense(out, n, l.d), -2*l.cost.Square, cpu.Dense(w, n, l.m), cpu.Dense(l.y, l.m, l.d))
		for i := range n {
			mass := 2 * float64(l.cost.Square) * l.e.k.WideSum(w[i*l.m:(i+1)*l.m])
			l.e.k.Axpy(out[i*l.d:(i+1)*l.d], T(mass), x[i*l.d:(i+1)*l.d])
		}
		if l.cost.Abs == 0 {
			return
		}
	}
	for i := range len(x) / max(l.d, 1) {
		l.slope(out[i*l.d:(i+1)*l.d], w[i*l.m:(i+1)*l.m], x[i*l.d:(i+1)*l.d])
	}
}

// slope is a row of slopes; what slopes did of it is in out.
func (l cloud[T]) slope(out, w, x []T) {
	for k, v := range x {
		y := l.t[k*l.m : (k+1)*l.m]
		var sum float64
		switch {
		case l.d >= many && l.cost.Square != 0:
			sum = float64(out[k])
		case l.cost.Square != 0:
			sum = 2 * float64(l.cost.Square) * pull(w, y, float64(v))
		}
		if l.cost.Abs != 0 {
			sum += float64(l.cost.Abs) * float64(l.e.k.DotSign(w, y, v))
		}
		out[k] = T(sum)
	}
}

// pull is Σ w_j·(x − y_j), in four interleaved sums.
func pull[T cpu.Float](w, y []T, x float64) float64 {
	var a, b, c, d float64
	y = y[:len(w)]
	for len(w) >= 4 && len(y) >= 4 {
		a += float64(w[0]) * (x - float64(y[0]))
		b += float64(w[1]) * (x - float64(y[1]))
		c += float64(w[2]) * (x - float64(y[2]))
		d += float64(w[3]) * (x - float64(y[3]))
		w, y = w[4:], y[4:]
	}
	for j, v := range w {
		a += float64(v) * (x - float64(y[j]))
	}
	return (a + b) + (c + d)
}
