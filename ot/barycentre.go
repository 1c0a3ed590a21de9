package ot

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/logspace"
	"coupling/ot/cost"
	"coupling/ot/internal/rows"
)

// Barycentre finds the weights b on a fixed support that minimise
//
//	Σ_k w_k min <T_k,c_k> + ε Σ T_k log T_k   over T_k ≥ 0 with T_k 1 = a_k and T_kᵀ1 = b,
//
// the entropic barycentre of the measures a_k, by iterative Bregman projections (Benamou, Carlier,
// Cuturi, Nenna and Peyré 2015) with ε-annealing. An iteration is one pass over the costs of each
// measure. The zero value with Eps set works.
//
// Debiased minimises the sum of Sinkhorn divergences instead (Janati, Cuturi and Gramfort 2020), which does not
// blur: the barycentre of copies of a measure is that measure. One more pass an iteration.
type Barycentre struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Tol stops when Σ_k w_k Σ|T_kᵀ1−b| is at most Tol; 0 is 1e-9.
	Tol float64
	// MaxIter is the largest number of iterations; 0 is 100,000.
	MaxIter int
	// Workers is the number of goroutines; 0 is GOMAXPROCS. The result does not depend on it.
	Workers int
	// Debiased removes the blur. The first geometry must be symmetric: every measure on the support itself.
	Debiased bool
}

// Barycentres is the result of a Barycentre or a FreeBarycentre.
type Barycentres struct {
	// X is the support that a FreeBarycentre found, n×d. B holds the weights: those that a
	// Barycentre found, or those given to a FreeBarycentre.
	X *mat.Dense
	B []float64
	// Plans are the plans from each measure to the barycentre. They are optimal where Status is Converged.
	Plans []*Plan
	// Status says whether the solve converged, Iterations counts steps, and Error is the number
	// that Tol bounds.
	Status     Status
	Iterations int
	Error      float64
}

// Solve returns the barycentre of several measures. The sources of problems[k], with weights A, are
// the k-th measure; the targets, the same in every problem, are the support; B is not read. w holds
// the weights of the measures, which are divided by their sum; nil is equal weights. Errors are for
// bad input and for a context that ended.
func (o Barycentre) Solve(ctx context.Context, problems []Problem, w []float64) (*Barycentres, error) {
	w, err := barycentreWeights(w, len(problems))
	if err != nil {
		return nil, err
	}
	c := Control{MaxIter: o.MaxIter, Workers: o.Workers}
	bregman := &projections{w: w, runs: make([]*run, len(problems))}
	stages := []float64{o.Eps}
	for k, p := range problems {
		r, err := c.beginAsIs(ctx, Problem{Geometry: p.Geometry, A: p.A}, o.Eps, o.Tol)
		if err != nil {
			return nil, fmt.Errorf("%w (measure %d)", err, k)
		}
		r.s.CentreCosts()
		if bregman.runs[k] = r; r.s.M != bregman.runs[0].s.M {
			return nil, bad(ErrShape, "measure %d has a support of %d points, the first one of %d: must be the same", k,
				r.s.M, bregman.runs[0].s.M)
		}
		if len(r.stages) > len(stages) {
			stages = r.stages
		}
	}
	bregman.share()
	if o.Debiased {
		if err := bregman.debias(ctx, problems[0].Geometry, c, o.Eps); err != nil {
			return nil, err
		}
	}
	first := bregman.runs[0]
	for _, eps := range stages {
		tol := max(stageTol, first.tol)
		if eps == o.Eps {
			tol = first.tol
		}
		if err := bregman.stage(eps, tol); err != nil {
			return nil, err
		}
	}
	return bregman.finish()
}

// barycentreWeights returns w divided by its sum, equal ones for nil.
func barycentreWeights(w []float64, n int) ([]float64, error) {
	if n == 0 {
		return nil, bad(ErrShape, "there must be a measure")
	}
	w, _, err := rows.Weights(make([]float64, n), "w", w, "measures", bad)
	return w, err
}

// projections is the state of a Barycentre.
type projections struct {
	w      []float64
	runs   []*run
	b      []float64 // of all runs
	logQ   [][]float64
	self   *run // the transport of the support to itself where debiased, else nil
	iter   int
	status Status
	err    float64
}

// share makes the weights of the targets those of all problems.
func (p *projections) share() {
	p.b = slices.Clone(p.runs[0].s.B)
	p.logQ = make([][]float64, len(p.runs))
	for k, r := range p.runs {
		r.s.B, p.logQ[k] = p.b, make([]float64, len(p.b))
	}
}

// stage iterates at ε until the error is at most tol.
func (p *projections) stage(eps, tol float64) error {
	for _, r := range p.runs {
		r.s.Eps = eps // and keeps the potentials, whose weighted sum must stay 0
		r.s.StartStage(tol)
	}
	if p.self != nil {
		p.self.s.Eps = eps
		p.self.s.StartStage(tol)
	}
	best := stagnation{monotone: true}
	for {
		if err := p.project(); err != nil {
			return err
		}
		switch {
		case p.err <= tol:
			p.status = Converged
			return nil
		case p.iter >= p.runs[0].MaxIter:
			p.status = IterationLimit
			return nil
		case best.stalled(p.err, p.runs[0].s.Noise()):
			p.status = Stagnated
			return nil
		}
		p.iter++
		for k, r := range p.runs {
			for j, q := range p.logQ[k] {
				r.beta[j] += r.s.Eps * (r.s.LogB[j] - q)
			}
		}
	}
}

// project scales the rows of every plan to their weights and sets b to the geometric mean of the
// columns.
func (p *projections) project() error {
	logB := make([]float64, len(p.b))
	for k, r := range p.runs {
		if err := r.eval(r.beta, 1); err != nil {
			return err
		}
		r.s.LogColumns(p.logQ[k], r.beta)
		kern.Axpy(logB, p.w[k], p.logQ[k])
	}
	if p.self != nil {
		if err := p.unblur(logB); err != nil {
			return err
		}
	}
	for j, v := range logB {
		p.b[j] = math.Exp(v)
	}
	p.err = 0
	for k, r := range p.runs {
		copy(r.s.LogB, logB)
		p.err += p.w[k] * kern.L1Diff(r.s.Col, p.b)
	}
	return nil
}

// debias sets up the transport of the support to itself.
func (p *projections) debias(ctx context.Context, g cost.Geometry, c Control, eps float64) (err error) {
	if s, ok := g.(cost.Symmetric); !ok || !s.Symmetric() {
		return bad(ErrUnsupported, "Debiased: geometry 0, a %T, is not symmetric: its sources must be the support", g)
	}
	p.self, err = c.beginAsIs(ctx, Problem{Geometry: g}, eps, 0)
	return err
}

// unblur moves D to √(D B/(K D)), K = exp(−c/ε), and B with it. D is the weighted product of the targets' e^(β/ε).
func (p *projections) unblur(logB []float64) error {
	s, beta := p.self.s, p.self.beta
	clear(beta)
	for k, r := range p.runs {
		kern.Axpy(beta, p.w[k], r.beta)
	}
	if err := p.self.eval(beta, 1); err != nil {
		return err
	}
	for j, b := range beta {
		logKD := logspace.Log(s.A[j]) - s.Alpha[j]/s.Eps
		logB[j] += (logB[j] - logKD - b/s.Eps) / 2
	}
	return nil
}

// finish returns the barycentre and its plans, whose marginal errors are relative to it.
func (p *projections) finish() (*Barycentres, error) {
	out := &Barycentres{B: p.b, Status: p.status, Iterations: p.iter, Error: p.err}
	kern.Scale(p.b, 1/kern.Sum(p.b), p.b)
	for _, r := range p.runs {
		if r.evalOnce(); r.s.DeviceFailure() != nil {
			return nil, r.s.DeviceFailure()
		}
		for j, b := range p.b {
			r.s.LogB[j] = logspace.Log(b)
		}
		r.status, r.iter = p.status, p.iter
		plan, err := r.finish("barycentre", nil)
		if err != nil {
			return nil, err
		}
		out.Plans = append(out.Plans, plan)
	}
	return out, nil
}

// FreeBarycentre finds the points x_i of given weights b_i that minimise Σ_k w_k OT(a_k, b) for the
// cost |x−y|², with OT the value min <T,c> + ε KL(T|abᵀ) of the Solver, by the fixed point x_i =
// Σ_k w_k Σ_j T_k,ji y_j/b_i (Cuturi and Doucet 2014). A step solves one problem for each measure,
// warm-started if the Solver is a WarmStarter. No step raises the objective, but the objective has
// local minima.
type FreeBarycentre struct {
	// Solver solves each transport problem.
	Solver Solver
	// Tol stops when no coordinate of a point moves by more than Tol times the largest distance of
	// a coordinate from its mean; 0 is 1e-6.
	Tol float64
	// MaxIter is the largest number of steps; 0 is 100.
	MaxIter int
}

// Solve returns the barycentre of several measures. As for a Barycentre, the sources of
// problems[k], with weights A, are the k-th measure and the targets, the same in every problem, are
// the support: the points to start from, with weights B, which stay. Geometries are those of Points
// with SqEuclidean. w holds the weights of the measures; nil is equal weights. Plans go from the
// barycentre to each measure.
func (o FreeBarycentre) Solve(ctx context.Context, problems []Problem, w []float64) (*Barycentres, error) {
	w, err := barycentreWeights(w, len(problems))
	if err != nil {
		return nil, err
	}
	clouds, err := squaredClouds(problems)
	if err != nil {
		return nil, err
	}
	if o.Solver == nil || math.IsNaN(o.Tol) || o.Tol < 0 || o.MaxIter < 0 {
		return nil, bad(ErrParameter, "FreeBarycentre: Solver = %v, Tol = %g, MaxIter = %d: must be set, and ≥ 0",
			o.Solver, o.Tol, o.MaxIter)
	}
	o.Tol = cmp.Or(o.Tol, 1e-6)
	o.MaxIter = cmp.Or(o.MaxIter, 100)
	x := clouds[0].Y()
	out := &Barycentres{Plans: make([]*Plan, len(problems)), Status: Converged}
	for {
		next, solved := &mat.Dense{}, Converged
		for k, p := range problems {
			s := o.Solver
			if warm, ok := s.(WarmStarter); ok && out.Plans[k] != nil {
				s = warm.From(out.Plans[k].G)
			}
			plan, err := s.Solve(ctx, Problem{Geometry: Points(x, clouds[k].X(), SqEuclidean), A: p.B, B: p.A})
			if err != nil {
				return nil, fmt.Errorf("%w (measure %d)", err, k)
			}
			out.Plans[k], out.B, solved = plan, plan.A, worse(solved, plan.Status)
			means := plan.Barycentric(clouds[k].X())
			means.Scale(w[k], means)
			if k == 0 {
				next = means
				continue
			}
			next.Add(next, means)
		}
		out.X, out.Status, out.Error = x, solved, moved(x, next)
		switch {
		case out.Error <= o.Tol:
			return out, nil
		case out.Iterations == o.MaxIter:
			out.Status = IterationLimit
			return out, nil
		}
		x = next
		out.Iterations++
	}
}

// squaredClouds returns the geometries, which must be those of points and of SqEuclidean, with the same targets.
func squaredClouds(problems []Problem) ([]*cost.Cloud, error) {
	clouds := make([]*cost.Cloud, len(problems))
	for k, p := range problems {
		if err := cost.Check(p.Geometry); err != nil {
			return nil, fmt.Errorf("%w (measure %d)", err, k)
		}
		c, ok := p.Geometry.(*cost.Cloud)
		if !ok || c.Kind != cost.PointCost(SqEuclidean) {
			return nil, bad(ErrUnsupported, "measure %d has a %T: must be Points with SqEuclidean", k, p.Geometry)
		}
		if clouds[k] = c; c.Y() != clouds[0].Y() {
			return nil, bad(ErrParameter, "measure %d has targets of its own: must be those of measure 0", k)
		}
	}
	return clouds, nil
}

// moved is the largest difference between entries of x and y, divided by the largest distance of an
// entry from the mean of its column.
func moved(x, y *mat.Dense) float64 {
	n, d := x.Dims()
	var far, most float64
	for k := range d {
		col := mat.Col(nil, k, y)
		mean := kern.Sum(col) / float64(n)
		for i, v := range col {
			far, most = max(far, math.Abs(v-mean), 0x1p-40*math.Abs(v)), max(most, math.Abs(v-x.At(i, k)))
		}
	}
	if most == 0 {
		return 0
	}
	return most / far
}
