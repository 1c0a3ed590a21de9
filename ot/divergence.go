package ot

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Functional is a transport loss between two clouds of points, with gradients: Solved, of a plan that has converged,
// or Annealed, of GeomLoss's fixed number of updates.
type Functional interface {
	// Eval returns the loss of p, whose geometry is one of Points, with its gradients where grad is true.
	Eval(ctx context.Context, p Problem, grad bool) (*Term, error)
}

// Term is the value of a Functional.
type Term struct {
	Value float64
	// X and Y are the gradients with respect to the sources (n×d) and the targets (m×d); nil where not asked for.
	X, Y *mat.Dense
	// A and B are the gradients with respect to the weights, each up to a constant, since masses stay equal; nil where not
	// asked for.
	A, B []float64
	// Status and MarginalL1 say how well the transport problem was solved.
	Status     Status
	MarginalL1 float64
	// Plan is the plan, nil for Annealed.
	Plan *Plan
}

// Solved is the loss of a converged plan.
type Solved struct {
	// Solver solves each transport problem.
	Solver Solver
	// Loss is the loss; the zero value is the sharp one. The Sinkhorn divergence of the literature takes RegKL.
	Loss Loss
	// Backward differentiates.
	Backward Backward
}

// Eval solves p and returns its loss.
func (s Solved) Eval(ctx context.Context, p Problem, grad bool) (*Term, error) {
	if s.Solver == nil {
		return nil, bad(ErrParameter, "Solved.Solver is nil")
	}
	if s.Loss < Sharp || s.Loss > RegEntropy {
		return nil, bad(ErrParameter, "Solved.Loss = Loss(%d): unknown", int(s.Loss))
	}
	plan, err := s.Solver.Solve(ctx, p)
	if err != nil {
		return nil, err
	}
	t := &Term{Value: s.Loss.Of(plan), Status: plan.Status, MarginalL1: plan.MarginalL1, Plan: plan}
	if !grad {
		return t, nil
	}
	g, err := s.Backward.Gradient(ctx, plan, s.Loss)
	if err != nil {
		return nil, err
	}
	t.Status = worse(t.Status, g.Status)
	if t.X, err = g.X(); err != nil {
		return nil, err
	}
	t.A, t.B = g.Weights()
	t.Y, err = g.Y()
	return t, err
}

// worse returns the status that deserves the second look.
func worse(a, b Status) Status {
	if a == Converged {
		return b
	}
	return a
}

// Divergence is the Sinkhorn divergence OT(X,Y) − ½ OT(X,X) − ½ OT(Y,Y) (Genevay et al. 2018; Feydy et al. 2019),
// which is 0 between equal measures. With Of = Solved{…, Loss: RegKL} it is GeomLoss's, converged; with the sharp loss
// it is the divergence of sharp losses.
type Divergence struct {
	// Of is the transport loss OT.
	Of Functional
}

// Divergences is the value of a Divergence.
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

// Eval returns the divergence between the clouds x (n×d) and y (m×d) with weights a and b (nil: uniform).
func (d Divergence) Eval(ctx context.Context, x, y *mat.Dense, a, b []float64, c PointCost, grad bool) (*Divergences, error) {
	if d.Of == nil {
		return nil, bad(ErrParameter, "Divergence.Of is nil")
	}
	out := &Divergences{Status: Converged}
	for _, t := range []struct {
		name string
		term **Term
		p    Problem
	}{
		{"OT(X,Y)", &out.AB, Problem{Geometry: Points(x, y, c), A: a, B: b}},
		{"OT(X,X)", &out.AA, Problem{Geometry: Points(x, x, c), A: a, B: a}},
		{"OT(Y,Y)", &out.BB, Problem{Geometry: Points(y, y, c), A: b, B: b}},
	} {
		term, err := d.Of.Eval(ctx, t.p, grad)
		if err != nil {
			return nil, fmt.Errorf("ot: Divergence: %s: %w", t.name, err)
		}
		*t.term = term
		out.Status = worse(out.Status, term.Status)
	}
	out.Value = out.AB.Value - out.AA.Value/2 - out.BB.Value/2
	if grad {
		out.X, out.Y = out.AB.X, out.AB.Y
		addScaled(out.X, -0.5, out.AA.X)
		addScaled(out.X, -0.5, out.AA.Y)
		addScaled(out.Y, -0.5, out.BB.X)
		addScaled(out.Y, -0.5, out.BB.Y)
		out.A, out.B = debiased(out.AB.A, out.AA), debiased(out.AB.B, out.BB)
	}
	return out, nil
}

// debiased returns w less half of both gradients by weights of the transport of a measure to itself.
func debiased(w []float64, self *Term) []float64 {
	out := append([]float64(nil), w...)
	axpy(out, self.A, -0.5)
	axpy(out, self.B, -0.5)
	return out
}

// addScaled adds w·src to dst.
func addScaled(dst *mat.Dense, w float64, src *mat.Dense) {
	n, _ := dst.Dims()
	for i := range n {
		axpy(dst.RawRowView(i), src.RawRowView(i), w)
	}
}

// SemiDebiased is DP-Sinkhorn's loss 2 OT(X,Y) − OT(X,Z), where Z is X without its first k points followed by k fresh
// ones: k = 0 debiases fully by X itself, k = n by an independent sample. The paper's fraction p is k/n. All weights
// are uniform.
type SemiDebiased struct {
	// Of is the transport loss OT.
	Of Functional
}

// SemiDebiasedLoss is the value of a SemiDebiased.
type SemiDebiasedLoss struct {
	// Value is 2 OT(X,Y) − OT(X,Z).
	Value float64
	// X and Fresh are its gradients, n×d and k×d; nil where not asked for.
	X, Fresh *mat.Dense
	// Status is the worst of the two problems'.
	Status Status
	// XY and XZ are the two terms.
	XY, XZ *Term
}

// Eval returns the loss of the generated points x (n×d) and fresh (k×d, nil for k = 0), k ≤ n, against the data y (m×d).
func (s SemiDebiased) Eval(ctx context.Context, x, fresh, y *mat.Dense, c PointCost, grad bool) (*SemiDebiasedLoss, error) {
	if s.Of == nil {
		return nil, bad(ErrParameter, "SemiDebiased.Of is nil")
	}
	z, k, err := withFresh(x, fresh)
	if err != nil {
		return nil, err
	}
	out := &SemiDebiasedLoss{}
	if out.XY, err = s.Of.Eval(ctx, Problem{Geometry: Points(x, y, c)}, grad); err != nil {
		return nil, fmt.Errorf("ot: SemiDebiased: OT(X,Y): %w", err)
	}
	if out.XZ, err = s.Of.Eval(ctx, Problem{Geometry: Points(x, z, c)}, grad); err != nil {
		return nil, fmt.Errorf("ot: SemiDebiased: OT(X,Z): %w", err)
	}
	out.Value = 2*out.XY.Value - out.XZ.Value
	out.Status = worse(out.XY.Status, out.XZ.Status)
	if !grad {
		return out, nil
	}
	n, d := x.Dims()
	out.X = mat.NewDense(n, d, nil)
	addScaled(out.X, 2, out.XY.X)
	addScaled(out.X, -1, out.XZ.X)
	for i := k; i < n; i++ {
		axpy(out.X.RawRowView(i), out.XZ.Y.RawRowView(i-k), -1)
	}
	if k > 0 {
		out.Fresh = mat.NewDense(k, d, nil)
		addScaled(out.Fresh, -1, mat.DenseCopyOf(out.XZ.Y.Slice(n-k, n, 0, d)))
	}
	return out, nil
}

// withFresh returns Z: x without its first k rows, then the k rows of fresh.
func withFresh(x, fresh *mat.Dense) (*mat.Dense, int, error) {
	if x == nil || x.IsEmpty() {
		return nil, 0, bad(ErrShape, "SemiDebiased: x is empty: must have a point")
	}
	n, d := x.Dims()
	if fresh == nil || fresh.IsEmpty() {
		return mat.DenseCopyOf(x), 0, nil
	}
	k, df := fresh.Dims()
	if df != d {
		return nil, 0, bad(ErrShape, "SemiDebiased: fresh has %d columns and x has %d: must be equal", df, d)
	}
	if k > n {
		return nil, 0, bad(ErrShape, "SemiDebiased: fresh has %d rows and x has %d: must have at most as many", k, n)
	}
	z := mat.NewDense(n, d, nil)
	for i := k; i < n; i++ {
		z.SetRow(i-k, x.RawRowView(i))
	}
	for i := range k {
		z.SetRow(n-k+i, fresh.RawRowView(i))
	}
	return z, k, nil
}
