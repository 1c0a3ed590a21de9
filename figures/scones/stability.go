package scones

import (
	"context"
	"fmt"
	"math"

	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// stability is Theorem 4.3 held to account on a discrete problem: potentials whose dual value is Gap below the maximum have
// a pseudo-plan π̂ = M(V) a⊗b with
//
//	|π̂ − π*|₁ ≤ √(2 Gap/s),     s = λα the strong convexity of the primal objective in the L1 norm.
//
// α is 1 for KL, by Pinsker's inequality, and 2 for ChiSquare and Pearson. The other divergences have none, and are not asked for.
//
// For χ² this holds for all potentials. For KL it does where π̂ has the mass 1 of a plan, which the paper does not ask for:
// φ* + λ log 2 has the pseudo-plan 2π*, at L1 distance 1, and a gap of λ(1 − log 2), which would bound it by 0.78. So
// Shift is taken off φ first, which never lowers the dual.
type stability struct {
	Gap      float64 // after Shift
	Bound    float64 // √(2 Gap/s)
	Distance float64 // |π̂ − π*|₁, after Shift
	Shift    float64 // λ log(mass of π̂) for KL, else 0
	// Raw are gap, bound and distance without Shift: what the theorem says as it is printed.
	Raw struct{ Gap, Bound, Distance float64 }
}

// stabilityOf compares potentials on the points of a problem with the optimal ones, which freg.Solver finds. Its cost is that
// of a solve. Beta and Cap are ignored.
func stabilityOf(ctx context.Context, k scones.Compatibility, p ot.Problem, phi, psi []float64) (stability, error) {
	k.Beta, k.Cap = 0, math.Inf(1)
	alpha := 2.
	if k.F == fdiv.KL {
		alpha = 1
	}
	best, err := freg.Solver{F: k.F, Lambda: k.Lambda, Tol: 1e-10}.Solve(ctx, p)
	if err != nil {
		return stability{}, err
	}
	if best.Status != ot.Converged {
		return stability{}, fmt.Errorf("scones: the reference solution is %v: %w", best.Status, scones.ErrParameter)
	}
	cost := ot.Cost(p.Geometry)
	var out stability
	s := k.Lambda * alpha
	measure := func(shift float64) (gap, bound, distance, mass float64) {
		dual := dualValue(k, best.A, best.B, phi, psi, cost, shift)
		gap = max(0, best.Dual-dual)
		truth := best.Matrix()
		for i, a := range best.A {
			for j, b := range best.B {
				t := a * b * k.Density(phi[i]-shift+psi[j]-cost.At(i, j))
				mass += t
				distance += math.Abs(t - truth.At(i, j))
			}
		}
		return gap, math.Sqrt(2 * gap / s), distance, mass
	}
	var mass float64
	out.Raw.Gap, out.Raw.Bound, out.Raw.Distance, mass = measure(0)
	if k.F == fdiv.KL {
		out.Shift = k.Lambda * math.Log(mass)
	}
	out.Gap, out.Bound, out.Distance, _ = measure(out.Shift)
	return out, nil
}

// dualValue is J at potentials on weighted points, shift taken off phi.
func dualValue(k scones.Compatibility, a, b, phi, psi []float64, cost *mat.Dense, shift float64) float64 {
	sum := 0.
	for i, v := range phi {
		sum += a[i] * (v - shift)
		for j, w := range psi {
			sum -= a[i] * b[j] * k.Penalty(v-shift+w-cost.At(i, j))
		}
	}
	for j, w := range psi {
		sum += b[j] * w
	}
	return sum
}
