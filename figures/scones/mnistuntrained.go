package scones

import (
	"context"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/lab"

	"gonum.org/v1/gonum/mat"
)

// mnistUntrainedParams is ψ = 0 in the place of a network's potential.
type mnistUntrainedParams struct {
	Side    int         `json:"side"`
	Lambda  float64     `json:"lambda"`
	Samples int         `json:"samples"`
	Data    data.Origin `json:"data,omitzero"`
}

// mnistUntrainedOut is what a network that has learnt nothing is measured to be.
type mnistUntrainedOut struct {
	Error   float64 `json:"error"`   // as mnistNetOut's
	Sampled float64 `json:"sampled"` // BW-UVP in percent of the law that the same sampler has, of as many samples
}

var mnistUntrainedOf = lab.Experiment[mnistUntrainedParams, mnistUntrainedOut]{Name: "scones/mnist-gaussian-untrained", Version: 1, Run: runUntrained}

// mnistUntrained has a cell for each of mnistNets.
func mnistUntrained(set lab.Setting) (out []mnistUntrainedParams) {
	for _, p := range mnistNets(set) {
		out = append(out, mnistUntrainedParams{p.Side, p.Lambda, p.Samples, p.Data})
	}
	return out
}

func runUntrained(ctx context.Context, c *lab.Cell, p mnistUntrainedParams) (out mnistUntrainedOut, err error) {
	w, err := newMNISTProblem(ctx, p.Data, p.Side, p.Lambda)
	if err != nil {
		return out, err
	}
	if out.Error, err = w.heldOut(c.Rand("tests"), nothing(w.plan.P.Dim())); err != nil {
		return out, err
	}
	rng := c.Rand("chains")
	x, err := w.source.Sample(rng, p.Samples)
	if err != nil {
		return out, err
	}
	out.Sampled, err = w.uvp(x, w.drawUntrained(x, rng))
	return out, err
}

// drawUntrained draws from what mnistLonger makes of exp(−c/λ)τ(y), where its start is forgotten.
func (w *mnistProblem) drawUntrained(x *mat.Dense, rng *rand.Rand) *mat.Dense {
	y := w.along(x)
	n, _ := y.Dims()
	for i := range n {
		row := y.RawRowView(i)
		for k, s := range w.axes {
			pull := 2 / s.lambda
			row[k] = pull/(1+pull)*row[k] + math.Sqrt(after(mnistLonger, 1/(1+pull)))*rng.NormFloat64()
		}
	}
	y.Mul(y, w.vectors.T())
	return y
}

// nothing is the potential 0 of points of so many dimensions.
type nothing int

// Dim implements scones.Potential.
func (d nothing) Dim() int { return int(d) }

// Eval implements scones.Potential.
func (nothing) Eval(value []float64, grad, _ *mat.Dense) error {
	clear(value)
	if grad != nil {
		grad.Zero()
	}
	return nil
}
