package scones

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/data/synth"
	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// Theorem 4.3 for perturbed potentials: the distance of the plans is at most √(2 Gap/s), after the mass is set right.
func TestStability(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y, plan := solvedClouds(t, rng, 12, 9, 1.5)
	prob := ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		size := rapid.SampledFrom([]float64{1e-3, .1, 1, 5}).Draw(t, "size")
		f := rapid.SampledFrom([]fdiv.Divergence{fdiv.KL, fdiv.ChiSquare, fdiv.Pearson}).Draw(t, "f")
		phi, psi := slices.Clone(plan.F), slices.Clone(plan.G)
		for i := range phi {
			phi[i] += size * rng.NormFloat64()
		}
		for j := range psi {
			psi[j] += size * rng.NormFloat64()
		}
		s := stabilityOf(t.Context(), scones.Compatibility{F: f, Lambda: 1.5}, prob, phi, psi)
		if !(s.Distance <= s.Bound+1e-6) { // the reference plan has an L1 error of 1e-10, whose root is of this size
			t.Fatalf("%v, %g off: distance %g, bound %g", f, size, s.Distance, s.Bound)
		}
		if f == fdiv.KL && s.Gap > s.Raw.Gap+1e-9 {
			t.Fatalf("shifting raised the gap from %g to %g", s.Raw.Gap, s.Gap)
		}
	})
}

// As printed the theorem fails under KL: potentials too large by λ log 2 have twice the plan, and a
// gap of λ(1 − log 2).
func TestPrintedTheoremFails(t *testing.T) {
	x, y, plan := solvedClouds(t, rand.New(rand.NewPCG(2, 1)), 10, 10, 1)
	phi, psi := slices.Clone(plan.F), slices.Clone(plan.G)
	for i := range phi {
		phi[i] += 1 + math.Ln2 // fdiv's convention has λ more than ot's
	}
	prob := ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}
	s := stabilityOf(t.Context(), scones.Compatibility{Lambda: 1}, prob, phi, psi)
	if math.Abs(s.Raw.Distance-1) > 1e-6 || math.Abs(s.Raw.Gap-(1-math.Ln2)) > 1e-6 || !(s.Raw.Distance > s.Raw.Bound) {
		t.Errorf("distance %g, gap %g, bound %g: want 1, %g and a bound that is violated", s.Raw.Distance, s.Raw.Gap,
			s.Raw.Bound, 1-math.Ln2)
	}
	if s.Distance > 1e-6 || math.Abs(s.Shift-math.Ln2) > 1e-6 {
		t.Errorf("after a shift of %g: distance %g", s.Shift, s.Distance)
	}
}

// solvedClouds are two clouds in the plane and their entropic plan.
func solvedClouds(t *testing.T, rng *rand.Rand, n, m int, eps float64) (x, y *mat.Dense, plan *ot.Plan) {
	x, y = must.Get(synth.Normal(rng, n, 2)), must.Get(synth.Normal(rng, m, 2))
	return x, y, must.Get(ot.LBFGS{Eps: eps, Tol: 1e-12}.Solve(t.Context(),
		ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}))
}
