package solve

import (
	"context"
	"math"

	"coupling/lab/logspace"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"
)

// Unbalanced solves the problem with the marginal penalties ρa and ρb; +Inf keeps a marginal exact.
func Unbalanced(ctx context.Context, p Problem, c Control, rhoA, rhoB float64) (*Result, error) {
	for _, r := range []struct {
		name string
		v    float64
	}{{"RhoA", rhoA}, {"RhoB", rhoB}} {
		if !(r.v > 0) {
			return nil, bad(fault.ErrParameter, "%s = %g: must be > 0 (+Inf keeps the marginal exact)", r.name, r.v)
		}
	}
	massA, massB, err := masses(p, math.IsInf(rhoA, 1) && math.IsInf(rhoB, 1))
	if err != nil {
		return nil, err
	}
	r, err := beginAsIs(ctx, Problem{Geometry: p.Geometry, A: p.A, B: scaled(p.B, massA/massB)}, c)
	if err != nil {
		return nil, err
	}
	r.mass = make([]float64, r.s.N)
	u := &penalisedRun{quasiNewton: r.quasiNewton(0), rhoA: rhoA, rhoB: rhoB, want: make([]float64, r.s.M)}
	u.fixedPoint, u.asymmetric = u.scale, true
	u.setTotals(massA, massB)
	out, err := r.finish(r.anneal(u.stage))
	if out != nil {
		u.gauge(out.Plan)
	}
	return out, err
}

// setTotals gives the weights their totals.
func (u *penalisedRun) setTotals(massA, massB float64) {
	s := u.s
	s.Marginals, s.Total = u, massB
	kern.Scale(s.A, massA, s.A)
	kern.Scale(s.B, massB, s.B)
	for j, b := range s.B {
		s.LogB[j] = logspace.Log(b)
	}
	if u.Start != nil {
		u.stages = u.stages[len(u.stages)-1:]
	}
	// Penalties keep potentials from growing far beyond ρ, so a larger ε prepares nothing.
	for len(u.stages) > 1 && u.stages[0] > (u.rhoA+u.rhoB)/2 {
		u.stages = u.stages[1:]
	}
	s.Eps = u.stages[0]
	u.beta = s.Start(u.Start)
}

// masses returns the totals of the weights, which must agree where both marginals are exact.
func masses(p Problem, exact bool) (a, b float64, err error) {
	_, _, a, b, err = p.weights()
	if err == nil && exact && math.Abs(a-b) > rows.MassTolerance*max(a, b) {
		err = bad(fault.ErrWeights,
			"Problem.B sums to %g and Problem.A to %g: must be equal where RhoA and RhoB are +Inf", b,
			a)
	}
	return a, b, err
}

// scaled returns f·w, nil for nil.
func scaled(w []float64, f float64) []float64 {
	if w == nil {
		return nil
	}
	out := make([]float64, len(w))
	kern.Scale(out, f, w)
	return out
}

// penalisedRun is the state of a solve. Its α and β are shifted by −shift and shift: where totals
// differ and penalties are high, the potentials are small differences from a large constant, which
// would round them away.
type penalisedRun struct {
	*quasiNewton
	rhoA, rhoB float64
	want       []float64
	shift      float64 // f = α + shift, g = β − shift, but for ε log a and ε log b
}

// damping is ρ/(ρ+ε), the factor of the soft minimum in a potential's step.
func damping(rho, eps float64) float64 {
	if math.IsInf(rho, 1) {
		return 1
	}
	return rho / (rho + eps)
}

// translation returns the λ that maximises −(ρ+ε) p e^(−λ/(ρ+ε)) − σ q e^(λ/σ), the dual as a
// function of λ when λ is subtracted from the potentials with penalty σ and those with penalty ρ
// follow optimally; p is the mass of T, and q the mass that the σ side asks for.
func translation(p, q, rho, sigma, eps float64) float64 {
	by := logspace.Log(p/q) / (1/(rho+eps) + 1/sigma)
	if by-by != 0 { // both marginals exact, or no mass yet
		return 0
	}
	return by
}

// stage iterates at the present ε until the error is at most tol.
func (u *penalisedRun) stage(tol float64, last bool) error {
	u.hist.clear()
	u.s.WantLists(last)
	if err := u.eval(u.beta, 1); err != nil {
		return err
	}
	best := stagnation{}
	for {
		if last && u.err <= tol {
			if err := u.certify(); err != nil {
				return err
			}
		}
		switch {
		case u.err <= tol && (!last || u.columnsConverged(tol)):
			u.status = Converged
			return nil
		case u.iter >= u.MaxIter:
			u.status = IterationLimit
			return u.certify()
		case best.stalled(u.merit(tol), u.s.Noise()):
			u.status = Stagnated
			return u.certify()
		}
		u.iter++
		if u.err <= tol { // each column for itself
			u.hist.clear()
		}
		if err := u.step(); err != nil {
			return err
		}
	}
}

// mass makes row i optimal for β and the present shift.
func (u *penalisedRun) Mass(i int, softmax float64) float64 {
	s := u.s
	s.Alpha[i] = s.Eps*logspace.Log(s.A[i]) - damping(u.rhoA, s.Eps)*softmax
	u.mass[i] = s.A[i] * math.Exp((softmax-u.shift)/(u.rhoA+s.Eps))
	return u.mass[i]
}

// finishEval makes the plan optimal for any shift, and returns the error of the columns.
func (u *penalisedRun) FinishEval() float64 {
	s := u.s
	yield := 1 / (u.rhoA + s.Eps)
	by := translation(kern.Sum(u.mass), u.wanted(nil), u.rhoA, u.rhoB, s.Eps)
	u.shift += by
	// All of T by the same factor, since its rows were computed for the old shift.
	f := math.Exp(-by * yield)
	kern.Scale(u.mass, f, u.mass)
	kern.Scale(s.Col, f, s.Col)
	rows.Shift(s.Alpha, -u.shift*s.Eps*yield)
	u.wanted(u.want)
	return kern.L1Diff(s.Col, u.want) / s.Total
}

// Wanted returns the column sums of T at the optimum for the potentials of the last evaluation.
func (u *penalisedRun) Wanted() []float64 { return u.want }

// wanted returns the total of b e^(−g/ρb), the column sums of T at the optimum, and writes them to dst where not nil.
func (u *penalisedRun) wanted(dst []float64) float64 {
	var total float64
	for j, b := range u.s.B {
		if b > 0 && !math.IsInf(u.rhoB, 1) {
			b *= math.Exp((u.shift - u.beta[j] + u.s.Eps*u.s.LogB[j]) / u.rhoB)
		}
		if dst != nil {
			dst[j] = b
		}
		total += b
	}
	return total
}

// scale makes the columns optimal for α and any shift.
func (u *penalisedRun) scale() {
	s := u.s
	s.Sinkhorn(u.beta, 1) // columns are exact there
	keep := damping(u.rhoB, s.Eps)
	var p, q float64 // the masses that the columns and the rows ask for
	for j, b := range s.B {
		if b > 0 {
			base := s.Eps * s.LogB[j]
			p += b * math.Exp((base+u.shift-u.beta[j])/(u.rhoB+s.Eps))
			u.beta[j] = base + keep*(u.beta[j]-base)
		}
	}
	for i, a := range s.A {
		if a > 0 && !math.IsInf(u.rhoA, 1) {
			a *= math.Exp((s.Eps*logspace.Log(a) - s.Alpha[i] - u.shift) / u.rhoA)
		}
		q += a
	}
	u.shift = keep * (u.shift - translation(p, q, u.rhoB, u.rhoA, s.Eps))
}

// gauge adds the shift to the potentials; those of weight 0 are damped soft minima.
func (u *penalisedRun) gauge(p *transport.Plan) {
	by := u.shift
	for i, a := range p.A {
		p.Alpha[i] += by
		if p.F[i] += by; a == 0 {
			p.F[i] *= damping(u.rhoA, p.Eps)
		}
	}
	for j, b := range p.B {
		p.Beta[j] -= by
		if p.G[j] -= by; b <= semidual.ColumnUnderflow {
			p.G[j] *= damping(u.rhoB, p.Eps)
			if b > 0 {
				p.Beta[j] = p.G[j] + p.Eps*logspace.Log(b)
				p.Own[j] = p.Beta[j] + by
			}
		}
	}
}
