package cuda

import "coupling/lab/device/internal/backend"

// Of is the GPU itself: kernels are chosen by the type of each tensor.
func (g *gpu) Of(backend.DType) backend.Operations { return g }

// Fill sets every element.
func (g *gpu) Fill(t tensor, value float64) error {
	n := t.Len()
	return g.do(func() error {
		return g.eachOf("elementwise", "fill", t, n, array(t), i64(n), f64(value))
	})
}

// Map is dst = f(x).
func (g *gpu) Map(dst, x tensor, f backend.Unary, p float64) error {
	n := dst.Len()
	return g.do(func() error {
		return g.eachOf("elementwise", "map", dst, (n+3)/4, array(dst), array(x), i64(n), i32(int(f)), f64(p))
	})
}

// MapVJP is dx = f'(x)·dy.
func (g *gpu) MapVJP(dx, x, y, dy tensor, f backend.Unary, p float64) error {
	n := dx.Len()
	return g.do(func() error {
		return g.eachOf("elementwise", "map_vjp", dx, n, array(dx), array(x), array(y), array(dy), i64(n),
			i32(int(f)), f64(p))
	})
}

// Combine is dst = f(a, b) with broadcasting.
func (g *gpu) Combine(dst, a, b tensor, f backend.Binary) error {
	at := newAxes(dst.Shape, broadcast(a.Shape), broadcast(b.Shape))
	return g.do(func() error {
		return g.eachOf("elementwise", "combine", dst, int(at.Len), array(dst), array(a), array(b),
			record(&at), i32(int(f)))
	})
}

// Axpby is dst = alpha·x + beta·y.
func (g *gpu) Axpby(dst tensor, alpha float64, x tensor, beta float64, y tensor) error {
	n := dst.Len()
	return g.do(func() error {
		return g.eachOf("elementwise", "axpby", dst, n, array(dst), f64(alpha), array(x), f64(beta),
			array(y), i64(n))
	})
}
