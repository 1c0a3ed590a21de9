package barycentre

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/internal/fault"
)

// Free finds the points x_i of given weights b_i that minimise Σ_k w_k OT(a_k, b) for the
// cost |x−y|², with OT the value min <T,c> + ε KL(T|abᵀ) of the Solver, by the fixed point x_i =
// Σ_k w_k Σ_j T_k,ji y_j/b_i (Cuturi and Doucet 2014). A step solves one problem for each measure,
// warm-started if the Solver is a WarmStarter. No step raises the objective, but the objective has
// local minima.
type Free struct {
	// Solver solves each transport problem.
	Solver ot.Solver
	// Tol stops when no coordinate of a point moves by more than Tol times the largest distance of
	// a coordinate of a measure's points from its mean; 0 is 1e-6.
	Tol float64
	// MaxIter is the largest number of steps; 0 is 100.
	MaxIter int
}

// Solve returns the barycentre of several measures. As for a Fixed, the sources of
// problems[k], with weights A, are the k-th measure and the targets, the same in every problem, are
// the support: the points to start from, with weights B, which stay. Geometries are those of Points
// with SqEuclidean. w holds the weights of the measures; nil is equal weights. Plans go from the
// barycentre to each measure.
func (o Free) Solve(ctx context.Context, problems []ot.Problem, w []float64) (*Result, error) {
	w, err := weights(w, len(problems))
	if err != nil {
		return nil, err
	}
	clouds, err := squaredClouds(problems)
	if err != nil {
		return nil, err
	}
	if o.Solver == nil || math.IsNaN(o.Tol) || o.Tol < 0 || o.MaxIter < 0 {
		return nil, fault.OT(fault.ErrParameter, "Free: Solver = %v, Tol = %g, MaxIter = %d: must be set, and ≥ 0",
			o.Solver, o.Tol, o.MaxIter)
	}
	o.Tol = cmp.Or(o.Tol, 1e-6)
	o.MaxIter = cmp.Or(o.MaxIter, 100)
	x, far := clouds[0].Y(), 0.0
	for _, c := range clouds {
		far = max(far, spread(c.X()))
	}
	out := &Result{Plans: make([]*ot.Plan, len(problems)), Status: ot.Converged}
	for {
		next, solved := &mat.Dense{}, ot.Converged
		for k, p := range problems {
			s := o.Solver
			if warm, ok := s.(ot.WarmStarter); ok && out.Plans[k] != nil {
				s = warm.From(out.Plans[k].G)
			}
			from := ot.Problem{Geometry: ot.Points(x, clouds[k].X(), ot.SqEuclidean), A: p.B, B: p.A}
			plan, err := s.Solve(ctx, from)
			if err != nil {
				return nil, fmt.Errorf("%w (measure %d)", err, k)
			}
			out.Plans[k], out.B = plan, plan.A
			if solved == ot.Converged {
				solved = plan.Status
			}
			means := plan.Barycentric(clouds[k].X())
			means.Scale(w[k], means)
			if k == 0 {
				next = means
				continue
			}
			next.Add(next, means)
		}
		out.X, out.Status, out.Error = x, solved, moved(x, next)/far
		switch {
		case out.Error <= o.Tol:
			return out, nil
		case out.Iterations == o.MaxIter:
			out.Status = ot.IterationLimit
			return out, nil
		}
		x = next
		out.Iterations++
	}
}

// squaredClouds returns the geometries, which must be those of points and of SqEuclidean, with the same targets.
func squaredClouds(problems []ot.Problem) ([]*cost.Cloud, error) {
	clouds := make([]*cost.Cloud, len(problems))
	for k, p := range problems {
		if err := cost.Check(p.Geometry); err != nil {
			return nil, fmt.Errorf("%w (measure %d)", err, k)
		}
		c, ok := p.Geometry.(*cost.Cloud)
		if !ok || c.Kind != cost.PointCost(ot.SqEuclidean) {
			return nil, fault.OT(fault.ErrUnsupported, "measure %d has a %T: must be Points with SqEuclidean", k,
				p.Geometry)
		}
		if clouds[k] = c; c.Y() != clouds[0].Y() {
			return nil, fault.OT(fault.ErrParameter, "measure %d has targets of its own: must be those of measure 0", k)
		}
	}
	return clouds, nil
}

// moved is the largest difference between entries of x and y.
func moved(x, y *mat.Dense) float64 {
	var d mat.Dense
	d.Sub(x, y)
	return max(mat.Max(&d), -mat.Min(&d))
}

// spread is the largest distance of an entry from the mean of its column, and at least what rounding makes of entries.
func spread(x *mat.Dense) float64 {
	_, d := x.Dims()
	far := math.SmallestNonzeroFloat64
	for k := range d {
		col := mat.Col(nil, k, x)
		mean := stat.Mean(col, nil)
		for _, v := range col {
			far = max(far, math.Abs(v-mean), 0x1p-40*math.Abs(v))
		}
	}
	return far
}
