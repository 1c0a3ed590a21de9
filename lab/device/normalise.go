package device

import (
	"slices"

	"coupling/lab/device/internal/backend"
)

// Affine is the map f(Scale·(x − Center) + Shift) of a layer that ends with a bias or a normalisation, and of the
// activation after it. Scale, Center and Shift broadcast; nil stands for 1, 0 and 0. Func has the parameter P; the zero
// value is the identity.
type Affine struct {
	Scale, Center, Shift *Array
	Func                 Unary
	P                    float64
}

// tensors checks the parts of a that are not nil against c's destination, and that they broadcast to big.
func (a Affine) tensors(c args, big *Array) backend.Affine {
	if a.Func >= backend.NumUnary {
		c.fail("Func = %d: no such function", a.Func)
	}
	return backend.Affine{
		Scale:  c.optional(big, a.Scale),
		Center: c.optional(big, a.Center),
		Shift:  c.optional(big, a.Shift),
		Func:   a.Func,
		P:      a.P,
	}
}

// optional is the tensor of a, which broadcasts to big, or none for nil.
func (c args) optional(big, a *Array) (t backend.Tensor) {
	if a != nil {
		c.float(a).spread(big, a)
		t = a.t
	}
	return t
}

// Apply writes f(Scale·(x − Center) + Shift) to y, which may be x. The difference comes first: where means are large
// Scale·x − Scale·Center would lose what float32 has.
func (a Affine) Apply(y, x *Array) {
	c := check("Affine.Apply", y).float(x).like(x).over(x).apart(a.Scale, a.Center, a.Shift)
	by := a.tensors(c, y)
	c.do(func() { y.ops().Affine(y.t, x.t, by) })
}

// VJP is the derivative of y = Apply(x) in one pass: with z the argument of f,
//
//	dz = f'(z)·dy,  sum = Σ dz,  along = Σ dz·(x − Center),
//
// summed over the axes where sum has size 1; Scale, Center and Shift broadcast to the shape of sum.
// along may be nil. dz may be dy.
func (a Affine) VJP(dz, sum, along, x, y, dy *Array) {
	c := check("Affine.VJP", dz).float(sum, x, y, dy).like(x, y, dy).spread(dz, sum)
	c.over(dy).apart(sum, along, x, y, a.Scale, a.Center, a.Shift)
	c.into(sum).apart(along, x, y, dy, a.Scale, a.Center, a.Shift)
	by := a.tensors(c, sum)
	t := c.optional(sum, along)
	if along != nil && !equal(along, sum) {
		c.fail("shapes %v of along and %v of sum: must be equal", along.t.Shape, sum.t.Shape)
	}
	if along != nil {
		c.into(along).apart(x, y, dy, a.Scale, a.Center, a.Shift)
	}
	c.do(func() { dz.ops().AffineVJP(dz.t, sum.t, t, x.t, y.t, dy.t, by) })
}

// Moments writes mean, variance and rstd = 1/√(variance + eps) of x over the axes where they have
// size 1, in one pass. The variance is Σ (x − mean)²/(count − lost); lost = 1 makes it unbiased.
// Sums are of float64: digits hold where means are large, of deviations from a number near the
// mean, or of squares of float32, whose rounding loses less than x itself has lost. Parts are
// joined as by Chan, Golub and LeVeque (1979). Of no elements variance is 0 and the mean is not
// defined.
func Moments(mean, variance, rstd, x *Array, eps float64, lost int) {
	check("Moments", mean).float(variance, rstd, x).like(variance, rstd).spread(x, mean).apart(variance, rstd, x).
		into(variance).apart(rstd, x).into(rstd).apart(x).
		do(func() { mean.ops().Moments(mean.t, variance.t, rstd.t, x.t, eps, lost) })
}

// Normalised are the arguments of the derivative through the moments of x: mean and rstd from
// Moments; Scale, rstd times the factor gamma that came after; and Sum = Σ dz and Along = Σ dz·(x −
// Mean) from Affine.VJP. More, unless nil, is a part of the cotangent that came another way. All
// have the shape of Mean.
type Normalised struct{ Mean, Rstd, Scale, Sum, Along, More *Array }

// VJP is the cotangent of x for the cotangent dz of gamma·(x − mean)·rstd + beta:
//
//	dx = Scale·(dz − Sum/count − (x − Mean)·Rstd²·Along/(count − lost)) + More.
//
// dx may be dz.
func (n Normalised) VJP(dx, dz, x *Array, lost int) {
	c := check("Normalised.VJP", dx).float(dz, x, n.Mean, n.Rstd, n.Scale, n.Sum, n.Along).like(dz, x).
		spread(dx, n.Mean)
	c.over(dz).apart(x, n.Mean, n.Rstd, n.Scale, n.Sum, n.Along, n.More)
	for _, a := range []*Array{n.Rstd, n.Scale, n.Sum, n.Along, n.More} {
		if a != nil && !slices.Equal(a.t.Shape, n.Mean.t.Shape) {
			c.fail("shapes %v and %v of Mean: must be equal", a.t.Shape, n.Mean.t.Shape)
		}
	}
	m := backend.Moments{
		Mean:  n.Mean.t,
		Rstd:  n.Rstd.t,
		Scale: n.Scale.t,
		Sum:   n.Sum.t,
		Along: n.Along.t,
		More:  c.optional(dx, n.More),
	}
	c.do(func() { dx.ops().MomentsVJP(dx.t, dz.t, x.t, m, lost) })
}
