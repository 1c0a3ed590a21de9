package scones

import (
	"math"
	"testing"

	"coupling/ot/gaussian"

	"gonum.org/v1/gonum/mat"
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
	plan, err := mnistPlan(source, lambda)
	if err != nil {
		t.Fatal(err)
	}
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
		{"sampler", row.Sampler, func(s axis) (k, v float64) { return s.slope(), after(mnistLangevin, s.variance()) }},
	} {
		joint := mat.NewSymDense(8, nil)
		for i, a := range values {
			k, v := c.kv(axis{a, lambda * d})
			joint.SetSym(i, i, a)
			joint.SetSym(i, 4+i, k*a)
			joint.SetSym(4+i, 4+i, k*k*a+v)
		}
		want, err := gaussian.UVP(joint, plan.Joint().Cov)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(c.got-want) > 1e-6*(1+want) {
			t.Errorf("%s: %g, want %g", c.name, c.got, want)
		}
	}
}
