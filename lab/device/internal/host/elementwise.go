package host

import (
	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

type tensor = backend.Tensor

// Fill sets every element, of integers too.
func (e *engine[T]) Fill(t tensor, value float64) {
	if t.Type == backend.Int32 {
		x := view[int32](t)
		e.each(len(x), grain, func(lo, hi int) { fill(x[lo:hi], int32(value)) })
		return
	}
	x := view[T](t)
	e.each(len(x), grain, func(lo, hi int) { fill(x[lo:hi], T(value)) })
}

func fill[T any](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

// Axpby is dst = alpha·x + beta·y.
func (e *engine[T]) Axpby(dst tensor, alpha float64, x tensor, beta float64, y tensor) {
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
}

// Combine is dst = f(a, b) with broadcasts.
func (e *engine[T]) Combine(dst, a, b tensor, f backend.Binary) {
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
