package scones

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/data/synth"
	"coupling/lab/must"
	"coupling/ot/gaussian"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Sums over axes are what ot/gaussian makes of the whole matrices: the plan, and BW-UVPs of other couplings.
func TestMNISTRow(t *testing.T) {
	const lambda = .3
	values := []float64{3, .5, .02, 0}
	d := float64(len(values))
	source := gaussian.Normal{Cov: mat.NewSymDense(4, nil)}
	for i, v := range values {
		source.Cov.SetSym(i, i, v)
	}
	plan := toUnit(source, lambda*d)
	row := rowOf(values, lambda)
	if math.Abs(row.Information-plan.KL) > 1e-10 {
		t.Errorf("mutual information %g, want %g", row.Information, plan.KL)
	}
	for _, c := range []struct {
		name string
		got  float64
		kv   func(axis) (k, v float64)
	}{
		{"barycentric", row.Barycentric, func(s axis) (k, v float64) { return s.slope(), 0 }},
		{"independent", row.Independent, func(axis) (k, v float64) { return 0, 1 }},
		{"sampler", row.Sampler,
			func(s axis) (k, v float64) { return s.slope(), after(momentsLangevin, s.variance()) }},
	} {
		joint := mat.NewSymDense(8, nil)
		for i, a := range values {
			k, v := c.kv(axis{a, lambda * d})
			joint.SetSym(i, i, a)
			joint.SetSym(i, 4+i, k*a)
			joint.SetSym(4+i, 4+i, k*k*a+v)
		}
		want := must.Get(gaussian.UVP(joint, plan.Joint().Cov))
		if math.Abs(c.got-want) > 1e-6*(1+want) {
			t.Errorf("%s: %g, want %g", c.name, c.got, want)
		}
	}
}

// Draws have the covariance of the plan, and those of ψ = 0 that of its chains.
func TestMNISTSampled(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	cov := must.Get(synth.RandomCovariance(rng, 4, .5, 3))
	w := newPair(nil, toUnit(gaussian.Normal{Mean: []float64{1, 2, 3, 4}, Cov: cov}, 1.2), rng, 200000)
	// The floor of n samples is of the order d²/n, 1e-2 per cent here.
	if uvp := w.uvp(w.around(w.mean(), rng, func(v float64) float64 { return v })); !(uvp <= .02) {
		t.Errorf("draws of the plan have a BW-UVP of %g %%", uvp)
	}
	var joint mat.Dense
	var sampled mat.SymDense
	joint.Augment(w.x, w.drawUntrained(rng))
	stat.CovarianceMatrix(&sampled, &joint, nil)
	slope, noise := w.pull()/(1+w.pull()), after(momentsLonger, 1/(1+w.pull()))
	for k := range 4 {
		a := cov.At(k, k)
		own := slope*slope*a + noise
		// Standard errors of covariances of 200,000 samples are below 1/2 per cent of √(xx·yy).
		tol := .02 * math.Max(a, own)
		if xy, yy := sampled.At(k, 4+k), sampled.At(4+k, 4+k); math.Abs(xy-slope*a) > tol || math.Abs(yy-own) > tol {
			t.Errorf("coordinate %d of ψ = 0: covariance %g, variance %g, want %g and %g", k, xy, yy, slope*a, own)
		}
	}
	// Its closed form is the limit of many steps.
	y := new(mat.Dense)
	y.Apply(func(_, _ int, v float64) float64 { return slope*v + math.Sqrt(1/(1+w.pull()))*rng.NormFloat64() }, w.x)
	if got, want := w.untrained(), w.uvp(y); !(math.Abs(got-want) <= .05*want) {
		t.Errorf("ψ = 0 has a BW-UVP of %g in closed form and %g sampled", got, want)
	}
}

// The error of the exact gradient is 0, that of ψ = 0 the root mean square of ∇ψ over that of ∇ψ − ∇c.
func TestMNISTScoreError(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	plan := toUnit(gaussian.Normal{Mean: []float64{1, 2}, Cov: mat.NewSymDense(2, []float64{2, 0, 0, 1})}, .6)
	_, psi := scones.Potentials(plan)
	x := must.Get(synth.Normal(rng, 50, 2))
	y := must.Get(synth.Normal(rng, 50, 2))
	if got := scoreError(plan, psi, x, y); !(got <= 1e-12) { // rounding of four digits' cancellation
		t.Errorf("the exact potential is off by %g", got)
	}
	grad, factor := mat.NewDense(50, 2, nil), new(mat.Dense)
	must.Do(psi.Eval(nil, grad, y))
	factor.Sub(x, y)
	factor.Scale(2, factor)
	factor.Add(factor, grad)
	want := mat.Norm(grad, 2) / mat.Norm(factor, 2)
	if got := scoreError(plan, nothing(2), x, y); !(math.Abs(got-want) <= 1e-12*want) {
		t.Errorf("ψ = 0 is off by %g, want %g", got, want)
	}
}
