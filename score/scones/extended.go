package scones

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/lab/device/cpu"
	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
	"coupling/score/internal/rows"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Extended is a potential of a plan regularised by any f-divergence off its points, as Discrete is under KL: ψ(y) is the root of
//
//	Σ_i a_i M((φ_i + ψ − c(x_i, y))/λ) = 1,     ∇ψ(y) = Σ_i w_i ∇_y c(x_i, y),     w_i ∝ a_i M′(u_i),
//
// atoms x_i of weight a_i on the other side with their potentials φ_i. Under ChiSquare the w are equal on the atoms that y is
// linked with, and 0 elsewhere. It is immutable and safe for concurrent use.
type Extended struct {
	atoms   *mat.Dense
	weights []float64
	duals   []float64 // of the atoms
	lambda  float64
	unit    float64
	f       fdiv.Divergence
	root    func(cost []float64) float64
}

// FromRegularised returns both potentials of a plan between the rows of x and of y, solved at the cost |x−y|² or its mean over
// coordinates, for Compatibility{F: plan.F, Lambda: plan.Lambda}. On the points they are those of the plan up to its marginal
// error. phi's atoms are the targets, psi's the sources.
func FromRegularised(plan *freg.Plan, x, y *mat.Dense, mean bool) (phi, psi *Extended, err error) {
	n, m := plan.Dims()
	a, d := x.Dims()
	b, e := y.Dims()
	if a != n || b != m || d != e {
		return nil, nil, fmt.Errorf("scones: a plan of %d×%d between %d×%d and %d×%d points: %w", n, m, a, d, b, e, ErrShape)
	}
	one := func(atoms *mat.Dense, weights, duals []float64, root func([]float64) float64) *Extended {
		return &Extended{atoms: mat.DenseCopyOf(atoms), weights: weights, duals: duals, lambda: plan.Lambda, unit: unit(d, mean), f: plan.F, root: root}
	}
	return one(y, plan.B, plan.Psi, plan.PhiAt), one(x, plan.A, plan.Phi, plan.PsiAt), nil
}

// Dim returns d.
func (p *Extended) Dim() int { _, d := p.atoms.Dims(); return d }

// each calls visit, from many goroutines, with the potential at each row of x and u of each atom there. u is valid during the
// call only.
func (p *Extended) each(x *mat.Dense, visit func(i int, value float64, u []float64)) {
	n, d := x.Dims()
	m := len(p.weights)
	_ = cpu.Chunks(context.Background(), n, rows.Chunk, func(_, lo, hi int) {
		costs := mat.NewDense(hi-lo, m, nil)
		rows.Squares(costs, x.Slice(lo, hi, 0, d).(*mat.Dense), p.atoms)
		for i := lo; i < hi; i++ {
			row := costs.RawRowView(i - lo)
			floats.Scale(p.unit, row)
			v := p.root(row)
			for j, c := range row {
				row[j] = (v + p.duals[j] - c) / p.lambda
			}
			visit(i, v, row)
		}
	})
}

// average turns u into weights of sum one, a_j g(u_j), and returns the mean of the atoms under them.
func (p *Extended) average(u []float64, g func(float64) float64) []float64 {
	sum := 0.0
	for j, v := range u {
		u[j] = p.weights[j] * g(v)
		sum += u[j]
	}
	floats.Scale(1/sum, u)
	mean := make([]float64, p.Dim())
	for j, w := range u {
		if w != 0 {
			floats.AddScaled(mean, w, p.atoms.RawRowView(j))
		}
	}
	return mean
}

// Eval implements Potential. Cost N·m·d and a root for each point. Values are NaN where y is too far away for its costs.
func (p *Extended) Eval(value []float64, grad, y *mat.Dense) error {
	if err := checkEval(p.Dim(), value, grad, y); err != nil {
		return err
	}
	p.each(y, func(i int, v float64, u []float64) {
		if value != nil {
			value[i] = v
		}
		if grad == nil {
			return
		}
		mean, g := p.average(u, p.f.Curvature), grad.RawRowView(i)
		for k, at := range y.RawRowView(i) {
			g[k] = 2 * p.unit * (at - mean[k])
		}
	})
	return nil
}

// Barycentric returns where each row of x goes on average, Σ_j b_j M(u_j) y_j over the atoms.
func (p *Extended) Barycentric(x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n, d, nil)
	p.each(x, func(i int, _ float64, u []float64) { out.SetRow(i, p.average(u, p.f.Compatibility)) })
	return out
}

// DrawPoints returns an atom for each row of x, drawn from the conditional law of the discrete plan.
func (p *Extended) DrawPoints(x *mat.Dense, rng *rand.Rand) *mat.Dense {
	n, d := x.Dims()
	out, coins := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range coins {
		coins[i] = rng.Float64()
	}
	p.each(x, func(i int, _ float64, u []float64) {
		p.average(u, p.f.Compatibility)
		sum, drawn := 0.0, 0
		for j, w := range u {
			if w > 0 {
				drawn = j // where rounding leaves coins above the sum
			}
			if sum += w; sum > coins[i] {
				break
			}
		}
		out.SetRow(i, p.atoms.RawRowView(drawn))
	})
	return out
}

// Conditional returns for each row of x the weights of the atoms in the conditional law of the discrete plan, N×m.
func (p *Extended) Conditional(x *mat.Dense) *mat.Dense {
	n, _ := x.Dims()
	out := mat.NewDense(n, len(p.weights), nil)
	p.each(x, func(i int, _ float64, u []float64) {
		p.average(u, p.f.Compatibility)
		out.SetRow(i, u)
	})
	return out
}

// FitRegularised solves the discrete problem between the rows of x and y under the divergence of k and the cost |x−y|² or its mean,
// and returns both potentials off their points. It is Fit's plan for other divergences than KL; its Status says whether to believe
// the rest.
func FitRegularised(ctx context.Context, k Compatibility, x, y *mat.Dense, mean bool) (plan *freg.Plan, phi, psi *Extended, err error) {
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
