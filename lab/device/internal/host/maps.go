package host

import (
	"math"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
	"coupling/lab/logspace"
)

// Map is dst = f(x).
func (e *engine[T]) Map(dst, x tensor, f backend.Unary, p float64) {
	to, from := view[T](dst), view[T](x)
	e.each(len(to), grain, func(lo, hi int) { e.apply(to[lo:hi], from[lo:hi], f, p) })
}

// apply is d = f(x) for a run of elements; d may be x.
func (e *engine[T]) apply(d, x []T, f backend.Unary, p float64) {
	switch {
	case !is64[T]() && usesExp(f):
		e.mapExp(d, x, nil, f, p)
	case f == backend.Exp:
		e.k.Exp(d, x)
	case f == backend.SiLU:
		e.k.SiLU(d, x)
	case !cheap(d, x, f, T(p)):
		costly(d, x, f, p)
	}
}

// cheap computes functions that are arithmetic, and reports whether f is one.
func cheap[T cpu.Float](d, x []T, f backend.Unary, p T) bool {
	d = d[:len(x)]
	switch f {
	case backend.Identity:
		copy(d, x)
	case backend.Neg:
		for i, v := range x {
			d[i] = -v
		}
	case backend.Abs:
		for i, v := range x {
			d[i] = T(math.Abs(float64(v)))
		}
	case backend.Square:
		for i, v := range x {
			d[i] = v * v
		}
	case backend.Sqrt:
		for i, v := range x {
			d[i] = T(math.Sqrt(float64(v)))
		}
	case backend.Rsqrt:
		for i, v := range x {
			d[i] = T(1 / math.Sqrt(float64(v)))
		}
	case backend.Recip:
		for i, v := range x {
			d[i] = 1 / v
		}
	case backend.ReLU:
		for i, v := range x {
			d[i] = max(v, 0)
		}
	case backend.AddConst:
		for i, v := range x {
			d[i] = v + p
		}
	default:
		return bent(d, x, f, p)
	}
	return true
}

// bent is cheap for functions with a parameter and kinks.
func bent[T cpu.Float](d, x []T, f backend.Unary, p T) bool {
	switch f {
	case backend.LeakyReLU:
		for i, v := range x {
			d[i] = max(v, 0) + p*min(v, 0)
		}
	case backend.Clamp:
		for i, v := range x {
			d[i] = min(max(v, -p), p)
		}
	case backend.Step:
		for i, v := range x {
			d[i] = T(choose(float64(p)-float64(v), 0, 1))
		}
	default:
		return false
	}
	return true
}

// costly does the others one by one in float64.
func costly[T cpu.Float](d, x []T, f backend.Unary, p float64) {
	d = d[:len(x)]
	g := scalar(f, p)
	for i, v := range x {
		d[i] = T(g(float64(v)))
	}
}

func scalar(f backend.Unary, p float64) func(x float64) float64 {
	switch f {
	case backend.Log:
		return logspace.Log
	case backend.Sin:
		return math.Sin
	case backend.Cos:
		return math.Cos
	case backend.Tanh:
		return math.Tanh
	case backend.Sigmoid:
		return sigmoid
	case backend.Softplus:
		return func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
	default: // ELU
		return func(x float64) float64 {
			if x > 0 {
				return x
			}
			return p * math.Expm1(x)
		}
	}
}

func sigmoid(x float64) float64 {
	t := math.Exp(-math.Abs(x))
	if x < 0 {
		return t / (1 + t)
	}
	return 1 / (1 + t)
}

// MapVJP is dx = f'(x)·dy. At a kink the derivative is the one from the left.
func (e *engine[T]) MapVJP(dx, x, y, dy tensor, f backend.Unary, p float64) {
	to, xs, ys, gs := view[T](dx), view[T](x), view[T](y), view[T](dy)
	e.each(len(to), grain, func(lo, hi int) { e.slopes(to[lo:hi], xs[lo:hi], ys[lo:hi], gs[lo:hi], f, p) })
}

// slopes is d = f'(x)·g for a run of elements, given y = f(x); d may be g.
func (e *engine[T]) slopes(d, x, y, g []T, f backend.Unary, p float64) {
	switch {
	case !is64[T]() && f == backend.Softplus:
		e.mapExp(d, x, g, f, p)
	case f == backend.SiLU:
		e.k.SiLUSlope(d, x, g)
	case !slopeOfX(d, x, g, f, T(p)) && !slopeOfY(d, x, y, g, f, T(p)):
		slopeByCall(d, x, g, f)
	}
}

// slopeOfX multiplies by derivatives that are arithmetic of x, and reports whether that of f is.
func slopeOfX[T cpu.Float](d, x, g []T, f backend.Unary, p T) bool {
	d, g = d[:len(x)], g[:len(x)]
	switch f {
	case backend.Identity, backend.AddConst:
		copy(d, g)
	case backend.Neg:
		for i, v := range g {
			d[i] = -v
		}
	case backend.Abs:
		for i, v := range g {
			d[i] = T(choose(float64(x[i]), float64(v), -float64(v)))
		}
	case backend.Square:
		for i, v := range g {
			d[i] = 2 * x[i] * v
		}
	case backend.Log:
		for i, v := range g {
			d[i] = v / x[i]
		}
	case backend.ReLU:
		for i, v := range g {
			d[i] = T(choose(float64(x[i]), float64(v), 0))
		}
	default:
		return slopeOfBent(d, x, g, f, p)
	}
	return true
}

func slopeOfBent[T cpu.Float](d, x, g []T, f backend.Unary, p T) bool {
	switch f {
	case backend.LeakyReLU:
		for i, v := range g {
			d[i] = v * T(choose(float64(x[i]), 1, float64(p)))
		}
	case backend.Clamp:
		for i, v := range g {
			x, p := float64(x[i]), float64(p)
			d[i] = T(choose(x+p, choose(x-p, 0, float64(v)), 0))
		}
	case backend.Step:
		clear(d)
	default:
		return false
	}
	return true
}

// slopeOfY multiplies by derivatives that are arithmetic of y, and reports whether that of f is.
func slopeOfY[T cpu.Float](d, x, y, g []T, f backend.Unary, p T) bool {
	d, y, g = d[:len(x)], y[:len(x)], g[:len(x)]
	switch f {
	case backend.Sqrt:
		for i, v := range g {
			d[i] = v / (2 * y[i])
		}
	case backend.Rsqrt:
		for i, v := range g {
			d[i] = -y[i] * y[i] * y[i] / 2 * v
		}
	case backend.Recip:
		for i, v := range g {
			d[i] = -y[i] * y[i] * v
		}
	case backend.Exp:
		for i, v := range g {
			d[i] = y[i] * v
		}
	case backend.ELU:
		for i, v := range g {
			d[i] = v * T(choose(float64(x[i]), 1, float64(y[i]+p)))
		}
	case backend.Tanh:
		for i, v := range g {
			d[i] = (1 - y[i]) * (1 + y[i]) * v
		}
	case backend.Sigmoid:
		for i, v := range g {
			d[i] = y[i] * (1 - y[i]) * v
		}
	default:
		return false
	}
	return true
}

// slopeByCall multiplies by the derivatives that take a function of x, in float64.
func slopeByCall[T cpu.Float](d, x, g []T, f backend.Unary) {
	d, g = d[:len(x)], g[:len(x)]
	for i, v := range x {
		var slope float64
		switch x := float64(v); f {
		case backend.Sin:
			slope = math.Cos(x)
		case backend.Cos:
			slope = -math.Sin(x)
		case backend.Softplus:
			slope = sigmoid(x)
		}
		d[i] = T(slope * float64(g[i]))
	}
}

// choose is a where x > 0 and b elsewhere, without a branch that half of all signs would mispredict.
func choose(x, a, b float64) float64 {
	bits := int64(math.Float64bits(x))
	no := uint64((bits - 1 | bits) >> 63) // all ones for −x, −0 and 0
	return math.Float64frombits(math.Float64bits(a)&^no | math.Float64bits(b)&no)
}
