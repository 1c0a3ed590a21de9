package host

import (
	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

type tensor = backend.Tensor

// Fill sets every element, of integers too.
func (e *engine[T]) Fill(t tensor, value float64) error {
	if t.Type == backend.Int32 {
		x := view[int32](t)
		e.each(len(x), grain, func(lo, hi int) { fill(x[lo:hi], int32(value)) })
		return nil
	}
	x := view[T](t)
	e.each(len(x), grain, func(lo, hi int) { fill(x[lo:hi], T(value)) })
	return nil
}

func fill[T any](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

// Axpby is dst = alpha·x + beta·y.
func (e *engine[T]) Axpby(dst tensor, alpha float64, x tensor, beta float64, y tensor) error {
	to, xs, ys, a, b := view[T](dst), view[T](x), view[T](y), T(alpha), T(beta)
	inPlace := dst.Mem == y.Mem && dst.Offset == y.Offset && b == 1
	e.each(len(to), grain, func(lo, hi int) {
		d, x, y := to[lo:hi], xs[lo:hi], ys[lo:hi]
		switch {
		case b == 0:
			e.k.Scale(d, a, x)
		case inPlace:
			e.k.Axpy(d, a, x)
		default:
			for i, v := range x {
				d[i] = a*v + b*y[i]
			}
		}
	})
	return nil
}

// Combine is dst = f(a, b) with broadcasts.
func (e *engine[T]) Combine(dst, a, b tensor, f backend.Binary) error {
	to, as, bs := view[T](dst), view[T](a), view[T](b)
	e.rows(broadcast(dst.Shape, a.Shape, b.Shape), func(d, n int, at, step [maxOperands]int) {
		out := to[d : d+n]
		switch {
		case step[0] == 0 && step[1] == 0:
			one := [1]T{}
			pairs(one[:], as[at[0]:][:1], bs[at[1]:][:1], f)
			fill(out, one[0])
		case step[0] == 0:
			left(out, as[at[0]], bs[at[1]:][:n], f)
		case step[1] == 0:
			right(out, as[at[0]:][:n], bs[at[1]], f)
		default:
			pairs(out, as[at[0]:][:n], bs[at[1]:][:n], f)
		}
	})
	return nil
}

// pairs is d_i = f(a_i, b_i).
func pairs[T cpu.Float](d, a, b []T, f backend.Binary) {
	d, b = d[:len(a)], b[:len(a)]
	switch f {
	case backend.Add:
		for i, v := range a {
			d[i] = v + b[i]
		}
	case backend.Sub:
		for i, v := range a {
			d[i] = v - b[i]
		}
	case backend.Mul:
		for i, v := range a {
			d[i] = v * b[i]
		}
	case backend.Div:
		for i, v := range a {
			d[i] = v / b[i]
		}
	case backend.Max:
		for i, v := range a {
			d[i] = max(v, b[i])
		}
	case backend.Min:
		for i, v := range a {
			d[i] = min(v, b[i])
		}
	}
}

// right is d_i = f(a_i, b).
func right[T cpu.Float](d, a []T, b T, f backend.Binary) {
	d = d[:len(a)]
	switch f {
	case backend.Add:
		for i, v := range a {
			d[i] = v + b
		}
	case backend.Sub:
		for i, v := range a {
			d[i] = v - b
		}
	case backend.Mul:
		for i, v := range a {
			d[i] = v * b
		}
	case backend.Div:
		for i, v := range a {
			d[i] = v / b
		}
	case backend.Max:
		for i, v := range a {
			d[i] = max(v, b)
		}
	case backend.Min:
		for i, v := range a {
			d[i] = min(v, b)
		}
	}
}

// left is d_i = f(a, b_i).
func left[T cpu.Float](d []T, a T, b []T, f backend.Binary) {
	d = d[:len(b)]
	switch f {
	case backend.Sub:
		for i, v := range b {
			d[i] = a - v
		}
	case backend.Div:
		for i, v := range b {
			d[i] = a / v
		}
	default: // the others commute
		right(d, b, a, f)
	}
}

// Normalise is y = (x − mean)·rstd.
func (e *engine[T]) Normalise(y, x, mean, rstd tensor) error {
	ys, xs, ms, rs := view[T](y), view[T](x), view[T](mean), view[T](rstd)
	e.rows(broadcast(y.Shape, mean.Shape, rstd.Shape), func(d, n int, at, step [maxOperands]int) {
		out, in, m, r := ys[d:d+n], xs[d:d+n], ms[at[0]:], rs[at[1]:]
		if step[0] == 0 && step[1] == 0 {
			m0, r0 := m[0], r[0]
			for i, v := range in {
				out[i] = (v - m0) * r0
			}
			return
		}
		for i, v := range in {
			out[i] = (v - m[i*step[0]]) * r[i*step[1]]
		}
	})
	return nil
}

// NormaliseVJP is dx = rstd·(dy − m1 − y·m2).
func (e *engine[T]) NormaliseVJP(dx, dy, y, rstd, m1, m2 tensor) error {
	dxs, dys, ys := view[T](dx), view[T](dy), view[T](y)
	rs, as, bs := view[T](rstd), view[T](m1), view[T](m2)
	e.rows(broadcast(dx.Shape, rstd.Shape, m1.Shape, m2.Shape), func(d, n int, at, step [maxOperands]int) {
		out, g, v := dxs[d:d+n], dys[d:d+n], ys[d:d+n]
		r, a, b := rs[at[0]:], as[at[1]:], bs[at[2]:]
		if step[0] == 0 && step[1] == 0 && step[2] == 0 {
			r0, a0, b0 := r[0], a[0], b[0]
			for i, v := range v {
				out[i] = r0 * (g[i] - a0 - v*b0)
			}
			return
		}
		for i, v := range v {
			out[i] = r[i*step[0]] * (g[i] - a[i*step[1]] - v*b[i*step[2]])
		}
	})
	return nil
}
