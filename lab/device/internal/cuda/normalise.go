package cuda

import "coupling/lab/device/internal/backend"

// axesOf is where the parts of by lie for the elements of a shape.
func axesOf(shape []int, by backend.Affine) axes {
	return newAxes(shape, stepsOf(shape, by.Scale), stepsOf(shape, by.Center), stepsOf(shape, by.Shift))
}

// stepsOf is the steps of a tensor when it is read as a bigger one, or none where it is absent.
func stepsOf(shape []int, t tensor) []int {
	if t.Mem == nil {
		return make([]int, len(shape))
	}
	return broadcast(t.Shape)
}

// Affine is y = f(scale·(x − center) + shift).
func (g *gpu) Affine(y, x tensor, by backend.Affine) {
	at := axesOf(y.Shape, by)
	g.eachOf("normalise", "affine", y, int(at.Len), y, x, by.Scale, by.Center, by.Shift, record(&at), by.Func, by.P)
}

// AffineVJP is dz = f'(z)·dy with its sums.
func (g *gpu) AffineVJP(dz, sum, along, x, y, dy tensor, by backend.Affine) {
	at := axesOf(sum.Shape, by)
	j, splits := newJob(sum, x)
	g.reduce("normalise", "affine_vjp", "affine_vjp", x, &j, splits, []any{sum, along},
		[]any{dz, x, y, dy, by.Scale, by.Center, by.Shift, record(&at), by.Func, by.P}, nil)
}

// Moments is mean, variance and 1/√(variance + eps).
func (g *gpu) Moments(mean, variance, rstd, x tensor, eps float64, lost int) {
	j, splits := newJob(mean, x)
	g.reduce("normalise", "moments", "moments", x, &j, splits, []any{mean, variance, rstd},
		[]any{x, eps, float64(lost)}, []any{eps, float64(lost), int(j.Over.Len)})
}

// MomentsVJP is dx = scale·(dz − sum/count − (x − mean)·rstd²·along/(count − lost)) + more.
func (g *gpu) MomentsVJP(dx, dz, x tensor, m backend.Moments, lost int) {
	at, count := newAxes(dx.Shape, broadcast(m.Mean.Shape)), dx.Len()/max(1, m.Mean.Len())
	g.eachOf("normalise", "moments_vjp", dx, int(at.Len), dx, dz, x, m.Mean, m.Rstd, m.Scale, m.Sum, m.Along, m.More,
		record(&at), 1/float64(max(1, count)), 1/float64(max(1, count-lost)))
}
