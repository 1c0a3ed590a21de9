package central

import (
	"context"
	"fmt"
	"math"

	"coupling/dp/admm"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Concave returns the optimum of concave utilities, linear ones included, by the primal-dual interior-point method. Variables are the
// amounts v and the totals r of the nodes, Av = r:
//
//	−u′(v) + Aᵀy − z = 0,  −y − w̲ + w̄ = 0,  z v = w̲ (r − Min) = w̄ (Max − r) = μ → 0.
//
// Each step solves a system of the size of the nodes. The answer has a relative gap of 1e-9 or the error says what it has. Errors:
// those of Problem.Check, a cancelled context. Cost: some 30 steps of O(nodes³ + edges).
func Concave(ctx context.Context, p admm.Problem) (Optimum, error) {
	if err := p.Check(); err != nil {
		return Optimum{}, err
	}
	m := newBarrier(p)
	const steps, goal = 300, 1e-10
	for range steps {
		if err := ctx.Err(); err != nil {
			return Optimum{}, err
		}
		value := m.value()
		if m.gap() <= goal*(1+math.Abs(value)) && m.infeasibility() <= goal*(1+floats.Norm(m.r, math.Inf(1))) && m.slack() <= goal*(1+m.steepest) {
			break
		}
		if !m.step() {
			break
		}
	}
	plan := p.Repair(m.v)
	out := Optimum{Plan: plan, Value: p.Utility(plan), Gap: m.gap() + m.slack()*floats.Sum(m.v)}
	if out.Gap > 1e-8*(1+math.Abs(out.Value)) {
		return out, fmt.Errorf("central: interior point ended with a gap of %.3g at value %.6g", out.Gap, out.Value)
	}
	return out, nil
}

// barrier is the state of the method.
type barrier struct {
	p        admm.Problem
	ends     [][2]int // nodes of each edge
	lo, hi   []float64
	fixed    []bool // Min = Max: the total is no variable
	v, z     []float64
	r, y     []float64
	wl, wh   []float64
	steepest float64

	dv, dz, dr, dy, dwl, dwh []float64
}

func newBarrier(p admm.Problem) *barrier {
	edges, nodes := len(p.Graph.Edges), p.Graph.Targets+p.Graph.Sources
	m := &barrier{p: p, ends: make([][2]int, edges), lo: make([]float64, nodes), hi: make([]float64, nodes), fixed: make([]bool, nodes)}
	for _, s := range []*[]float64{&m.v, &m.z, &m.dv, &m.dz} {
		*s = make([]float64, edges)
	}
	for _, s := range []*[]float64{&m.r, &m.y, &m.wl, &m.wh, &m.dr, &m.dy, &m.dwl, &m.dwh} {
		*s = make([]float64, nodes)
	}
	for n, id := range p.Graph.Nodes() {
		b := p.Bounds(id)
		m.lo[n], m.hi[n], m.fixed[n] = b.Min, b.Max, b.Max <= b.Min+1e-12*(1+b.Min)
		m.r[n] = b.Min + 1
		if !math.IsInf(b.Max, 1) {
			m.r[n] = (b.Min + b.Max) / 2
			m.wh[n] = 1
		}
		m.wl[n] = 1
		if m.fixed[n] {
			m.wl[n], m.wh[n] = 0, 0
		}
	}
	for i, e := range p.Graph.Edges {
		m.ends[i] = [2]int{e.Target, p.Graph.Targets + e.Source}
		m.v[i], m.z[i] = 1, 1
		m.steepest = max(m.steepest, m.slope(i, 0))
	}
	return m
}

// slope is u′ of an edge, both sides.
func (m *barrier) slope(i int, v float64) float64 {
	s := 0.0
	for _, us := range [][]admm.Utility{m.p.TargetUtility, m.p.SourceUtility} {
		if us != nil {
			s += us[i].Slope(v)
		}
	}
	return s
}

// curvature is −u″, by a difference of slopes.
func (m *barrier) curvature(i int) float64 {
	h := 1e-6 * m.v[i]
	return max(0, (m.slope(i, m.v[i]-h)-m.slope(i, m.v[i]+h))/(2*h))
}

func (m *barrier) value() float64 { return m.p.Utility(m.v) }

// gap is the sum of the products that vanish at the optimum: the duality gap where the equations hold.
func (m *barrier) gap() float64 {
	sum := floats.Dot(m.v, m.z)
	for n := range m.r {
		sum += m.below(n) + m.above(n)
	}
	return sum
}

func (m *barrier) below(n int) float64 {
	if m.fixed[n] {
		return 0
	}
	return m.wl[n] * (m.r[n] - m.lo[n])
}

func (m *barrier) above(n int) float64 {
	if m.fixed[n] || math.IsInf(m.hi[n], 1) {
		return 0
	}
	return m.wh[n] * (m.hi[n] - m.r[n])
}

// excess is Av − r.
func (m *barrier) excess() []float64 {
	out := make([]float64, len(m.r))
	floats.SubTo(out, out, m.r)
	for i, e := range m.ends {
		out[e[0]] += m.v[i]
		out[e[1]] += m.v[i]
	}
	return out
}

func (m *barrier) infeasibility() float64 { return floats.Norm(m.excess(), math.Inf(1)) }

// slack is the largest error of the equations in v and r.
func (m *barrier) slack() float64 {
	worst := 0.0
	for i, e := range m.ends {
		worst = max(worst, math.Abs(-m.slope(i, m.v[i])+m.y[e[0]]+m.y[e[1]]-m.z[i]))
	}
	for n := range m.r {
		if !m.fixed[n] {
			worst = max(worst, math.Abs(m.y[n]+m.wl[n]-m.wh[n]))
		}
	}
	return worst
}

// step goes towards the point of a tenth of the gap. It reports whether it could.
func (m *barrier) step() bool {
	count := len(m.v)
	for n := range m.r {
		if !m.fixed[n] {
			count += 2
		}
	}
	mu := 0.1 * m.gap() / float64(count)
	if !m.direction(mu) {
		return false
	}
	size := min(1, 0.99*m.room())
	before := m.residual(mu)
	for ; size > 1e-12; size /= 2 {
		m.move(size)
		if m.residual(mu) <= (1-0.01*size)*before*(1+1e-9) || size < 1e-9 {
			return true
		}
		m.move(-size)
	}
	return false
}

// direction is Newton's, by the normal equations (A D⁻¹ Aᵀ + E⁻¹) dy = A D⁻¹ g − E⁻¹(y + h) + Av − r.
func (m *barrier) direction(mu float64) bool {
	nodes := len(m.r)
	system, right := mat.NewSymDense(nodes, nil), mat.NewVecDense(nodes, m.excess())
	g, d := make([]float64, len(m.v)), make([]float64, len(m.v))
	add := func(i, j int, x float64) { system.SetSym(i, j, system.At(i, j)+x) }
	for i, e := range m.ends {
		d[i] = m.curvature(i) + m.z[i]/m.v[i]
		g[i] = m.slope(i, m.v[i]) - m.y[e[0]] - m.y[e[1]] + mu/m.v[i]
		add(e[0], e[0], 1/d[i])
		add(e[1], e[1], 1/d[i])
		add(e[0], e[1], 1/d[i])
		right.SetVec(e[0], right.AtVec(e[0])+g[i]/d[i])
		right.SetVec(e[1], right.AtVec(e[1])+g[i]/d[i])
	}
	e, h := make([]float64, nodes), make([]float64, nodes)
	for n := range nodes {
		if m.fixed[n] {
			add(n, n, 1e-13*(system.At(n, n)+1e-300))
			continue
		}
		e[n], h[n] = m.wl[n]/(m.r[n]-m.lo[n]), mu/(m.r[n]-m.lo[n])
		if !math.IsInf(m.hi[n], 1) {
			e[n] += m.wh[n] / (m.hi[n] - m.r[n])
			h[n] -= mu / (m.hi[n] - m.r[n])
		}
		add(n, n, 1/e[n])
		right.SetVec(n, right.AtVec(n)-(m.y[n]+h[n])/e[n])
	}
	var chol mat.Cholesky
	if !chol.Factorize(system) {
		return false
	}
	dy := mat.NewVecDense(nodes, m.dy)
	if err := chol.SolveVecTo(dy, right); err != nil {
		if _, poor := err.(mat.Condition); !poor { //nolint:errorlint // gonum returns it bare
			return false
		}
	}
	for i, n := range m.ends {
		m.dv[i] = (g[i] - m.dy[n[0]] - m.dy[n[1]]) / d[i]
		m.dz[i] = mu/m.v[i] - m.z[i] - m.z[i]/m.v[i]*m.dv[i]
	}
	for n := range nodes {
		m.dr[n], m.dwl[n], m.dwh[n] = 0, 0, 0
		if m.fixed[n] {
			continue
		}
		m.dr[n] = (m.dy[n] + m.y[n] + h[n]) / e[n]
		m.dwl[n] = (mu-m.wl[n]*m.dr[n])/(m.r[n]-m.lo[n]) - m.wl[n]
		if !math.IsInf(m.hi[n], 1) {
			m.dwh[n] = (mu+m.wh[n]*m.dr[n])/(m.hi[n]-m.r[n]) - m.wh[n]
		}
	}
	return true
}

// room is the longest step that leaves everything positive.
func (m *barrier) room() float64 {
	size := math.Inf(1)
	limit := func(x, dx float64) {
		if dx < 0 {
			size = min(size, -x/dx)
		}
	}
	for i := range m.v {
		limit(m.v[i], m.dv[i])
		limit(m.z[i], m.dz[i])
	}
	for n := range m.r {
		if m.fixed[n] {
			continue
		}
		limit(m.r[n]-m.lo[n], m.dr[n])
		limit(m.wl[n], m.dwl[n])
		if !math.IsInf(m.hi[n], 1) {
			limit(m.hi[n]-m.r[n], -m.dr[n])
			limit(m.wh[n], m.dwh[n])
		}
	}
	return size
}

func (m *barrier) move(size float64) {
	for _, s := range [][2][]float64{{m.v, m.dv}, {m.z, m.dz}, {m.r, m.dr}, {m.y, m.dy}, {m.wl, m.dwl}, {m.wh, m.dwh}} {
		floats.AddScaled(s[0], size, s[1])
	}
}

// residual is the norm of all equations at μ.
func (m *barrier) residual(mu float64) float64 {
	sum := 0.0
	add := func(x float64) { sum += x * x }
	for i, e := range m.ends {
		add(-m.slope(i, m.v[i]) + m.y[e[0]] + m.y[e[1]] - m.z[i])
		add(m.v[i]*m.z[i] - mu)
	}
	for n, x := range m.excess() {
		add(x)
		if m.fixed[n] {
			continue
		}
		add(m.y[n] + m.wl[n] - m.wh[n])
		add(m.below(n) - mu)
		if !math.IsInf(m.hi[n], 1) {
			add(m.above(n) - mu)
		}
	}
	return math.Sqrt(sum)
}
