package scones

import (
	"errors"
	"math"
	"testing"

	"coupling/ot"
	"coupling/ot/fdiv"

	"pgregory.net/rapid"
)

// Theorem 4.3 for perturbed potentials: the distance of the plans is at most √(2 Gap/s), after the mass is set right.
func TestStability(t *testing.T) {
	rng := seeded(1)
	x, y, plan := clouds(t, rng, 12, 9, 2, 1.5)
	prob := ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}
	rapid.Check(t, func(t *rapid.T) {
		rng := seeded(rapid.Uint64().Draw(t, "seed"))
		size := rapid.SampledFrom([]float64{1e-3, .1, 1, 5}).Draw(t, "size")
		f := rapid.SampledFrom([]fdiv.Divergence{fdiv.KL, fdiv.ChiSquare, fdiv.Pearson}).Draw(t, "f")
		phi, psi := append([]float64(nil), plan.F...), append([]float64(nil), plan.G...)
		for i := range phi {
			phi[i] += size * rng.NormFloat64()
		}
		for j := range psi {
			psi[j] += size * rng.NormFloat64()
		}
		s, err := Compatibility{F: f, Lambda: 1.5}.Stability(t.Context(), prob, phi, psi)
		must(0, err)
		if !(s.Distance <= s.Bound+1e-6) { // the reference plan has an L1 error of 1e-10, whose root is of this size
			t.Fatalf("%v, %g off: distance %g, bound %g", f, size, s.Distance, s.Bound)
		}
		if f == fdiv.KL && s.Gap > s.Raw.Gap+1e-9 {
			t.Fatalf("shifting raised the gap from %g to %g", s.Raw.Gap, s.Gap)
		}
	})
}

// As printed the theorem fails under KL: potentials too large by λ log 2 have twice the plan, and a gap of λ(1 − log 2).
func TestPrintedTheoremFails(t *testing.T) {
	x, y, plan := clouds(t, seeded(2), 10, 10, 2, 1)
	phi, psi := append([]float64(nil), plan.F...), append([]float64(nil), plan.G...)
	for i := range phi {
		phi[i] += 1 + math.Ln2 // fdiv's convention has λ more than ot's
	}
	s := must(Compatibility{Lambda: 1}.Stability(t.Context(), ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}, phi, psi))
	if math.Abs(s.Raw.Distance-1) > 1e-6 || math.Abs(s.Raw.Gap-(1-math.Ln2)) > 1e-6 || !(s.Raw.Distance > s.Raw.Bound) {
		t.Errorf("distance %g, gap %g, bound %g: want 1, %g and a bound that is violated", s.Raw.Distance, s.Raw.Gap, s.Raw.Bound, 1-math.Ln2)
	}
	if s.Distance > 1e-6 || math.Abs(s.Shift-math.Ln2) > 1e-6 {
		t.Errorf("after a shift of %g: distance %g", s.Shift, s.Distance)
	}
	if _, err := (Compatibility{Lambda: 1, F: fdiv.GAN}).Stability(t.Context(), ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}, phi, psi); !errors.Is(err, ErrNotConvex) {
		t.Errorf("GAN: error %v", err)
	}
}
