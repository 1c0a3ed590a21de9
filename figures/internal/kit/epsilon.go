package kit

import (
	"math"

	"coupling/lab"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Epsilon is the ε of an entropic plan between the rows of x and of y at squared distances, by what it has to satisfy
// whatever its potentials, log(T_ij T_kl / T_il T_kj) = −(c_ij + c_kl − c_il − c_kj)/ε: in least squares over rows and
// columns that stand beside each other, where the plan is not 0.
func Epsilon(plan, x, y *mat.Dense) float64 {
	cross := func(i, j int, of func(i, j int) float64) float64 {
		return of(i, j) + of(i+1, j+1) - of(i, j+1) - of(i+1, j)
	}
	cost := func(i, j int) float64 {
		d := floats.Distance(x.RawRowView(i), y.RawRowView(j), 2)
		return d * d
	}
	log := func(i, j int) float64 { return math.Log(plan.At(i, j)) }
	product, square := 0., 0.
	n, m := plan.Dims()
	for i := 0; i+1 < n; i += 2 {
		for j := 0; j+1 < m; j += 2 {
			if min(plan.At(i, j), plan.At(i+1, j+1), plan.At(i, j+1), plan.At(i+1, j)) < 1e-290 {
				continue
			}
			l := cross(i, j, log)
			product, square = product-l*cross(i, j, cost), square+l*l
		}
	}
	return product / square
}

// EpsilonAsked is the claim that plans have the ε that was asked for, each by [Epsilon] over it.
func EpsilonAsked(ratios []float64, null lab.Null) lab.Claim {
	off := lab.Most(ratios, func(r float64) float64 { return math.Abs(r - 1) })
	return AtMost("ε of the plans by their entries and squared distances, over what was asked for, less 1, largest",
		"T_ij = a_i b_j exp((f_i + g_j − c_ij)/ε)", off, 1e-6, "rounding of costs over ε, which is thousands at most",
		null)
}
