package scones

import (
	"context"
	"math"

	"coupling/lab/device/cpu"
	"coupling/lab/device/cpu/dense"
	"coupling/ot"
	"coupling/ot/freg"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// FromRegularised returns both potentials of a plan between the rows of x and of y, solved at the
// cost |x−y|² or its mean over coordinates, for Compatibility{F: plan.F, Lambda: plan.Lambda}. On
// the points they equal those of the plan up to its marginal error. phi's atoms are the targets,
// psi's the sources.
func FromRegularised(plan *freg.Plan, x, y *mat.Dense, mean bool) (phi, psi *Discrete, err error) {
	n, m := plan.Dims()
	a, d := x.Dims()
	b, e := y.Dims()
	if a != n || b != m || d != e {
		return nil, nil, misfit("a plan of %d×%d between %d×%d and %d×%d points", n, m, a, d, b,
			e)
	}
	u := unit(d, mean)
	one := func(atoms *mat.Dense, weights, duals []float64, root func([]float64) float64) *Discrete {
		r := rooted{
			atoms:   mat.DenseCopyOf(atoms),
			weights: weights,
			duals:   duals,
			lambda:  plan.Lambda,
			unit:    u,
			root:    root,
		}
		return &Discrete{atoms: r.atoms, f: plan.F, unit: u, each: r.each}
	}
	return one(y, plan.B, plan.Psi, plan.PhiAt), one(x, plan.A, plan.Phi, plan.PsiAt), nil
}

// rooted is the equation of a Discrete under any divergence.
type rooted struct {
	atoms          *mat.Dense
	weights, duals []float64 // of the atoms
	lambda, unit   float64
	root           func(cost []float64) float64
}

// each is Discrete.each.
func (p rooted) each(x *mat.Dense, g func(float64) float64, visit func(i int, value float64, mean, w []float64)) {
	n, d := x.Dims()
	_ = cpu.Chunks(context.Background(), n, dense.Chunk, func(_, lo, hi int) {
		costs, mean := mat.NewDense(hi-lo, len(p.weights), nil), make([]float64, d)
		dense.Squares(costs, x.Slice(lo, hi, 0, d).(*mat.Dense), p.atoms)
		for i := lo; i < hi; i++ {
			row := costs.RawRowView(i - lo)
			floats.Scale(p.unit, row)
			v := p.root(row)
			if g != nil {
				p.weigh(row, mean, v, g)
			}
			visit(i, v, mean, row)
		}
	})
}

// weigh turns costs into weights of sum one, a_j g(u_j), and writes the mean of the atoms under them.
func (p rooted) weigh(row, mean []float64, v float64, g func(float64) float64) {
	sum := 0.0
	for j, c := range row {
		row[j] = p.weights[j] * g((v+p.duals[j]-c)/p.lambda)
		sum += row[j]
	}
	floats.Scale(1/sum, row)
	clear(mean)
	for j, w := range row {
		if w != 0 {
			floats.AddScaled(mean, w, p.atoms.RawRowView(j))
		}
	}
}

// FitRegularised solves the discrete problem between the rows of x and y under the divergence of k
// and the cost |x−y|² or its mean, and returns both potentials off their points. It is the
// counterpart of Fit for divergences other than KL; the plan's Status reports whether the solve
// converged.
func FitRegularised(ctx context.Context, k Compatibility, x, y *mat.Dense,
	mean bool) (plan *freg.Plan, phi, psi *Discrete, err error) {
	if err := CheckClouds(x, y); err != nil {
		return nil, nil, nil, err
	}
	if err := k.Check(); err != nil {
		return nil, nil, nil, err
	}
	_, d := x.Dims()
	if plan, err = (freg.Solver{F: k.F, Lambda: k.Lambda}).Solve(ctx, squared(x, y, unit(d, mean))); err != nil {
		return nil, nil, nil, err
	}
	phi, psi, err = FromRegularised(plan, x, y, mean)
	return plan, phi, psi, err
}

// squared is the problem whose cost is unit·|x−y|².
func squared(x, y *mat.Dense, unit float64) ot.Problem {
	var sx, sy mat.Dense
	sx.Scale(math.Sqrt(unit), x)
	sy.Scale(math.Sqrt(unit), y)
	return ot.Problem{Geometry: ot.Points(&sx, &sy, ot.SqEuclidean)}
}
