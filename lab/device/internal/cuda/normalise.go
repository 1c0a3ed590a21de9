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
func (g *gpu) Affine(y, x tensor, by backend.Affine) error {
	at := axesOf(y.Shape, by)
	return g.do(func() error {
		return g.eachOf("normalise", "affine", y, int(at.Len), array(y), array(x), array(by.Scale),
			array(by.Center), array(by.Shift), record(&at), i32(int(by.Func)), f64(by.P))
	})
}

// AffineVJP is dz = f'(z)·dy with its sums.
func (g *gpu) AffineVJP(dz, sum, along, x, y, dy tensor, by backend.Affine) error {
	at := axesOf(sum.Shape, by)
	return g.do(func() error {
		j, splits := newJob(sum, x)
		return g.reduce("normalise", "affine_vjp", "affine_vjp", x, &j, splits, []arg{array(sum), array(along)},
			[]arg{array(dz), array(x), array(y), array(dy), array(by.Scale), array(by.Center), array(by.Shift),
				record(&at), i32(int(by.Func)), f64(by.P)}, nil)
	})
}

// Moments is mean, variance and 1/√(variance + eps).
func (g *gpu) Moments(mean, variance, rstd, x tensor, eps float64, lost int) error {
	return g.do(func() error {
		j, splits := newJob(mean, x)
		constants := []arg{f64(eps), f64(float64(lost))}
		return g.reduce("normalise", "moments", "moments", x, &j, splits,
			[]arg{array(mean), array(variance), array(rstd)},
			append([]arg{array(x)}, constants...), append(constants, i64(int(j.Over.Len))))
	})
}

// MomentsVJP is dx = scale·(dz − sum/count − (x − mean)·rstd²·along/(count − lost)) + more.
func (g *gpu) MomentsVJP(dx, dz, x tensor, m backend.Moments, lost int) error {
	at, count := newAxes(dx.Shape, broadcast(m.Mean.Shape)), dx.Len()/max(1, m.Mean.Len())
	return g.do(func() error {
		return g.eachOf("normalise", "moments_vjp", dx, int(at.Len), array(dx), array(dz), array(x),
			array(m.Mean), array(m.Rstd),
			array(m.Scale), array(m.Sum), array(m.Along), array(m.More), record(&at), f64(1/float64(max(1, count))),
			f64(1/float64(max(1, count-lost))))
	})
}
