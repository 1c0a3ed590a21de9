package ot

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
)

// Derivative is a set of arguments by which a loss is differentiated. Values may be added.
type Derivative uint

const (
	// ByX asks for the gradient with respect to the sources.
	ByX Derivative = 1 << iota
	// ByY asks for the gradient with respect to the targets.
	ByY
	// ByWeights asks for the gradients with respect to both weights.
	ByWeights
)

// Objective is a transport loss between two clouds of points with its gradients, for training
// loops: the first Eval allocates memory as large as the costs, and later ones of the same sizes
// reuse it for everything that grows with n, m or d, the results included. It is for one goroutine
// at a time.
type Objective struct {
	// Solver solves each transport problem.
	Solver Solver
	// Loss is the loss; the zero value is the sharp one.
	Loss Loss
	// Backward differentiates.
	Backward Backward
	// Warm starts each solve from the potentials of the last one, where sizes agree and the Solver
	// is a WarmStarter: this helps where points move a little from step to step. A value then
	// depends on the previous Eval, by the order of the solver's Tol.
	Warm bool

	start  []float64
	cloud  *geometry.Cloud
	memory semidual.Memory
}

// Term is the value of an Objective. Its vectors, matrices and Plan are memory of the Objective: the
// next Eval overwrites them, so copy what is to last longer.
type Term struct {
	// Value is the loss.
	Value float64
	// X and Y are the gradients with respect to the sources (n×d) and the targets (m×d); nil where not asked for.
	X, Y *mat.Dense
	// A and B are the gradients with respect to the weights, each up to a constant, since masses
	// stay equal; nil where not asked for.
	A, B []float64
	// Status is the worse of the solve's and the gradient's, Undetermined where A and B are
	// arbitrary between the sides of Plan.Coupling; MarginalL1 says how well the transport problem
	// was solved.
	Status     Status
	MarginalL1 float64
	// Plan is the plan.
	Plan *Plan
}

// Eval returns the loss between the clouds x (n×d) and y (m×d) with weights a and b (nil: uniform),
// and its derivatives by what is asked for. Where y is x itself and b is a itself, the solver uses
// the symmetry of the problem.
func (o *Objective) Eval(ctx context.Context, x, y *mat.Dense, a, b []float64, c cost.PointCost,
	by Derivative) (*Term, error) {
	if o.cloud == nil {
		o.cloud = new(geometry.Cloud)
	}
	return o.On(ctx, o.cloud.Reset(x, y, c), a, b, by)
}

// On is Eval for any geometry, a grid of pixels for instance; only those of points have gradients ByX and ByY. Where
// the geometry is symmetric and b is a itself, the solver uses the symmetry.
func (o *Objective) On(ctx context.Context, on cost.Geometry, a, b []float64, by Derivative) (*Term, error) {
	if o.Solver == nil {
		return nil, bad(ErrParameter, "Objective.Solver is nil")
	}
	if o.Loss < Sharp || o.Loss > RegEntropy {
		return nil, bad(ErrParameter, "Objective.Loss = Loss(%d): unknown", int(o.Loss))
	}
	if err := cost.Check(on); err != nil {
		return nil, err
	}
	n, m := on.Dims()
	o.memory.Reset(n, m)
	plan, err := o.solver(m).Solve(ctx, Problem{Geometry: on, A: a, B: b, memory: &o.memory})
	if err != nil {
		return nil, err
	}
	o.start = append(o.start[:0], plan.G...)
	defer func() { plan.t.Memory = nil }() // later calls of its methods may be concurrent
	t := &Term{Value: o.Loss.Of(plan), Status: plan.Status, MarginalL1: plan.MarginalL1, Plan: plan}
	if by == 0 {
		return t, nil
	}
	g, err := o.Backward.Gradient(ctx, plan, o.Loss)
	if err != nil {
		return nil, err
	}
	t.Status = worse(t.Status, g.Status)
	if by&(ByX|ByY) != 0 {
		if t.X, t.Y, err = g.points(by&ByX != 0, by&ByY != 0); err != nil {
			return nil, err
		}
	}
	if by&ByWeights != 0 {
		if t.A, t.B, err = g.Weights(); err != nil {
			t.Status = worse(t.Status, Undetermined)
		}
	}
	return t, nil
}

// solver is the solver for m targets.
func (o *Objective) solver(m int) Solver {
	if s, ok := o.Solver.(WarmStarter); ok && o.Warm && len(o.start) == m {
		return s.From(o.start)
	}
	return o.Solver
}

// Divergence is the Sinkhorn divergence OT(X,Y) − ½ OT(X,X) − ½ OT(Y,Y) (Genevay et al. 2018; Feydy
// et al. 2019), which is 0 between equal measures. With the loss RegKL it is GeomLoss's, converged;
// with the sharp loss it is the divergence of sharp losses. With the Solver Unbalanced, whose loss is RegKL, it is the
// divergence of unbalanced transport (Séjourné et al. 2019), which adds ε/2·(Σa − Σb)², and takes measures of any mass.
// Like an Objective it is for one goroutine at a time and reuses its memory.
type Divergence struct {
	// Of is the transport loss OT.
	Of Objective

	self [2]Objective
}

// Divergences is the value of a Divergence, in memory that the next Eval overwrites, as that of a Term.
type Divergences struct {
	// Value is OT(X,Y) − ½ OT(X,X) − ½ OT(Y,Y).
	Value float64
	// X and Y are its gradients, n×d and m×d; nil where not asked for.
	X, Y *mat.Dense
	// A and B are its gradients with respect to the weights, each up to a constant, since masses stay 1; nil where not
	// asked for.
	A, B []float64
	// Status is the worst of the three problems'.
	Status Status
	// AB, AA and BB are the three terms.
	AB, AA, BB *Term
}

// Eval returns the divergence between the clouds x (n×d) and y (m×d) with weights a and b (nil:
// uniform), and its derivatives by what is asked for. The terms of a cloud with itself are
// symmetric problems, which take a dozen passes and one gradient for both sides.
func (d *Divergence) Eval(ctx context.Context, x, y *mat.Dense, a, b []float64, c cost.PointCost,
	by Derivative) (*Divergences, error) {
	return d.eval(by, func(o *Objective, source, target side, by Derivative) (*Term, error) {
		return o.Eval(ctx, source.x, target.x, source.w, target.w, c, by)
	}, side{x, a}, side{y, b})
}

// On returns the divergence between the measures with weights a and b on the atoms of a symmetric geometry, a grid of
// pixels for instance, and its derivatives by weights if asked for.
func (d *Divergence) On(ctx context.Context, g cost.Geometry, a, b []float64, by Derivative) (*Divergences, error) {
	if s, ok := g.(cost.Symmetric); !ok || !s.Symmetric() || by&^ByWeights != 0 {
		return nil, bad(ErrUnsupported, "Divergence.On: by = %d, a %T: must be ByWeights or 0, and "+
			"symmetric: one cloud twice, or cost.Grid of a symmetric matrix", by, g)
	}
	return d.eval(by, func(o *Objective, source, target side, by Derivative) (*Term, error) {
		return o.On(ctx, g, source.w, target.w, by)
	}, side{w: a}, side{w: b})
}

// A side is one of the measures of a divergence.
type side struct {
	x *mat.Dense
	w []float64
}

// eval makes the divergence of its three terms.
func (d *Divergence) eval(by Derivative, eval func(o *Objective, source, target side, by Derivative) (*Term, error),
	a, b side) (*Divergences, error) {
	for k := range d.self {
		s := &d.self[k]
		s.Solver, s.Loss, s.Backward, s.Warm = d.Of.Solver, d.Of.Loss, d.Of.Backward, d.Of.Warm
	}
	byY := by & ByWeights
	if by&ByY != 0 {
		byY |= ByX
	}
	out := &Divergences{Status: Converged}
	for _, t := range []struct {
		name           string
		term           **Term
		of             *Objective
		source, target side
		by             Derivative
	}{
		{"OT(X,Y)", &out.AB, &d.Of, a, b, by},
		{"OT(X,X)", &out.AA, &d.self[0], a, a, by &^ ByY},
		{"OT(Y,Y)", &out.BB, &d.self[1], b, b, byY},
	} {
		term, err := eval(t.of, t.source, t.target, t.by)
		if err != nil {
			return nil, fmt.Errorf("ot: Divergence: %s: %w", t.name, err)
		}
		*t.term = term
		out.Status = worse(out.Status, term.Status)
	}
	out.Value = out.AB.Value - out.AA.Value/2 - out.BB.Value/2
	// The gradient of OT(X,X) by the points is twice the gradient by one side's points.
	if out.X = out.AB.X; out.X != nil {
		out.X.Sub(out.X, out.AA.X)
	}
	if out.Y = out.AB.Y; out.Y != nil {
		out.Y.Sub(out.Y, out.BB.X)
	}
	if by&ByWeights != 0 {
		a, b := d.weights(out.AB)
		out.A, out.B = d.debiased(d.Of.memory.Clone(a), out.AA), d.debiased(d.Of.memory.Clone(b), out.BB)
	}
	if p := out.AB.Plan; p.penalties != nil {
		more := kern.Sum(p.A) - kern.Sum(p.B)
		out.Value += p.Eps / 2 * more * more
		rows.Shift(out.A, p.Eps*more)
		rows.Shift(out.B, -p.Eps*more)
	}
	return out, nil
}

// weights are a term's gradients by weights, without the part of entropies, which cancels between the terms but is −∞
// where a weight is 0.
func (d *Divergence) weights(t *Term) (a, b []float64) {
	if d.Of.Loss == RegEntropy {
		return t.Plan.F, t.Plan.G
	}
	return t.A, t.B
}

// debiased subtracts half the sum of self's two gradients by weights from w and returns it; self is
// the transport of a measure to itself.
func (d *Divergence) debiased(w []float64, self *Term) []float64 {
	a, b := d.weights(self)
	kern.Axpy(w, -0.5, a)
	kern.Axpy(w, -0.5, b)
	return w
}
