package scones

import (
	"errors"
	"math"
	"testing"

	"coupling/lab/must"
	"coupling/ot/fdiv"
	"coupling/score"

	"gonum.org/v1/gonum/mat"
)

// What is no problem is refused by the argument's name, whichever door it comes through.
func TestBadInputIsRefused(t *testing.T) {
	rng := seeded(1)
	x, line, empty := normal(rng, 6, 2), normal(rng, 6, 1), &mat.Dense{}
	nan := mat.DenseCopyOf(x)
	nan.Set(3, 1, math.NaN())
	far := mat.DenseCopyOf(x) // finite, but no cost from there is
	far.Set(2, 0, 1e200)
	phi, psi := Potentials(pair(rng, 2, 3))
	c := Coupling{
		Compatibility: Compatibility{Lambda: 3},
		Phi:           phi,
		Psi:           psi,
		Target:        must.Get(score.NewGaussian(nil, mat.NewSymDense(2, []float64{1, 0, 0, 1}))),
	}
	chi := c
	chi.F = fdiv.ChiSquare
	capped := c
	capped.Phi, capped.Cap = nil, 50
	ascend := func(a Ascent, x, y Source) error {
		a.Compatibility, a.Steps = c.Compatibility, 1
		p, q := must.Get(NewQuadraticModel(2, nil, 3, .1)), must.Get(NewQuadraticModel(2, nil, 3, .1))
		return a.Run(t.Context(), p, q, x, y, 1, 0)
	}
	fit := func(lambda float64, x, y *mat.Dense) error {
		return must.Err(Fit{Lambda: lambda}.Run(t.Context(), rng, x, y))
	}
	for name, err := range map[string]error{
		"given NaN":         must.Err(c.Given(nan)),
		"given far":         must.Err(c.Given(far)),
		"fit far":           fit(1, far, x),
		"fit NaN":           fit(0, x, nan),
		"fit a line":        fit(0, x, line),
		"fit nothing":       fit(0, x, empty),
		"fit one place":     fit(0, x, mat.NewDense(3, 2, nil)),
		"negative lambda":   fit(-1, x, x),
		"given nothing":     must.Err(c.Given(nil)),
		"given a line":      must.Err(c.Given(line)),
		"chi2 without beta": must.Err(chi.Given(x)),
		"cap without phi":   must.Err(capped.Given(x)),
		"sample nothing":    must.Err(c.Sample(t.Context(), rng, nil, 1, score.Langevin{Step: .1, Steps: 1}, nil)),
		"sample none":       must.Err(c.Sample(t.Context(), rng, x, 0, score.Langevin{Step: .1, Steps: 1}, nil)),
		"densities":         must.Err(c.Densities(x, line)),
		"no densities":      must.Err(c.Densities(x, empty)),
		"ascent on nothing": ascend(Ascent{}, Cloud(x), Cloud(empty)),
		"ascent on NaN":     ascend(Ascent{}, Cloud(nan), Cloud(x)),
		"ascent on a line":  ascend(Ascent{}, Cloud(x), Cloud(line)),
		"ascent on too few": ascend(Ascent{Paired: true}, Cloud(x), all(x)),
		"infinite lambda":   fit(math.Inf(1), x, x),
		"NaN lambda":        fit(math.NaN(), x, x),
		"one target":        fit(0, x, mat.NewDense(1, 2, nil)),
		"no weight":         must.Err(NewDiscrete(x, make([]float64, 6), make([]float64, 6), 1, false)),
		"infinite weight": must.Err(NewDiscrete(x, []float64{1, 1, 1, 1, 1, math.Inf(1)}, make([]float64, 6),
			1, false)),
		"tiny lambda": must.Err(NewDiscrete(x, nil, []float64{1, 1, 1, 1, 1, 1}, 1e-310, false)),
		"nil":         CheckClouds(nil, x),
	} {
		if !errors.Is(err, ErrParameter) && !errors.Is(err, ErrShape) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, limit := range []float64{0, math.Inf(1)} { // no cap
		if capped.Cap = limit; must.Err(capped.Given(x)) != nil {
			t.Errorf("cap = %g without phi: error %v", limit, must.Err(capped.Given(x)))
		}
	}
}

// One source and one target, λ and a width given, for which two places have no scale: everything goes there.
func TestOnePoint(t *testing.T) {
	one, there := mat.NewDense(1, 2, nil), mat.NewDense(1, 2, []float64{3, 4})
	f := must.Get(Fit{Lambda: 1.25, Bandwidth: .1, Trace: func(score.Progress) {}}.Run(t.Context(), seeded(1),
		one, there))
	y := must.Get(f.Sample(t.Context(), seeded(2), one, 50))
	for i := range 50 {
		if d := math.Hypot(y.At(i, 0)-3, y.At(i, 1)-4); d > .6 {
			t.Errorf("sample at %v", y.RawRowView(i))
		}
	}
	if f.Acceptance < .3 {
		t.Errorf("acceptance %.2f", f.Acceptance)
	}
}
