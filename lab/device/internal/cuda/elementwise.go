package cuda

import "coupling/lab/device/internal/backend"

// Of is the GPU itself: kernels are chosen by the type of each tensor.
func (g *gpu) Of(backend.DType) backend.Operations { return g }

// Fill sets every element.
func (g *gpu) Fill(t tensor, value float64) {
	g.eachOf("elementwise", "fill", t, t.Len(), t, t.Len(), value)
}

// Map is dst = f(x).
func (g *gpu) Map(dst, x tensor, f backend.Unary, p float64) {
	n := dst.Len()
	g.eachOf("elementwise", "map", dst, (n+3)/4, dst, x, n, f, p)
}

// MapVJP is dx = f'(x)·dy.
func (g *gpu) MapVJP(dx, x, y, dy tensor, f backend.Unary, p float64) {
	n := dx.Len()
	g.eachOf("elementwise", "map_vjp", dx, n, dx, x, y, dy, n, f, p)
}

// Combine is dst = f(a, b) with broadcasting.
func (g *gpu) Combine(dst, a, b tensor, f backend.Binary) {
	at := newAxes(dst.Shape, broadcast(a.Shape), broadcast(b.Shape))
	g.eachOf("elementwise", "combine", dst, int(at.Len), dst, a, b, record(&at), f)
}

// Axpby is dst = alpha·x + beta·y.
func (g *gpu) Axpby(dst tensor, alpha float64, x tensor, beta float64, y tensor) {
	n := dst.Len()
	g.eachOf("elementwise", "axpby", dst, n, dst, alpha, x, beta, y, n)
}
