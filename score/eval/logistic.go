package eval

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"coupling/data"
	"coupling/lab/device"
	"coupling/lab/nn"
)

// The stopping rule of scikit-learn and of SciPy's L-BFGS-B below it: the largest entry of the
// gradient of the sum over examples, and the relative decrease of an iteration.
const (
	gradientTolerance = 1e-4
	valueTolerance    = 2.2e-9
)

// minimiseBatch is the number of images that are on the device beside their logits at a time.
const minimiseBatch = 4096

// objective is (Σ_i cross-entropy_i + ½|W|²)/n of multinomial logistic regression and its gradient;
// the bias is not penalised. It is float64, since in float32 the rounding of the sum hides the last
// improvements. It caches the last point.
type objective struct {
	ctx    context.Context
	dev    *device.Device
	layer  *nn.Dense
	images *data.Images
	labels []int32

	at, grad []float64
	value    float64
}

// minimise is scikit-learn's LogisticRegression(C=1), L-BFGS from zero, rounded to float32 at the end.
func (m *Model) minimise(ctx context.Context, images *data.Images, r recipe) error {
	defer m.dev.Scope().Close()
	o := &objective{ctx: ctx, dev: m.dev, layer: &nn.Dense{In: m.Shape.pixels(), Out: m.Shape.Classes}, images: images}
	o.layer.Init(m.dev, device.Float64, rand.New(rand.NewPCG(0, 0))) // the drawn weights are overwritten
	for _, k := range images.Labels {
		o.labels = append(o.labels, int32(k))
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { o.visit(x); return o.value },
		Grad: func(grad, x []float64) { o.visit(x); copy(grad, o.grad) },
		Status: func() (optimize.Status, error) {
			if err := ctx.Err(); err != nil {
				return optimize.Failure, err
			}
			return optimize.NotTerminated, m.dev.Err()
		},
	}
	settings := optimize.Settings{
		GradientThreshold: gradientTolerance / float64(images.Len()),
		MajorIterations:   cmp.Or(m.Classifier.Epochs, r.epochs),
		Converger:         &optimize.FunctionConverge{Relative: valueTolerance, Iterations: 1},
	}
	found, err := optimize.Minimize(problem, make([]float64, nn.Count(m.Params())), &settings,
		&optimize.LBFGS{Store: 10})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case m.dev.Err() != nil:
		return m.dev.Err()
	case found == nil:
		return err
	}
	put(m.Params(), found.X)
	done := found.Stats.MajorIterations
	converged := found.Status == optimize.GradientThreshold || found.Status == optimize.FunctionConvergence
	// an error is that of a line search
	m.Run = Run{Epochs: done, Best: done, Loss: found.F, HeldOut: math.NaN(), Complete: err == nil && converged}
	return m.dev.Sync()
}

// put sets weights and bias.
func put(params []*nn.Param, x []float64) {
	for _, p := range params {
		p.Value.SetFloats(x[:p.Value.Len()])
		x = x[p.Value.Len():]
	}
}

// visit computes value and gradient at x. If it is cancelled or the device fails, the value is
// invalid, and Status says so.
func (o *objective) visit(x []float64) {
	if slices.Equal(o.at, x) {
		return
	}
	o.at, o.grad = append(o.at[:0], x...), o.grad[:0]
	put(o.layer.Params(), x)
	nn.ZeroGrads(o.layer.Params())
	n, sum := o.images.Len(), 0.
	for lo := 0; lo < n && o.ctx.Err() == nil; lo += minimiseBatch {
		sum += o.add(lo, min(lo+minimiseBatch, n))
	}
	for _, p := range o.layer.Params() {
		g, err := p.Grad.Float64s()
		if err != nil {
			g = make([]float64, p.Value.Len())
		}
		o.grad = append(o.grad, g...)
	}
	for i, w := range x[:o.layer.W.Value.Len()] {
		sum += w * w / 2
		o.grad[i] += w / float64(n)
	}
	o.value = sum / float64(n)
}

// add adds the part of images lo to hi to the gradients and returns the sum of their losses.
func (o *objective) add(lo, hi int) float64 {
	defer o.dev.Scope().Close()
	narrow := o.dev.From32(scaled(nil, o.images.Slice(lo, hi)), hi-lo, o.images.Dim())
	x := o.dev.New(device.Float64, narrow.Shape()...)
	device.Convert(x, narrow)
	return back(&nn.Pass{}, o.layer, x, o.labels[lo:hi], 1/float64(o.images.Len()))
}
