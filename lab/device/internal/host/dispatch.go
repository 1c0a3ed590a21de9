package host

import "coupling/lab/device/internal/backend"

// Each operation is done by the engine of its type, which the first tensor tells.

type tensor = backend.Tensor

// Fill is the operation of backend.Backend, of integers too.
func (d *Host) Fill(t tensor, value float64) error {
	if t.Type == backend.Int32 {
		fill(view[int32](t), int32(value))
		return nil
	}
	return d.of(t).Fill(t, value)
}

// Map is the operation of backend.Backend.
func (d *Host) Map(dst, x tensor, f backend.Unary, p float64) error {
	return d.of(dst).Map(dst, x, f, p)
}

// MapVJP is the operation of backend.Backend.
func (d *Host) MapVJP(dx, x, y, dy tensor, f backend.Unary, p float64) error {
	return d.of(dx).MapVJP(dx, x, y, dy, f, p)
}

// Combine is the operation of backend.Backend.
func (d *Host) Combine(dst, a, b tensor, f backend.Binary) error {
	return d.of(dst).Combine(dst, a, b, f)
}

// Axpby is the operation of backend.Backend.
func (d *Host) Axpby(dst tensor, alpha float64, x tensor, beta float64, y tensor) error {
	return d.of(dst).Axpby(dst, alpha, x, beta, y)
}

// Reduce is the operation of backend.Backend.
func (d *Host) Reduce(dst, x tensor, f backend.Reduction) error { return d.of(dst).Reduce(dst, x, f) }

// ReduceDot is the operation of backend.Backend.
func (d *Host) ReduceDot(dst, x, y tensor) error { return d.of(dst).ReduceDot(dst, x, y) }

// Normalise is the operation of backend.Backend.
func (d *Host) Normalise(y, x, mean, rstd tensor) error { return d.of(y).Normalise(y, x, mean, rstd) }

// NormaliseVJP is the operation of backend.Backend.
func (d *Host) NormaliseVJP(dx, dy, y, rstd, m1, m2 tensor) error {
	return d.of(dx).NormaliseVJP(dx, dy, y, rstd, m1, m2)
}

// Gemm is the operation of backend.Backend.
func (d *Host) Gemm(c tensor, alpha float64, a tensor, transA bool, b tensor, transB bool, beta float64) error {
	return d.of(c).Gemm(c, alpha, a, transA, b, transB, beta)
}

// Conv is the operation of backend.Backend.
func (d *Host) Conv(y, x, weight tensor, w backend.Window) error {
	return d.of(y).Conv(y, x, weight, w)
}

// ConvInput is the operation of backend.Backend.
func (d *Host) ConvInput(dx, dy, weight tensor, w backend.Window) error {
	return d.of(dx).ConvInput(dx, dy, weight, w)
}

// ConvWeight is the operation of backend.Backend.
func (d *Host) ConvWeight(dw, x, dy tensor, w backend.Window) error {
	return d.of(dw).ConvWeight(dw, x, dy, w)
}

// ConvSquares is the operation of backend.Backend.
func (d *Host) ConvSquares(squares, x, dy tensor, w backend.Window) error {
	return d.of(squares).ConvSquares(squares, x, dy, w)
}

// MaxPool is the operation of backend.Backend.
func (d *Host) MaxPool(y, index, x tensor, w backend.Window) error {
	return d.of(y).MaxPool(y, index, x, w)
}

// MaxPoolVJP is the operation of backend.Backend.
func (d *Host) MaxPoolVJP(dx, dy, index tensor, w backend.Window) error {
	return d.of(dx).MaxPoolVJP(dx, dy, index, w)
}

// AvgPool is the operation of backend.Backend.
func (d *Host) AvgPool(y, x tensor, w backend.Window) error { return d.of(y).AvgPool(y, x, w) }

// AvgPoolVJP is the operation of backend.Backend.
func (d *Host) AvgPoolVJP(dx, dy tensor, w backend.Window) error {
	return d.of(dx).AvgPoolVJP(dx, dy, w)
}

// Nearest is the operation of backend.Backend.
func (d *Host) Nearest(y, x tensor) error { return d.of(y).Nearest(y, x) }

// NearestVJP is the operation of backend.Backend.
func (d *Host) NearestVJP(dx, dy tensor) error { return d.of(dx).NearestVJP(dx, dy) }

// Bilinear is the operation of backend.Backend.
func (d *Host) Bilinear(y, x tensor, align bool) error { return d.of(y).Bilinear(y, x, align) }

// BilinearVJP is the operation of backend.Backend.
func (d *Host) BilinearVJP(dx, dy tensor, align bool) error {
	return d.of(dx).BilinearVJP(dx, dy, align)
}

// Uniform is the operation of backend.Backend.
func (d *Host) Uniform(dst, state tensor, lo, hi float64) error {
	return d.of(dst).Uniform(dst, state, lo, hi)
}

// Normal is the operation of backend.Backend.
func (d *Host) Normal(dst, state tensor, mean, sigma float64) error {
	return d.of(dst).Normal(dst, state, mean, sigma)
}

// CrossEntropy is the operation of backend.Backend.
func (d *Host) CrossEntropy(loss, grad, logits, labels tensor) error {
	return d.of(loss).CrossEntropy(loss, grad, logits, labels)
}

// ClipRows is the operation of backend.Backend.
func (d *Host) ClipRows(dst, x tensor, bound float64) error { return d.of(dst).ClipRows(dst, x, bound) }

// Adam is the operation of backend.Backend.
func (d *Host) Adam(u backend.Update, t tensor, a backend.Adam) error {
	return d.of(u.Factor).Adam(u, t, a)
}

// SGD is the operation of backend.Backend.
func (d *Host) SGD(u backend.Update, s backend.SGD) error { return d.of(u.Factor).SGD(u, s) }

// LSERows is the operation of backend.Backend.
func (d *Host) LSERows(out, c, h tensor, inv float64) error { return d.of(out).LSERows(out, c, h, inv) }

// LSECols is the operation of backend.Backend.
func (d *Host) LSECols(out, c, g tensor, inv float64) error { return d.of(out).LSECols(out, c, g, inv) }

// PointLSE is the operation of backend.Backend.
func (d *Host) PointLSE(out, x, y, h tensor, cost backend.Cost, inv float64) error {
	return d.of(out).PointLSE(out, x, y, h, cost, inv)
}

// PointApply is the operation of backend.Backend.
func (d *Host) PointApply(out, x, y, u, h, v tensor, cost backend.Cost, inv float64) error {
	return d.of(out).PointApply(out, x, y, u, h, v, cost, inv)
}

// PlanRows is the operation of backend.Backend.
func (d *Host) PlanRows(out, c, u, h, v tensor, inv float64) error {
	return d.of(out).PlanRows(out, c, u, h, v, inv)
}

// PlanCols is the operation of backend.Backend.
func (d *Host) PlanCols(out, c, u, h, v tensor, inv float64) error {
	return d.of(out).PlanCols(out, c, u, h, v, inv)
}

// PointGrad is the operation of backend.Backend.
func (d *Host) PointGrad(grad, x, y, u, h, r, s tensor, cost backend.Cost, inv float64, linear bool) error {
	return d.of(grad).PointGrad(grad, x, y, u, h, r, s, cost, inv, linear)
}

// PointCost is the operation of backend.Backend.
func (d *Host) PointCost(out, x, y, u, h tensor, cost backend.Cost, inv float64) error {
	return d.of(out).PointCost(out, x, y, u, h, cost, inv)
}

// Costs is the operation of backend.Backend.
func (d *Host) Costs(c, x, y tensor, cost backend.Cost) error { return d.of(c).Costs(c, x, y, cost) }
