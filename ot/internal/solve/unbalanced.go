package solve

import (
	"context"
	"math"

	"coupling/lab/logspace"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/linesearch"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"
	"coupling/ot/penalty"
)

// Unbalanced solves the problem with the marginal penalties ρa D and ρb D; +Inf keeps a marginal exact.
func Unbalanced(ctx context.Context, p Problem, c Control, kind penalty.Kind, rhoA, rhoB float64) (*Result, error) {
	if err := kind.Check(); err != nil {
		return nil, bad(fault.ErrParameter, "Penalty: %v", err)
	}
	for _, r := range []struct {
		name string
		v    float64
	}{{"RhoA", rhoA}, {"RhoB", rhoB}} {
		if !(r.v > 0) {
			return nil, bad(fault.ErrParameter, "%s = %g: must be > 0 (+Inf keeps the marginal exact)", r.name, r.v)
		}
	}
	_, _, massA, massB, err := p.weights()
	if err == nil && math.IsInf(rhoA, 1) && math.IsInf(rhoB, 1) {
		err = equal(massA, massB, " where RhoA and RhoB are +Inf")
	}
	if err != nil {
		return nil, err
	}
	r, err := beginAsIs(ctx, Problem{Geometry: p.Geometry, A: p.A, B: scaled(p.B, massA/massB)}, c)
	if err != nil {
		return nil, err
	}
	r.mass = make([]float64, r.s.N)
	u := &penalisedRun{
		quasiNewton: r.quasiNewton(0),
		a:           penalty.Term{Kind: kind, Rho: rhoA},
		b:           penalty.Term{Kind: kind, Rho: rhoB},
		softmax:     make([]float64, r.s.N),
		want:        make([]float64, r.s.M),
	}
	u.fixedPoint, u.asymmetric = u.scale, true
	if bounded, _ := u.b.Bounded(0); bounded {
		u.bounds = u
	}
	u.setTotals(massA, massB)
	out, err := r.finish(r.anneal(u.stage))
	if out != nil {
		out.Penalties = u.gauge(out.Plan)
	}
	return out, err
}

// setTotals gives the weights their totals.
func (u *penalisedRun) setTotals(massA, massB float64) {
	s := u.s
	s.Marginals, s.Total = u, massB
	kern.Scale(s.A, massA, s.A)
	kern.Scale(s.B, massB, s.B)
	for i, a := range s.A {
		s.LogA[i] = logspace.Log(a)
	}
	for j, b := range s.B {
		s.LogB[j] = logspace.Log(b)
	}
	if u.Start != nil {
		u.stages = u.stages[len(u.stages)-1:]
	}
	// Penalties keep potentials from growing far beyond ρ, so a larger ε prepares nothing.
	for len(u.stages) > 1 && u.stages[0] > (u.a.Rho+u.b.Rho)/2 {
		u.stages = u.stages[1:]
	}
	s.Eps = u.stages[0]
	u.beta = s.Start(u.Start)
	if u.Start == nil && u.b.Exact() {
		rows.Shift(u.beta, s.Cost.Mean) // a constant that sources need not pay for
	}
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
	a, b    penalty.Term
	softmax []float64 // of the rows, from which f follows without the rounding of α
	want    []float64
	again   bool    // this evaluation is the second one at its β, for a better shift
	shift   float64 // f = α + shift, g = β − shift, but for ε log a and ε log b; 0 where not KL
}

// Penalties are those of a plan, and the shares of the weights that its potentials ask for.
type Penalties struct {
	A, B           penalty.Term
	ShareA, ShareB []float64
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
// follow optimally; p is the mass of T, and q the mass that the σ side asks for, as logarithms.
func translation(logP, logQ, rho, sigma, eps float64) float64 {
	by := (logP - logQ) / (1/(rho+eps) + 1/sigma)
	if by-by != 0 { // both marginals exact
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
		case u.err-u.err != 0:
			return bad(fault.ErrCost, "costs are so far below −RhoA and −RhoB that the plan's mass is above 1e308")
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

// Mass makes row i optimal for β and the present shift.
func (u *penalisedRun) Mass(i int, softmax float64) float64 {
	s := u.s
	u.softmax[i] = softmax
	if u.a.Kind != penalty.KL {
		f, share := u.a.Step(-softmax, s.Eps)
		s.Alpha[i] = s.Eps*s.LogA[i] + f
		u.mass[i] = s.A[i] * share
		return u.mass[i]
	}
	s.Alpha[i] = s.Eps*s.LogA[i] - damping(u.a.Rho, s.Eps)*softmax
	u.mass[i] = s.A[i] * math.Exp((softmax-u.shift)/(u.a.Rho+s.Eps))
	return u.mass[i]
}

// FinishEval makes the plan optimal for any shift, and returns the error of the columns.
func (u *penalisedRun) FinishEval() float64 {
	s, total := u.s, u.setWanted()
	if u.a.Kind == penalty.KL {
		yield := 1 / (u.a.Rho + s.Eps)
		by := translation(u.logMass(), u.logShares(total, u.b.Rho), u.a.Rho, u.b.Rho, s.Eps)
		u.shift += by
		if u.again = !u.again && math.Abs(by)*yield > largestLog; u.again { // masses were 0 or +Inf at the old shift
			return s.Eval(u.beta, 1)
		}
		// All of T by the same factor, since its rows were computed for the old shift.
		f := math.Exp(-by * yield)
		kern.Scale(u.mass, f, u.mass)
		kern.Scale(s.Col, f, s.Col)
		u.setWanted()
		rows.Shift(s.Alpha, -u.shift*s.Eps*yield)
	}
	off := kern.L1Diff(s.Col, u.want) / s.Total
	for i, a := range s.A {
		if a > 0 && u.a.Cut(u.mass[i]/a) {
			return max(off, 1) // the row's mass is not that of its potential: nothing is solved
		}
	}
	return off
}

// Wanted returns the column sums of T at the optimum for the potentials of the last evaluation.
func (u *penalisedRun) Wanted() []float64 { return u.want }

// potential returns gⱼ; bⱼ is positive.
func (u *penalisedRun) potential(j int) float64 { return u.beta[j] - u.s.Eps*u.s.LogB[j] - u.shift }

// setWanted finds the column sums of T at the optimum for the present shift, and returns their total.
func (u *penalisedRun) setWanted() float64 {
	s := u.s
	if u.b.Kind == penalty.KL { // b·Share of all columns at once
		kern.Scale(u.want, s.Eps, s.LogB)
		kern.RowExpScaled(u.want, u.want, u.beta, -u.shift, 1/u.b.Rho)
		kern.Mul(u.want, u.want, s.B)
		for _, j := range s.ZeroB {
			u.want[j] = 0
		}
		return kern.Sum(u.want)
	}
	for j, b := range s.B {
		if b > 0 {
			u.want[j] = b * u.b.Share(u.potential(j), s.Col[j]/b)
		}
	}
	return kern.Sum(u.want)
}

// largestLog is how far the logarithm of the mass may move with the shift for masses not to have under- or overflowed.
const largestLog = 200

// logMass returns the logarithm of the mass of T, of KL, at the present shift.
func (u *penalisedRun) logMass() float64 {
	if log := logspace.Log(kern.Sum(u.mass)); math.Abs(log) < largestLog {
		return log
	}
	sum := logspace.Zero()
	for i, w := range u.s.LogA {
		sum.Add(w + (u.softmax[i]-u.shift)/(u.a.Rho+u.s.Eps))
	}
	return sum.Log()
}

// logShares returns the logarithm of Σ b e^(−g/ρ), which is total unless that has under- or overflowed.
func (u *penalisedRun) logShares(total, rho float64) float64 {
	if log := logspace.Log(total); math.Abs(log) < largestLog {
		return log
	}
	sum := logspace.Zero()
	for j, b := range u.s.B {
		if b > 0 {
			sum.Add(u.s.LogB[j] - u.potential(j)/rho)
		}
	}
	return sum.Log()
}

// scale makes the columns optimal for α and any shift.
func (u *penalisedRun) scale() {
	s := u.s
	s.Sinkhorn(u.beta, 1) // columns are exact there
	if u.b.Kind != penalty.KL {
		by := u.imbalance()
		for j, b := range s.B {
			if b > 0 {
				g, _ := u.b.Step(u.potential(j)-by, s.Eps)
				u.beta[j] = s.Eps*s.LogB[j] + g
			}
		}
		return
	}
	keep, p := damping(u.b.Rho, s.Eps), u.logShares(0, u.b.Rho+s.Eps)
	for j, b := range s.B {
		if b > 0 {
			base := s.Eps * s.LogB[j]
			u.beta[j] = base + keep*(u.beta[j]-base)
		}
	}
	u.shift = keep * (u.shift - translation(p, u.logMass(), u.b.Rho, u.a.Rho, s.Eps))
}

// imbalance returns the constant that makes the masses which the rows and the columns' step ask for agree, about as
// well as a move of ε, when it is added to the rows' potentials and subtracted from what the columns would take if they
// were exact; with total variation, whose masses depend on potentials at their bounds alone, the one that leads there.
func (u *penalisedRun) imbalance() float64 {
	const most = 40
	if u.b.Kind == penalty.TotalVariation {
		return u.room()
	}
	by, near := u.logMasses(0), min(0.05, u.s.Eps/min(u.a.Rho, u.b.Rho))
	if !(math.Abs(by) > near) {
		return 0
	}
	sign := math.Copysign(1, by)
	bracket := linesearch.New(-math.Abs(by))
	t := u.s.Eps
	for range most {
		switch off := -sign * u.logMasses(sign*t); {
		case math.Abs(off) <= near:
			return sign * t
		case off < 0:
			bracket.Before(t, off)
		default:
			bracket.Beyond(t, off)
		}
		t = bracket.Next()
	}
	return sign * t
}

// room returns the constant by which potentials of total variation may move until the first comes to its bound, those
// of the heavier side up: masses do not change up to there.
func (u *penalisedRun) room() float64 {
	s, out := u.s, math.Inf(1)
	more := kern.Sum(s.A) - s.Total
	if math.Abs(more) <= rows.MassTolerance*s.Total {
		return 0
	}
	sign := math.Copysign(1, more)
	for j, b := range s.B {
		if b > 0 {
			out = min(out, u.b.Rho+sign*u.potential(j))
		}
	}
	for i, a := range s.A {
		if a > 0 {
			out = min(out, u.a.Rho-sign*(s.Alpha[i]-s.Eps*s.LogA[i]))
		}
	}
	return sign * max(0, out)
}

// logMasses returns the logarithm of the mass that the rows ask for over that of the columns' step, moved by by.
func (u *penalisedRun) logMasses(by float64) float64 {
	s := u.s
	var p, q float64
	for j, b := range s.B {
		if b > 0 {
			_, share := u.b.Step(u.potential(j)-by, s.Eps)
			p += b * share
		}
	}
	for i, a := range s.A {
		if a > 0 {
			q += a * u.a.Share(s.Alpha[i]-s.Eps*s.LogA[i]+by, 1)
		}
	}
	return logspace.Log(q / p)
}

// clamp moves the potentials into their bounds.
func (u *penalisedRun) clamp() {
	for j, b := range u.s.B {
		if b > 0 {
			u.beta[j] = u.s.Eps*u.s.LogB[j] + max(-u.b.Rho, min(u.b.Rho, u.potential(j)))
		}
	}
}

// hold removes from a direction the moves of potentials that are best at their bounds.
func (u *penalisedRun) hold(dir, grad []float64) {
	for j, b := range u.s.B {
		if b > 0 && grad[j] == 0 {
			if _, at := u.b.Bounded(u.potential(j)); at {
				dir[j] = 0
			}
		}
	}
}

// gauge adds the shift to the potentials; those of columns that are to be empty take the step of a vanishing weight.
func (u *penalisedRun) gauge(p *transport.Plan) *Penalties {
	by := u.shift
	out := &Penalties{u.a, u.b, make([]float64, len(p.A)), make([]float64, len(p.B))}
	for i, a := range p.A {
		p.Alpha[i] += by
		if p.F[i] += by; a > 0 {
			p.F[i] = by - u.softmax[i]
		}
		p.F[i], out.ShareA[i] = u.a.Step(p.F[i], p.Eps)
	}
	for j, b := range p.B {
		p.Beta[j] -= by
		if p.G[j] -= by; u.want[j] > semidual.ColumnUnderflow {
			out.ShareB[j] = u.b.Share(p.G[j], u.s.Col[j]/b)
			continue
		}
		p.G[j], out.ShareB[j] = u.b.Step(p.G[j], p.Eps)
		if b > 0 {
			p.Beta[j] = p.G[j] + p.Eps*logspace.Log(b)
			p.Own[j] = p.Beta[j] + by
		}
	}
	return out
}
