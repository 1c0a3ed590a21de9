package host

import (
	"math"

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
	c := cloud[T]{e: e, y: view[T](y), m: y.Shape[0], d: y.Shape[1], cost: cpu.Cost[T]{Square: T(cost.Square), Abs: T(cost.Abs)}}
	c.t = transpose(e.crew, c.y, c.m, c.d)
	return c
}

// transpose is the columns of an n×m matrix as rows.
func transpose[T cpu.Float](c *crew, x []T, n, m int) []T {
	t := make([]T, len(x))
	c.each(m, per(n), func(_, lo, hi int) {
		for i := range n {
			for k := lo; k < hi; k++ {
				t[k*n+i] = x[i*m+k]
			}
		}
	})
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

// rows calls work with the costs of each point of x, which are valid during the call.
func (l cloud[T]) rows(x tensor, work func(p *pad[T], i int, x, c []T)) {
	xs, n, block := view[T](x), x.Shape[0], 1
	if l.d >= many {
		block = 12 // a tile of the products
	}
	pads := l.e.padsOf()
	l.e.each(n, max(block, per(l.m*(l.d+8))/block*block), func(w, lo, hi int) {
		for i := lo; i < hi; i += block {
			to := min(i+block, hi)
			c := pads[w].buf(0, (to-i)*l.m)
			l.costs(pads[w], c, xs[i*l.d:to*l.d])
			for r := i; r < to; r++ {
				work(pads[w], r, xs[r*l.d:(r+1)*l.d], c[(r-i)*l.m:(r-i+1)*l.m])
			}
		}
	})
}

// Costs writes all costs.
func (e *engine[T]) Costs(c, x, y tensor, cost backend.Cost) error {
	l, out, xs := e.cloud(y, cost), view[T](c), view[T](x)
	pads := e.padsOf()
	e.each(x.Shape[0], max(12, per(l.m*l.d)), func(w, lo, hi int) {
		l.costs(pads[w], out[lo*l.m:hi*l.m], xs[lo*l.d:hi*l.d])
	})
	return nil
}

// PointLSE is out_i = log Σ_j exp(h_j − c_ij·inv).
func (e *engine[T]) PointLSE(out, x, y, h tensor, cost backend.Cost, inv float64) error {
	l, to, hs, xs := e.cloud(y, cost), view[T](out), view[T](h), view[T](x)
	if l.d >= many {
		l.rows(x, func(_ *pad[T], i int, _, c []T) { to[i] = e.k.RowLSE(hs, c, T(inv)) })
		return nil
	}
	e.each(len(to), per(l.m*(l.d+4)), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			to[i] = e.k.PointRowLSE(hs, xs[i*l.d:(i+1)*l.d], l.t, l.cost, T(inv))
		}
	})
	return nil
}

// PointApply is out_i = Σ_j P_ij v_j.
func (e *engine[T]) PointApply(out, x, y, u, h, v tensor, cost backend.Cost, inv float64) error {
	l, to, us, hs, k := e.cloud(y, cost), view[T](out), view[T](u), view[T](h), v.Shape[1]
	vt := transpose(e.crew, view[T](v), l.m, k)
	l.rows(x, func(p *pad[T], i int, _, c []T) {
		e.planRow(p, to[i*k:(i+1)*k], c, us[i], hs, vt, T(inv))
	})
	return nil
}

// planRow is out = Σ_j P_ij v_j for a row of costs, with v by columns.
func (e *engine[T]) planRow(p *pad[T], out, c []T, u T, h, vt []T, inv T) {
	t := e.plan(p, c, u, h, inv)
	for k := range out {
		out[k] = T(dots(t, vt[k*len(t):(k+1)*len(t)]))
	}
}

// plan is a row P_ij = exp(u_i + h_j − c_ij·inv).
func (e *engine[T]) plan(p *pad[T], c []T, u T, h []T, inv T) []T {
	t := p.buf(1, len(c))
	if math.IsInf(float64(u), -1) {
		clear(t)
		return t
	}
	e.k.RowExpAt(t, h, c, inv, -u)
	return t
}

// PointCost is out_i = Σ_j P_ij·c_ij.
func (e *engine[T]) PointCost(out, x, y, u, h tensor, cost backend.Cost, inv float64) error {
	l, to, us, hs := e.cloud(y, cost), view[T](out), view[T](u), view[T](h)
	l.rows(x, func(p *pad[T], i int, _, c []T) {
		to[i] = T(dots(e.plan(p, c, us[i], hs, T(inv)), c))
	})
	return nil
}

// PointGrad is grad_i = Σ_j P_ij·(1 + r_i + s_j − c_ij·inv)·∂c_ij/∂x_i.
func (e *engine[T]) PointGrad(grad, x, y, u, h, r, s tensor, cost backend.Cost, inv float64, linear bool) error {
	l, to, us, hs, rs, ss := e.cloud(y, cost), view[T](grad), view[T](u), view[T](h), view[T](r), view[T](s)
	l.rows(x, func(p *pad[T], i int, x, c []T) {
		w := e.plan(p, c, us[i], hs, T(inv))
		a, b := rs[i]+1, T(inv)
		if linear {
			a, b = rs[i], 0
		}
		for j, v := range ss {
			w[j] *= a + v - c[j]*b
		}
		l.slope(to[i*l.d:(i+1)*l.d], w, x)
	})
	return nil
}

// slope is Σ_j w_j·∂c(x, y_j)/∂x. Differences are taken before they are weighted: near points would cancel otherwise.
func (l cloud[T]) slope(out, w, x []T) {
	for k, v := range x {
		y := l.t[k*l.m : (k+1)*l.m]
		var sum float64
		if l.cost.Square != 0 {
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
