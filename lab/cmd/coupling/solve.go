package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"coupling/ot"
	"coupling/ot/exact"

	"golang.org/x/term"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// exitUnconverged says that a plan was written which is not what was asked for.
const exitUnconverged = 3

type solveCmd struct {
	X          string  `help:"Source points, a row each (NPY or CSV)." placeholder:"FILE"`
	Y          string  `help:"Target points." placeholder:"FILE"`
	CostMatrix string  `help:"Costs, instead of points." placeholder:"FILE"`
	A          string  `help:"Source weights; default uniform." placeholder:"FILE"`
	B          string  `help:"Target weights; default uniform." placeholder:"FILE"`
	Cost       string  `default:"sqeuclidean" enum:"sqeuclidean,l1,l2sq+l1,euclidean,cosine" help:"Cost between points: sqeuclidean |x-y|^2, l1, l2sq+l1 |x-y|^2 + mix |x-y|_1, euclidean, cosine."`
	Mix        float64 `default:"1" help:"Weight of the L1 part of l2sq+l1."`
	Eps        float64 `help:"Regularisation, in units of cost; not used by exact." placeholder:"EPS"`
	Solver     string  `default:"auto" enum:"auto,scaling,log,lbfgs,newton,exact" help:"auto, scaling, log (Sinkhorn in the log domain), lbfgs, newton, exact (network simplex)."`
	Tol        float64 `default:"1e-9" help:"L1 error of the marginals to stop at."`
	MaxIter    int     `help:"Most iterations; default the solver's."`
	MatrixFree bool    `help:"Never hold the n×m costs."`
	NoPlan     bool    `help:"Do not write plan.npy, which is n×m."`
	Grad       string  `enum:",M,x,y" default:"" help:"Also write the gradient of the sharp loss with respect to the costs (M), the sources (x) or the targets (y)."`
	Out        string  `required:"" help:"Folder to write plan.npy, alpha.npy, beta.npy, f.npy, g.npy to." placeholder:"DIR"`
	JSON       bool    `help:"Print the summary as JSON."`
}

// Help says what the files mean.
func (solveCmd) Help() string {
	return `Solves min <T,M> + eps KL(T|ab') over plans T with marginals a and b.

plan.npy is T = exp((alpha_i + beta_j - M_ij)/eps) = a_i b_j exp((f_i + g_j - M_ij)/eps). The beta of the last target of positive
weight is 0, and <a,f> = <b,g>. Weights are divided by their sum. Exit code 3: the solver did not reach --tol; the files hold
what it got.`
}

// summary is what --json prints.
type summary struct {
	Solver     string  `json:"solver"`
	Status     string  `json:"status"`
	Iterations int     `json:"iterations"`
	Seconds    float64 `json:"seconds"`
	MarginalL1 float64 `json:"marginal_l1"`
	Sharp      float64 `json:"sharp"`
	RegKL      float64 `json:"reg_kl"`
	RegEntropy float64 `json:"reg_entropy"`
}

// Run solves a transport problem from files.
func (c solveCmd) Run(a *app) error {
	prob, err := c.problem()
	if err != nil {
		return usage(err)
	}
	began := time.Now()
	var s summary
	if c.Solver == "exact" {
		s, err = c.exact(a.run.ctx, prob)
	} else {
		s, err = c.entropic(a, prob)
	}
	if err != nil {
		return err
	}
	s.Seconds = time.Since(began).Seconds()
	if err := c.print(a, s); err != nil {
		return err
	}
	if s.Status != ot.Converged.String() {
		return exitError{exitUnconverged, fmt.Errorf("solve: %s: marginal error %.3g after %d iterations, wanted %.3g", s.Status, s.MarginalL1, s.Iterations, c.Tol)}
	}
	return nil
}

// problem reads the files.
func (c solveCmd) problem() (ot.Problem, error) {
	var p ot.Problem
	var err error
	switch points := c.X != "" && c.Y != ""; {
	case c.CostMatrix != "" && (c.X != "" || c.Y != ""):
		return p, errors.New("--cost-matrix and --x, --y: give one or the other")
	case c.CostMatrix == "" && !points:
		return p, errors.New("give --x and --y, or --cost-matrix")
	case c.CostMatrix != "" && (c.Grad == "x" || c.Grad == "y"):
		return p, fmt.Errorf("--grad %s: there are no points, only a cost matrix", c.Grad)
	case c.CostMatrix != "":
		m, err := readMatrix(c.CostMatrix)
		if err != nil {
			return p, err
		}
		p.Geometry = ot.Dense(m)
	default:
		if p.Geometry, err = c.points(); err != nil {
			return p, err
		}
	}
	if c.A != "" {
		if p.A, err = readVector(c.A); err != nil {
			return p, err
		}
	}
	if c.B != "" {
		p.B, err = readVector(c.B)
	}
	return p, err
}

func (c solveCmd) points() (ot.Geometry, error) {
	x, err := readMatrix(c.X)
	if err != nil {
		return nil, err
	}
	y, err := readMatrix(c.Y)
	if err != nil {
		return nil, err
	}
	costs := map[string]ot.PointCost{
		"sqeuclidean": ot.SqEuclidean, "l1": ot.L1, "euclidean": ot.Euclidean, "cosine": ot.Cosine,
		"l2sq+l1": ot.SqEuclideanL1(c.Mix),
	}
	if c.MatrixFree {
		return ot.MatrixFree(x, y, costs[c.Cost]), nil
	}
	return ot.Points(x, y, costs[c.Cost]), nil
}

func (c solveCmd) entropic(a *app, p ot.Problem) (summary, error) {
	trace, clear := stepLine(a)
	defer clear()
	solvers := map[string]ot.Solver{
		"auto":    ot.Auto{Eps: c.Eps, Tol: c.Tol, Trace: trace},
		"scaling": ot.Scaling{Eps: c.Eps, Tol: c.Tol, MaxIter: c.MaxIter, Trace: trace},
		"log":     ot.Sinkhorn{Eps: c.Eps, Tol: c.Tol, MaxIter: c.MaxIter, Trace: trace},
		"lbfgs":   ot.LBFGS{Eps: c.Eps, Tol: c.Tol, MaxIter: c.MaxIter, Trace: trace},
		"newton":  ot.Newton{Eps: c.Eps, Tol: c.Tol, MaxIter: c.MaxIter, Trace: trace},
	}
	plan, err := solvers[c.Solver].Solve(a.run.ctx, p)
	if err != nil {
		return summary{}, err
	}
	clear()
	v := plan.Value()
	s := summary{
		Solver: plan.Solver, Status: plan.Status.String(), Iterations: plan.Iterations, MarginalL1: plan.MarginalL1,
		Sharp: v.Sharp, RegKL: v.RegKL, RegEntropy: v.RegEntropy,
	}
	var matrix *mat.Dense
	if !c.NoPlan {
		matrix = plan.Matrix()
	}
	err = c.write(matrix, map[string][]float64{"alpha": plan.Alpha, "beta": plan.Beta, "f": plan.F, "g": plan.G})
	if err != nil || c.Grad == "" {
		return s, err
	}
	g, err := ot.Backward{}.Gradient(a.run.ctx, plan, ot.Sharp)
	if err != nil {
		return s, err
	}
	return s, c.writeGradient(g)
}

func (c solveCmd) writeGradient(g *ot.Gradient) (err error) {
	m := (*mat.Dense)(nil)
	switch c.Grad {
	case "M":
		m = g.Cost()
	case "x":
		m, err = g.X()
	case "y":
		m, err = g.Y()
	}
	if err != nil {
		return err
	}
	return writeMatrix(filepath.Join(c.Out, "grad_sharp_"+c.Grad+".npy"), m)
}

// exact is the limit eps = 0: all three losses are <T,M>, and its gradient with
// respect to M is T.
func (c solveCmd) exact(ctx context.Context, p ot.Problem) (summary, error) {
	if c.Grad == "x" || c.Grad == "y" {
		return summary{}, usage(fmt.Errorf("--grad %s: the exact loss is not differentiable in the points; use a solver with --eps", c.Grad))
	}
	if (p.A == nil) != (p.B == nil) { // nil is uniform, of mass 1
		p.A, p.B = unit(p.A), unit(p.B)
	}
	solution, err := exact.Simplex{MaxPivots: c.MaxIter}.Solve(ctx, p.A, p.B, exact.Matrix(ot.Cost(p.Geometry)))
	if err != nil {
		return summary{}, err
	}
	cert := solution.Certificate
	s := summary{
		Solver: "exact", Status: exactStatus(solution.Status), Iterations: solution.Pivots, MarginalL1: cert.Marginal / cert.Mass,
		Sharp: cert.Primal / cert.Mass, RegKL: cert.Primal / cert.Mass, RegEntropy: cert.Primal / cert.Mass,
	}
	plan := solution.Plan.Dense()
	plan.Scale(1/cert.Mass, plan)
	err = c.write(plan, map[string][]float64{"alpha": solution.F, "beta": solution.G, "f": solution.F, "g": solution.G})
	if err == nil && c.Grad == "M" {
		err = writeMatrix(filepath.Join(c.Out, "grad_sharp_M.npy"), plan)
	}
	return s, err
}

// exactStatus says "converged" for the optimum, as the other solvers do.
func exactStatus(s exact.Status) string {
	if s == exact.Optimal {
		return ot.Converged.String()
	}
	return s.String()
}

// unit scales weights that have a positive sum to sum to 1; others are for the
// solver to refuse.
func unit(w []float64) []float64 {
	sum := floats.Sum(w)
	if !(sum > 0) || math.IsInf(sum, 1) {
		return w
	}
	out := make([]float64, len(w))
	floats.ScaleTo(out, 1/sum, w)
	return out
}

func (c solveCmd) write(plan *mat.Dense, potentials map[string][]float64) error {
	if !c.NoPlan {
		if err := writeMatrix(filepath.Join(c.Out, "plan.npy"), plan); err != nil {
			return err
		}
	}
	for name, v := range potentials {
		if err := writeNPY(filepath.Join(c.Out, name+".npy"), []int{len(v)}, v); err != nil {
			return err
		}
	}
	return nil
}

func (c solveCmd) print(a *app, s summary) error {
	if c.JSON {
		return writeJSON(a, s)
	}
	_, err := fmt.Fprintf(a.out, "%s: %s after %d iterations, %.3g s\nmarginal error   %.3g\n<T,M>            %.15g\n"+
		"+ eps KL(T|ab')  %.15g\n+ eps sum TlogT  %.15g\nwrote the plan and its potentials to %s\n",
		s.Solver, s.Status, s.Iterations, s.Seconds, s.MarginalL1, s.Sharp, s.RegKL, s.RegEntropy, c.Out)
	return err
}

// stepLine returns a trace that shows the newest step on a terminal, and a
// function that removes the line.
func stepLine(a *app) (trace func(ot.Step), clear func()) {
	f, ok := a.err.(*os.File)
	if a.quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, func() {}
	}
	var shown time.Time
	trace = func(s ot.Step) {
		if time.Since(shown) > 100*time.Millisecond {
			shown = time.Now()
			fmt.Fprintf(f, "\r\x1b[K%d iterations, eps %.3g, marginal error %.3g", s.Iteration, s.Eps, s.MarginalL1)
		}
	}
	return trace, func() {
		if !shown.IsZero() {
			fmt.Fprint(f, "\r\x1b[K")
			shown = time.Time{}
		}
	}
}
