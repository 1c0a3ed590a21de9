// Package stream solves entropic transport from a measure that is only sampled, a stream of points,
// to given points: the semi-dual by averaged stochastic gradients. It is the baseline of networks
// that learn the same dual, such as SCONES.
//
//	max over g of  E_x[ −ε log Σⱼ bⱼ exp((gⱼ − c(x, yⱼ))/ε) ] + Σⱼ bⱼ gⱼ,
//
// whose gradient at one x is b − π(x), π(x)ⱼ ∝ bⱼ exp((gⱼ − c(x, yⱼ))/ε) (Genevay, Cuturi, Peyré
// and Bach 2016, "Stochastic optimization for large-scale optimal transport"). No n×m matrix and no
// sample is kept.
//
// # What to expect
//
// The error of the averaged potentials falls as one over the root of the number of samples, slowly
// where ε is small against the costs: [Solver] is for measures that cannot be held. A finite sample
// is solved faster, and to any precision, by ot.LBFGS. Result measures, on fresh samples, how far
// the marginal is from b, with its standard error.
package stream

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu"
	"coupling/lab/logspace"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
)

// kern is the set of vector kernels in use.
var kern cpu.Kernels[float64]

// Solver is averaged stochastic gradient ascent. The zero value with Eps and Samples set works.
type Solver struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Samples is the number of points taken from the stream for the ascent.
	Samples int
	// Batch is the number of points whose gradients are averaged in a step; 0 is 10.
	Batch int
	// Step is the length C of steps: step k is C/√k times b − π, in each coordinate divided by bⱼ +
	// 1/m; 0 is 5ε.
	Step float64
	// Check is the number of fresh points, taken afterwards, by which the result is measured; 0 is
	// Samples/10, at least 1000.
	Check int
}

// Result is the potentials that the ascent ended at, and what fresh samples say of them.
type Result struct {
	// G are the KL potentials of the targets, of mean 0 under b: those of ot.Plan, but for a
	// constant, and arbitrary where b is 0.
	G []float64
	// Value estimates the semi-dual at G, which is at most the value of the problem (ot's RegKL),
	// and ValueError is its standard error.
	Value, ValueError float64
	// Marginal estimates Σⱼ |E π(x)ⱼ − bⱼ|, the error of the marginal, and Noise is what it would
	// be by the samples' noise alone: there is no evidence of an error while Marginal is of the
	// size of Noise.
	Marginal, Noise float64
}

// Solve takes points of the source from draw, which fills its argument, of as many coordinates as y
// (m×d) has, and returns the potentials of the targets y with weights b (nil: uniform).
func (o Solver) Solve(ctx context.Context, draw func(x []float64), y *mat.Dense, b []float64, c cost.PointCost) (
	*Result, error) {
	if y == nil || y.IsEmpty() {
		return nil, fmt.Errorf("ot/stream: y has no points: %w", ot.ErrShape)
	}
	o.Batch, o.Step, o.Check = cmp.Or(o.Batch, 10), cmp.Or(o.Step, 5*o.Eps), cmp.Or(o.Check, max(1000, o.Samples/10))
	if !(o.Eps > 0 && o.Step > 0) || math.IsInf(o.Eps+o.Step, 1) || o.Samples <= 0 || o.Batch < 0 || o.Check < 0 {
		return nil, fmt.Errorf("ot/stream: Eps = %g, Samples = %d, Batch = %d, Step = %g, Check = %d: "+
			"must be > 0 and finite (0 is a default but for Eps and Samples): %w", o.Eps, o.Samples, o.Batch, o.Step,
			o.Check, ot.ErrParameter)
	}
	p := &pass{draw: draw, x: mat.NewDense(o.Batch, y.RawMatrix().Cols, nil), y: y, c: c, inv: 1 / o.Eps}
	_, weights, err := ot.Problem{Geometry: ot.MatrixFree(p.x, y, c), B: b}.Weights()
	if err != nil {
		return nil, err
	}
	p.b, p.logB = weights, make([]float64, len(weights))
	for j, w := range weights {
		p.logB[j] = logspace.Log(w)
	}
	r := &Result{G: make([]float64, len(weights))}
	if err := o.ascend(ctx, p, r.G); err != nil {
		return nil, err
	}
	if err := o.measure(ctx, p, r); err != nil {
		return nil, err
	}
	return r, nil
}

// ascend leaves the average of the steps' potentials in g, that of step k with a weight of k, which
// forgets the start (Lacoste-Julien, Schmidt and Bach 2012).
func (o Solver) ascend(ctx context.Context, p *pass, g []float64) error {
	m := len(g)
	at, mean := make([]float64, m), make([]float64, m)
	for k := range (o.Samples + o.Batch - 1) / o.Batch {
		clear(mean)
		err := p.each(ctx, at, func(_ float64, pi []float64) { kern.Axpy(mean, 1/float64(o.Batch), pi) })
		if err != nil {
			return err
		}
		step := o.Step / math.Sqrt(float64(k+1))
		for j, b := range p.b {
			at[j] += step * (b - mean[j]) / (b + 1/float64(m))
			g[j] += (at[j] - g[j]) * 2 / float64(k+2)
		}
	}
	return nil
}

// measure fills r by fresh samples.
func (o Solver) measure(ctx context.Context, p *pass, r *Result) error {
	m, count := len(r.G), 0.
	shift := kern.Dot(p.b, r.G)
	for j := range r.G {
		r.G[j] -= shift
	}
	mean, square := make([]float64, m), make([]float64, m)
	var values, squares float64
	for range (o.Check + o.Batch - 1) / o.Batch {
		err := p.each(ctx, r.G, func(v float64, pi []float64) {
			values, squares, count = values+v, squares+v*v, count+1
			for j, x := range pi {
				mean[j] += x
				square[j] += x * x
			}
		})
		if err != nil {
			return err
		}
	}
	r.Value = values / count
	r.ValueError = math.Sqrt(max(0, squares/count-r.Value*r.Value) / count)
	for j, b := range p.b {
		x := mean[j] / count
		r.Marginal += math.Abs(x - b)
		r.Noise += math.Sqrt(2 / math.Pi * max(0, square[j]/count-x*x) / count) // E|z| of a normal z is √(2/π) σ
	}
	return nil
}

// pass makes the plan's rows for points of the stream.
type pass struct {
	draw    func(x []float64)
	x, y    *mat.Dense
	c       cost.PointCost
	cloud   geometry.Cloud
	b, logB []float64
	inv     float64
}

// each draws a batch and calls f with the soft minimum of c(x, ·) − g and the row of the plan of
// each point.
func (p *pass) each(ctx context.Context, g []float64, f func(softmin float64, pi []float64)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n, _ := p.x.Dims()
	for i := range n {
		p.draw(p.x.RawRowView(i))
	}
	cloud := p.cloud.Reset(p.x, p.y, p.c)
	if err := cost.Check(cloud); err != nil {
		return err
	}
	h, pi, buf := make([]float64, len(g)), make([]float64, len(g)), make([]float64, len(g))
	kern.Scale(h, p.inv, g)
	kern.Axpy(h, 1, p.logB)
	for i := range n {
		top, sum := kern.RowExp(pi, h, cloud.Row(i, buf), p.inv)
		kern.Scale(pi, 1/sum, pi)
		f(-(top+logspace.Log(sum))/p.inv, pi)
	}
	return nil
}
