package scones

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/data/synth"
	"coupling/lab"
	"coupling/ot/gaussian"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// The law of y given x for the exact potential is the plan's.
func TestRegression(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	cov := func() *mat.SymDense { return lab.Must(synth.RandomCovariance(rng, 3, .5, 3)) }
	plan := lab.Must(gaussian.Entropic{Eps: 2}.Solve(gaussian.Normal{Mean: []float64{1, -2, .5}, Cov: cov()},
		gaussian.Normal{Mean: []float64{0, 1, 3}, Cov: cov()}))
	_, psi := scones.Potentials(plan)
	r := lab.Must(regress(psi, plan.Q, plan.Eps))
	if !mat.EqualApprox(r.slope, plan.Forward, 1e-11) {
		t.Errorf("slope\n%v, want\n%v", mat.Formatted(r.slope), mat.Formatted(plan.Forward))
	}
	if j := r.joint(plan.P.Cov); !mat.EqualApprox(j, plan.Joint().Cov, 1e-10) {
		t.Errorf("joint covariance\n%v, want\n%v", mat.Formatted(j), mat.Formatted(plan.Joint().Cov))
	}
	y := lab.Must(synth.Normal(rng, 5, 3))
	mean := r.mean(y)
	for i := range 5 {
		for k, want := range plan.Conditional(y.RawRowView(i)).Mean {
			if math.Abs(mean.At(i, k)-want) > 1e-10 {
				t.Errorf("mean %v, want %v", mean.RawRowView(i), want)
			}
		}
	}
}
