package bounds

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// massTol is the largest error of the marginals of a coupling.
const massTol = 1e-9

// CouplingBound is Theorem 3.3 of SSKG: for any coupling Γ of the batch distributions p (under x) and q (under x′), and a
// jointly convex divergence Ψ (a hockey-stick divergence, or a Rényi moment ∫ m^α m′^(1−α)),
//
//	Ψ(M(x)‖M(x′)) ≤ Σ Γ(i, j)·cost(i, j),   cost(i, j) ≥ Ψ(B(y_i)‖B(y_j)).
//
// gamma is len(p)×len(q) with marginals p and q, as exact optimal transport returns it for these costs. Errors: marginals
// off by more than 1e-9, or that do not sum to one; negative entries or costs. The result is rounded up.
func CouplingBound(gamma *mat.Dense, p, q []float64, cost func(i, j int) float64) (float64, error) {
	if gamma == nil {
		return 0, bad("gamma = nil: must be a coupling")
	}
	if n, m := gamma.Dims(); n != len(p) || m != len(q) {
		return 0, bad("gamma is %d×%d: must be %d×%d", n, m, len(p), len(q))
	}
	rows, columns, mass, sum := make([]float64, len(p)), make([]float64, len(q)), 0.0, 0.0
	for i := range p {
		for j := range q {
			g := gamma.At(i, j)
			if g == 0 {
				continue
			}
			c := cost(i, j)
			if !(g >= 0) || !(c >= 0) {
				return 0, bad("gamma(%d, %d) = %v, cost = %v: must be at least 0", i, j, g, c)
			}
			rows[i], columns[j], mass, sum = rows[i]+g, columns[j]+g, mass+g, sum+g*c
		}
	}
	if !(math.Abs(mass-1) <= massTol) {
		return 0, bad("gamma sums to %v: must be 1", mass)
	}
	for _, m := range []struct{ got, want []float64 }{{rows, p}, {columns, q}} {
		for i := range m.want {
			if !(math.Abs(m.got[i]-m.want[i]) <= massTol) {
				return 0, bad("gamma: marginal %d is %v: must be %v", i, m.got[i], m.want[i])
			}
		}
	}
	return sum * (1 + 1e-15*float64(len(p)*len(q)+1)), nil
}
