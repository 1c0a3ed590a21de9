package dpsinkhorn

import (
	"fmt"
	"math"

	"coupling/dp/internal/check"
	"coupling/lab/device"
	"coupling/lab/logspace"
)

// Loss is the semi-debiased Sinkhorn loss of labelled images (Cao et al. 2021, definition 4.3),
//
//	2 W(X[:n], Y) − W(X[:n], X[n′:n+n′]),   n′ = ⌊p·n⌋,
//
// between generated images X and real ones Y, with the cost |x−y|² + m|x−y|₁ of features [pixels in [−1, 1],
// Label·onehot(class)]: images of different classes are 2·Label² + 2m·Label farther apart. W is GeomLoss's: symmetrised
// updates while ε falls from the diameter to Blur, and gradients with the potentials held still.
type Loss struct {
	L1 float64 // m: 1 or 3 in the paper
	// NoSquare leaves |x−y|² out of the cost, as in the paper's row with L1 alone. Label then
	// contributes only 2m·Label.
	NoSquare bool
	Label    float64 // α_c; 0: 15
	Fresh    float64 // p: the share of fresh images in the debiasing batch; .4 in the paper, .2 in its code
	Blur     float64 // the last ε; 0: .05
	// Scaling in (0, 1) is the ratio of one ε to the last; 0: ½, as published, which does not
	// converge (some 13 updates). Converged is .99, with which the plan is the optimal assignment.
	Scaling float64
	// Diameter is the first ε; 0: that of a box that holds all features. GeomLoss measures it on the batch.
	Diameter float64
}

// Converged is the Scaling at which the plan has converged, at some 700 updates.
const Converged = .99

func (l Loss) withDefaults(d, classes int) (Loss, error) {
	err := check.All(check.Default(in, "Loss.Label", &l.Label, 15), check.Default(in, "Loss.Blur", &l.Blur, .05),
		check.Default(in, "Loss.Scaling", &l.Scaling, .5))
	if err != nil {
		return l, err
	}
	if l.Diameter == 0 {
		l.Diameter = math.Sqrt(4*float64(d) + l.Label*l.Label*float64(classes))
	}
	switch {
	case !(l.L1 >= 0) || math.IsInf(l.L1, 0):
		return l, bad("Loss.L1 = %g: must be at least 0 and finite", l.L1)
	case l.NoSquare && l.L1 == 0:
		return l, bad("Loss.NoSquare with L1 = 0: there is no cost")
	case !(l.Fresh >= 0 && l.Fresh <= 1):
		return l, bad("Loss.Fresh = %g: must be in [0, 1]", l.Fresh)
	case l.Scaling >= 1:
		return l, bad("Loss.Scaling = %g: must be in (0, 1)", l.Scaling)
	case !(l.Diameter >= l.Blur) || math.IsInf(l.Diameter, 0):
		return l, bad("Loss.Diameter = %g: must be finite and at least Blur = %g", l.Diameter, l.Blur)
	}
	return l, nil
}

// fresh is n′.
func (l Loss) fresh(n int) int { return int(l.Fresh * float64(n)) }

// schedule lists the values of ε, largest first, as GeomLoss has them.
func (l Loss) schedule() []float64 {
	out := []float64{l.Diameter}
	step := logspace.Log(l.Scaling)
	for k := range max(0, int(math.Ceil((logspace.Log(l.Blur)-logspace.Log(l.Diameter))/step))) {
		out = append(out, l.Diameter*math.Exp(float64(k)*step))
	}
	return append(out, l.Blur)
}

// Labelled is images on a device, N×D in [−1, 1], with their classes.
type Labelled struct {
	X      *device.Array
	Labels []int
}

// Gradient writes the gradient of the loss with respect to the n + n′ generated images x to grad,
// and returns the arrays that it was summed from: that of the private term 2W(X[:n], Y), n×D, and
// that of the rest. y may be empty: its term is then 0. Arrays made here belong to the innermost
// Scope.
func (l Loss) Gradient(x, y Labelled, classes int) (private, public *device.Array, err error) {
	total, d := x.X.Dim(0), x.X.Dim(1)
	if l, err = l.withDefaults(d, classes); err != nil {
		return nil, nil, err
	}
	n := l.batch(total)
	if n+l.fresh(n) != total {
		return nil, nil, bad("x: %d images: no n has n + ⌊%g·n⌋ of them", total, l.Fresh)
	}
	dev := x.X.Device()
	private, public = dev.Zeros(device.Float32, n, d), dev.Zeros(device.Float32, total, d)
	defer dev.Scope().Close()
	fx, err := l.features(x, classes)
	if err != nil {
		return nil, nil, err
	}
	l.public(public, fx, n)
	if len(y.Labels) == 0 {
		return private, public, nil
	}
	fy, err := l.features(y, classes)
	if err == nil {
		l.private(private, fx.Rows(0, n), fy)
	}
	return private, public, err
}

// private writes the gradient of 2W(x, y), of features, with respect to the pixels of x.
func (l Loss) private(grad, x, y *device.Array) {
	defer grad.Device().Scope().Close()
	device.Scale(grad, 2, cut(l.solve(x, y).gradX(), grad.Dim(1)))
}

// public adds the gradient of −W(x[:n], x[n′:n+n′]), of features, with respect to the pixels of x.
func (l Loss) public(grad, x *device.Array, n int) {
	defer grad.Device().Scope().Close()
	total, d := grad.Dim(0), grad.Dim(1)
	t := l.solve(x.Rows(0, n), x.Rows(total-n, total))
	head, tail := grad.Rows(0, n), grad.Rows(total-n, total)
	device.Sub(head, head, cut(t.gradX(), d))
	device.Sub(tail, tail, cut(t.gradY(), d))
}

// batch is the n of n + n′ images.
func (l Loss) batch(total int) int {
	n := int(float64(total) / (1 + l.Fresh))
	for n+l.fresh(n) < total {
		n++
	}
	return n
}

// cut is the first d columns.
func cut(a *device.Array, d int) *device.Array {
	out := a.Device().New(device.Float32, a.Dim(0), d)
	device.Cut(out, a, 1, 0)
	return out
}

// features appends Label·onehot to the pixels.
func (l Loss) features(b Labelled, classes int) (*device.Array, error) {
	n := b.X.Dim(0)
	if len(b.Labels) != n {
		return nil, bad("%d labels for %d images", len(b.Labels), n)
	}
	hot, err := l.hot(b.Labels, classes)
	if err != nil {
		return nil, err
	}
	return join(b.X, b.X.Device().From32(hot, n, classes)), nil
}

// hot is Label·onehot, a row a label.
func (l Loss) hot(labels []int, classes int) ([]float32, error) {
	hot := make([]float32, len(labels)*classes)
	for i, c := range labels {
		if c < 0 || c >= classes {
			return nil, bad("label %d of image %d: must be in [0, %d)", c, i, classes)
		}
		hot[i*classes+c] = float32(l.Label)
	}
	return hot, nil
}

// join puts the columns of a before those of b.
func join(a, b *device.Array) *device.Array {
	n, d := a.Dim(0), a.Dim(1)
	out := a.Device().New(device.Float32, n, d+b.Dim(1))
	device.Paste(out, a, 1, 0)
	device.Paste(out, b, 1, d)
	return out
}

// term is one annealed transport problem with uniform weights.
type term struct {
	x, y         *device.Array
	cost         device.Cost
	f, g         *device.Array // the averaged potentials
	lastF, lastG *device.Array // f and g after the last update, each from the averaged other
	eps          float64
}

func (l Loss) solve(x, y *device.Array) *term {
	dev := x.Device()
	n, m := x.Dim(0), y.Dim(0)
	vec := func(k int) *device.Array { return dev.New(device.Float32, 1, k) }
	schedule := l.schedule()
	t := &term{
		x:     x,
		y:     y,
		cost:  l.cost(),
		f:     vec(n),
		g:     vec(m),
		lastF: vec(n),
		lastG: vec(m),
		eps:   schedule[len(schedule)-1],
	}
	c := dev.New(device.Float32, n, m)
	device.Costs(c, x, y, t.cost)
	device.Anneal(t.f, t.g, t.lastF, t.lastG, c.Reshape(1, n, m), schedule)
	return t
}

func (l Loss) cost() device.Cost {
	if l.NoSquare {
		return device.Cost{Abs: l.L1}
	}
	return device.Cost{Square: 1, Abs: l.L1}
}

// gradX is (1/n) Σ_j softmax_j((g_j − c_ij)/ε) ∂c_ij/∂x_i.
func (t *term) gradX() *device.Array { return t.grad(t.x, t.y, t.lastF, t.g) }

// gradY is (1/m) Σ_i softmax_i((f_i − c_ij)/ε) ∂c_ij/∂y_j.
func (t *term) gradY() *device.Array { return t.grad(t.y, t.x, t.lastG, t.f) }

// grad is the gradient at x: the plan is exp((own_i + other_j − c_ij)/ε)/(n·m), whose rows sum to 1/n.
func (t *term) grad(x, y, own, other *device.Array) *device.Array {
	dev := x.Device()
	inv, n, m := 1/t.eps, x.Dim(0), y.Dim(0)
	u, h, one, zero := own.Like(), other.Like(), dev.New(device.Float32, n), dev.New(device.Float32, m)
	device.Fill(one, 1)
	device.Fill(zero, 0)
	device.Scale(u, inv, own)
	device.Map(u, u, device.AddConst, -logspace.Log(float64(n)*float64(m)))
	device.Scale(h, inv, other)
	out := x.Like()
	device.PointGrad(out, x, y, u.Reshape(n), h.Reshape(m), one, zero, t.cost, inv, true)
	return out
}

// String names the loss.
func (l Loss) String() string {
	return fmt.Sprintf("semi-debiased Sinkhorn, m = %g, p = %g", l.L1, l.Fresh)
}
