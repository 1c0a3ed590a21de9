package solve

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/lab/logspace"
	"coupling/ot/cost"
	"coupling/ot/internal/fault"
)

// Shared is the solution of a problem between several measures and one on a common support.
type Shared struct {
	B          []float64   // the weights of the support
	G          [][]float64 // each plan's KL potentials there
	Plans      []Status    // Stagnated for a plan that has not converged where all together have
	Status     Status
	Iterations int
	Error      float64 // Σ_k w_k Σ|T_kᵀ1−b|
}

// Bregman finds the barycentre of measures, the sources of each problem, with weights w of sum 1, by Bregman
// projections.
func Bregman(ctx context.Context, problems []Problem, w []float64, c Control, debiased bool) (*Shared, error) {
	if debiased {
		c.MaxIter = cmp.Or(c.MaxIter, maxDebiased)
	}
	bregman := &projections{w: w, runs: make([]*run, len(problems))}
	stages := []float64{c.Eps}
	for k, p := range problems {
		r, err := beginAsIs(ctx, p, c)
		if err != nil {
			return nil, fmt.Errorf("%w (measure %d)", err, k)
		}
		r.s.CentreCosts()
		if bregman.runs[k] = r; r.s.M != bregman.runs[0].s.M {
			return nil, bad(fault.ErrShape,
				"measure %d has a support of %d points, the first one of %d: must be the same",
				k, r.s.M, bregman.runs[0].s.M)
		}
		if len(r.stages) > len(stages) {
			stages = r.stages
		}
	}
	bregman.share()
	if debiased {
		if err := bregman.debias(ctx, problems[0].Geometry, c); err != nil {
			return nil, err
		}
	}
	for _, eps := range stages {
		tol := bregman.runs[0].Tol
		if eps != c.Eps {
			tol = max(stageTol, tol)
		}
		if err := bregman.stage(eps, tol); err != nil {
			return nil, err
		}
	}
	return bregman.finish(), nil
}

// maxDebiased is the largest number of steps where MaxIter is 0 and the barycentre is debiased: a sharp one at a
// large ε is all but undetermined, and steps to it have no end.
const maxDebiased = 10_000

// projections is the state of Bregman.
type projections struct {
	w      []float64
	runs   []*run
	b      []float64 // of all runs
	logQ   [][]float64
	plain  [][]float64 // the potentials of the last step without momentum
	steps  int         // since the last restart of the momentum
	self   *run        // the transport of the support to itself where debiased, else nil
	iter   int
	status Status
	err    float64
}

// share makes the weights of the targets those of all problems.
func (p *projections) share() {
	p.b = slices.Clone(p.runs[0].s.B)
	p.logQ, p.plain = make([][]float64, len(p.runs)), make([][]float64, len(p.runs))
	for k, r := range p.runs {
		r.s.B, p.logQ[k], p.plain[k] = p.b, make([]float64, len(p.b)), slices.Clone(r.beta)
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
		p.self.s.LeaveFloat32(0) // its own columns never fit, so that their error cannot tell when to
	}
	p.steps = 0
	best := stagnation{}
	for {
		if err := p.project(); err != nil {
			return err
		}
		if p.err <= tol && eps == p.runs[0].Eps {
			if err := p.certify(); err != nil {
				return err
			}
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
		p.step()
	}
}

// certify projects again over every cost in float64 where the last evaluations did not: columns agree in float32 too,
// and those of one measure are b in any precision.
func (p *projections) certify() error {
	if !slices.ContainsFunc(p.runs, func(r *run) bool { return !r.s.Certified() }) {
		return nil
	}
	for _, r := range p.runs {
		defer r.s.LastEvaluation()()
	}
	return p.project()
}

// step makes the columns of every plan b, with Nesterov's momentum, which restarts where the step turns back
// (O'Donoghue and Candès 2015). Without it errors fall like 1/t where the barycentre has no mass in places.
func (p *projections) step() {
	p.steps++
	momentum, turn := float64(p.steps)/float64(p.steps+3), 0.0
	for k, r := range p.runs {
		for j, q := range p.logQ[k] {
			next := r.beta[j] + r.s.Eps*(r.s.LogB[j]-q)
			moved := next - p.plain[k][j]
			if p.b[j] > 0 {
				turn += p.w[k] * p.b[j] * (r.beta[j] - next) * moved
			}
			r.beta[j], p.plain[k][j] = next+momentum*moved, next
		}
	}
	if turn > 0 {
		p.steps = 0
	}
}

// project scales the rows of every plan to their weights and sets b to the geometric mean of the
// columns, divided by its sum.
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
	kern.Scale(p.b, 1/kern.Sum(p.b), p.b) // logB keeps its scale, so that the weighted sum of potentials stays 0
	p.err = 0
	for k, r := range p.runs {
		copy(r.s.LogB, logB)
		r.err = kern.L1Diff(r.s.Col, p.b)
		p.err += p.w[k] * r.err
	}
	return nil
}

// debias sets up the transport of the support to itself.
func (p *projections) debias(ctx context.Context, g cost.Geometry, c Control) (err error) {
	if s, ok := g.(cost.Symmetric); !ok || !s.Symmetric() {
		return bad(fault.ErrUnsupported,
			"Debiased: geometry 0, a %T, must be symmetric: one cloud twice, or cost.Grid of a symmetric matrix", g)
	}
	p.self, err = beginAsIs(ctx, Problem{Geometry: g}, c)
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

// finish returns the weights and the potentials in the gauge of the costs as given.
func (p *projections) finish() *Shared {
	out := &Shared{B: p.b, Status: p.status, Iterations: p.iter, Error: p.err}
	for _, r := range p.runs {
		g := make([]float64, len(p.b))
		for j, b := range p.b {
			if b > 0 {
				g[j] = r.beta[j] - r.s.Eps*logspace.Log(b)
			}
		}
		r.status = p.status
		if p.status == Converged && !r.columnsConverged(r.Tol) {
			r.status = Stagnated
		}
		out.G, out.Plans = append(out.G, g), append(out.Plans, r.status)
	}
	return out
}
