// Package transport makes rows of a plan from its potentials, and products, sums and projections
// with them, on the host or on the geometry's device.
package transport

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu"
	"coupling/lab/device/cpu/dense"
	"coupling/lab/logspace"
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
)

// kern is the set of vector kernels in use.
var kern cpu.Kernels[float64]

// Plan is a plan as potentials, which makes rows of T and products with it:
//
//	T_ij = exp((αᵢ+βⱼ−cᵢⱼ)/ε) = aᵢ bⱼ exp((fᵢ+gⱼ−cᵢⱼ)/ε).
type Plan struct {
	Geometry    cost.Geometry // of the problem
	Costs       cost.Geometry // that own belongs to: the problem's, or its reduced costs
	A, B        []float64     // normalised weights
	Eps         float64
	Alpha, Beta []float64 // −Inf where the weight is 0; those of the last target of positive weight is 0
	F, G        []float64 // the potentials of the KL form
	Own         []float64 // β in the solver's own gauge, relative to reduced costs where rebased
	OwnAlpha    []float64 // its α
	Mass        []float64 // T1
	zeroB       []int     // where b is 0
	Cost        geometry.Stats
	MarginalL1  float64
	Memory      *semidual.Memory
}

// New is the plan of the last eval(beta, 1), with the masses of its rows; nil is a.
func New(s *semidual.Function, beta, mass []float64, marginalL1 float64) *Plan {
	p := &Plan{
		Geometry:   semidual.Underneath(s.G),
		Costs:      s.G,
		A:          s.A,
		B:          s.B,
		Eps:        s.Eps,
		Own:        s.Memory.Clone(beta),
		OwnAlpha:   s.Memory.Clone(s.Alpha),
		Mass:       mass,
		zeroB:      s.ZeroB,
		Cost:       s.Cost,
		MarginalL1: marginalL1,
		Memory:     s.Memory,
	}
	if mass == nil {
		p.Mass = p.A
	}
	p.potentials(s)
	if r, ok := s.G.(*semidual.ReducedCosts); ok {
		r.AddBase(p.Alpha, p.Beta)
		r.AddBase(p.F, p.G)
	}
	if mass == nil {
		p.gauge()
	}
	return p
}

// potentials fills those of the costs of s.
func (p *Plan) potentials(s *semidual.Function) {
	p.Alpha, p.Beta = p.Memory.Clone(s.Alpha), p.Memory.Clone(p.Own)
	p.F, p.G = p.Memory.Zeros(s.N), p.Memory.Zeros(s.M)
	grid := s.GridSoftmin(p.Own)
	for i, a := range s.A {
		if a > 0 {
			p.F[i] = p.Alpha[i] - s.Eps*s.LogA[i]
			continue
		}
		if grid != nil {
			p.F[i] = grid[i]
			continue
		}
		w := s.Rows.Scratch[0]
		mx, sum := rows.Softmax(w.Exp, p.Own, s.G.Row(i, w.Cost), 1/s.Eps)
		p.F[i] = -mx - s.Eps*logspace.Log(sum)
	}
	var empty []int
	for j, b := range s.Wanted() {
		if b > semidual.ColumnUnderflow {
			p.G[j] = p.Beta[j] - s.Eps*s.LogB[j]
		} else {
			empty = append(empty, j)
		}
	}
	if empty != nil {
		s.SoftminColumns(empty, func(k int, v float64) { p.G[empty[k]] = v })
	}
}

// gauge shifts α and β so that the last β of positive weight is 0, and f and g so that <a,f> = <b,g>.
func (p *Plan) gauge() {
	last := 0.0
	for j, b := range p.B {
		if b > 0 {
			last = p.Beta[j]
		}
	}
	rows.Shift(p.Alpha, last)
	rows.Shift(p.Beta, -last)
	Balance(p.A, p.F, p.B, p.G)
}

// Balance shifts u and v oppositely so that <a,u> = <b,v>.
func Balance(a, u, b, v []float64) {
	d := (rows.Dot(a, u) - rows.Dot(b, v)) / 2
	rows.Shift(u, -d)
	rows.Shift(v, d)
}

// Dims returns the number of sources and of targets.
func (p *Plan) Dims() (n, m int) { return len(p.A), len(p.B) }

// Sweep prepares a sweep over the rows.
func (p *Plan) Sweep() *semidual.Sweep { return semidual.NewSweep(p.Costs, 0, p.Memory) }

// Points returns the geometry if it is one of points, else nil.
func (p *Plan) Points() *geometry.Cloud {
	if g, ok := p.Geometry.(geometry.Pointed); ok {
		return g.Points()
	}
	return nil
}

// Row writes row i of T to dst. cost is scratch.
func (p *Plan) Row(i int, dst, cost []float64) {
	if p.Mass[i] == 0 {
		clear(dst)
		return
	}
	_, sum := rows.Softmax(dst, p.Own, p.Costs.Row(i, cost), 1/p.Eps)
	kern.Scale(dst, p.Mass[i]/sum, dst)
}

// Arcs are the pairs of a source, those that the geometry lists or all, with their costs relative to the plan's base.
type Arcs struct {
	Targets []int32 // nil for all
	Costs   []float64
	T       []float64 // a row of T, in the scratch of a worker
	Ref     float64
	Sum     float64 // Σ exp((β−cost−Ref)/ε)
}

// Arcs returns the pairs of source i and their entries of T.
func (p *Plan) Arcs(w *semidual.Worker, i int) Arcs {
	a := p.Relative(w, i)
	if p.Mass[i] == 0 {
		clear(a.T)
	} else {
		kern.Scale(a.T, p.Mass[i]/a.Sum, a.T)
	}
	return a
}

// Relative is Arcs with exp((β−cost−Ref)/ε) in place of T, also where the source has no weight.
func (p *Plan) Relative(w *semidual.Worker, i int) (a Arcs) {
	own := p.Own
	if a.Targets, a.Costs = semidual.Arcs(p.Costs, i, w.Cost); a.Targets != nil {
		own = a.Gather(w.Cost, own)
	}
	a.T = w.Exp[:len(a.Costs)]
	a.Ref, a.Sum = rows.Softmax(a.T, own, a.Costs, 1/p.Eps)
	return a
}

// CostAt returns the cost from source i to target j, relative to the plan's base; buf is scratch.
func (p *Plan) CostAt(i, j int, buf []float64) float64 {
	to, c := semidual.Arcs(p.Costs, i, buf)
	if to == nil {
		return c[j]
	}
	if k, ok := slices.BinarySearch(to, int32(j)); ok {
		return c[k]
	}
	return math.Inf(1)
}

// Gather returns the entries of v at the targets, in buf where they are listed.
func (a *Arcs) Gather(buf, v []float64) []float64 {
	if a.Targets == nil {
		return v
	}
	for k, j := range a.Targets {
		buf[k] = v[j]
	}
	return buf[:len(a.Targets)]
}

// entries returns row i of T, at the listed pairs where the geometry lists them.
func (p *Plan) entries(w *semidual.Worker, i int) laplacian.Row {
	a := p.Arcs(w, i)
	return laplacian.Row{Idx: a.Targets, Val: a.T}
}

// LogRow writes row i of T and of log T relative to a common factor of the row, 0 where T is 0 for want of weight.
func (p *Plan) LogRow(i int, t, logT, cost []float64) {
	c := p.Costs.Row(i, cost)
	ref, sum := rows.Softmax(t, p.Own, c, 1/p.Eps)
	if sum > 0 {
		kern.Scale(t, p.Mass[i]/sum, t)
	}
	kern.RowLogits(logT, p.Own, c, 1)
	rows.Subtract(logT, ref)
	kern.Scale(logT, 1/p.Eps, logT)
	for _, j := range p.zeroB {
		logT[j] = 0
	}
	if p.Cost.Forbidden {
		rows.SkipForbidden(logT, c)
	}
}

// EachLog calls f with every row of T and of log T, from several goroutines.
func (p *Plan) EachLog(f func(i int, t, logT []float64)) {
	_, m := p.Dims()
	p.Sweep().EachRow(func(w *semidual.Worker, _, i int) {
		logT := w.Room(m)
		p.LogRow(i, w.Exp, logT, w.Cost)
		f(i, w.Exp, logT)
	})
}

// Matrix returns T, n×m, as a new matrix.
func (p *Plan) Matrix() *mat.Dense {
	n, m := p.Dims()
	data := make([]float64, n*m)
	p.Sweep().EachRow(func(w *semidual.Worker, _, i int) { p.Row(i, data[i*m:(i+1)*m], w.Cost) })
	return mat.NewDense(n, m, data)
}

// Times returns T v.
func (p *Plan) Times(v []float64) (out []float64) {
	if p.OnDevice("Apply", false, func(d *DevicePlan) { out = d.Times(v) }) {
		return out
	}
	if p.Separable() {
		return weighted(p.Mass, p.Expect(v, false, false))
	}
	out = make([]float64, len(p.A))
	p.Sweep().EachRow(func(w *semidual.Worker, _, i int) {
		if p.Mass[i] > 0 {
			row := p.entries(w, i)
			out[i] = row.Dot(v)
		}
	})
	return out
}

// TimesT returns Tᵀu.
func (p *Plan) TimesT(u []float64) (out []float64) {
	if p.OnDevice("ApplyT", false, func(d *DevicePlan) { out = d.TimesT(u) }) {
		return out
	}
	if p.Separable() {
		return weighted(p.Columns(), p.Expect(u, true, false))
	}
	out = make([]float64, len(p.B))
	p.columns(out, func(i int, _ laplacian.Row) float64 { return u[i] })
	return out
}

// columns writes Tᵀu for the u that it asks for, given row i of T.
func (p *Plan) columns(dst []float64, u func(i int, row laplacian.Row) float64) {
	p.Sweep().Columns(dst, func(w *semidual.Worker, _ int, s rows.Span, sum []float64) {
		for i := s.Lo; i < s.Hi; i++ {
			if p.Mass[i] > 0 {
				row := p.entries(w, i)
				row.Axpy(sum, u(i, row))
			}
		}
	})
}

// Barycentric returns Σⱼ T_ij yⱼ / Σⱼ T_ij, the limit of a vanishing weight where it is 0.
func (p *Plan) Barycentric(y *mat.Dense) (out *mat.Dense) {
	if p.OnDevice("Barycentric", false, func(d *DevicePlan) { out = d.barycentric(y) }) {
		return out
	}
	n, m := p.Dims()
	_, d := y.Dims()
	out = mat.NewDense(n, d, nil)
	if p.Separable() {
		for k := range d {
			out.SetCol(k, p.Expect(mat.Col(nil, k, y), false, false))
		}
		return out
	}
	target := dense.View(y)
	p.Blocks(nil, func(w *semidual.Worker, _, lo, hi int) {
		t := w.Block[:(hi-lo)*m]
		for i := lo; i < hi; i++ {
			row := t[(i-lo)*m : (i-lo+1)*m]
			_, sum := rows.Softmax(row, p.Own, p.Costs.Row(i, w.Cost), 1/p.Eps)
			kern.Scale(row, 1/sum, row)
		}
		w.Gemm.Add(dense.View(out).Slice(lo, hi), 1, cpu.Dense(t, hi-lo, m), target)
	})
	return out
}

// blockRows is how many rows of T are made for one matrix product.
const blockRows = 32

// Blocks calls f with every block of at most blockRows rows [lo, hi), from several goroutines, each
// with room for the block in its worker. The blocks of a span come in order, from one goroutine; a
// nil sw means a sweep of the plan's own rows.
func (p *Plan) Blocks(sw *semidual.Sweep, f func(w *semidual.Worker, k, lo, hi int)) {
	if sw == nil {
		sw = p.Sweep()
	}
	_, m := p.Dims()
	sw.Each(func(w *semidual.Worker, k int, s rows.Span) {
		w.Room(blockRows * m)
		for lo := s.Lo; lo < s.Hi; lo += blockRows {
			f(w, k, lo, min(s.Hi, lo+blockRows))
		}
	})
}

// Laplacian writes D v = Diag(col) v − Tᵀ(T v / T1), in one pass over the plan.
func (p *Plan) Laplacian(dst, v, col []float64) {
	if p.Separable() {
		back := p.Expect(p.Expect(v, false, false), true, false)
		for j, c := range col { // those of T
			dst[j] = c * (v[j] - back[j])
		}
		return
	}
	if p.OnDevice("a product", false, func(d *DevicePlan) { d.Laplacian(dst, v, col) }) {
		return
	}
	p.columns(dst, func(i int, row laplacian.Row) float64 { return row.Dot(v) / p.Mass[i] })
	for j, c := range col {
		dst[j] = c*v[j] - dst[j]
	}
}

// Sums are sums over T: <T,c>, Σ T log T, KL(T|abᵀ) and ΣT.
type Sums struct{ Sharp, SumPlogP, KL, Mass float64 }

// Sums returns the sums over T: Sharp, KL, SumPlogP and Mass.
func (p *Plan) Sums() Sums {
	var v Sums
	if p.OnDevice("Value", true, func(d *DevicePlan) { v = d.Values() }) {
		return v
	}
	if p.Separable() {
		return p.gridSums()
	}
	_, m := p.Dims()
	// log(T/ab) = (g − c − ref)/ε + a constant of the row, with g the KL potentials in the gauge of
	// β: small where T is near ab.
	g, logB := p.Memory.Zeros(m), p.Memory.Zeros(m)
	for j, b := range p.B {
		if b > 0 {
			logB[j] = logspace.Log(b)
			g[j] = p.Own[j] - p.Eps*logB[j]
		}
	}
	sw := p.Sweep()
	parts := make([][4]rows.Sum, len(sw.Spans))
	sw.EachRow(func(w *semidual.Worker, k, i int) {
		mass := p.Mass[i]
		if mass == 0 {
			return
		}
		scratch := w.Room(2 * m)
		a := p.Arcs(w, i)
		rel, c := scratch[:len(a.T)], a.Costs
		kern.RowLogits(rel, a.Gather(w.Cost, g), c, 1)
		rows.Subtract(rel, a.Ref)
		orig := scratch[m:][:len(c)]
		if p.Cost.Forbidden {
			rows.SkipForbidden(rel, c)
		}
		if p.Costs != p.Geometry {
			_, c = semidual.Arcs(p.Geometry, i, orig)
		}
		if p.Cost.Forbidden {
			copy(orig, c)
			rows.SkipForbidden(orig, c)
			c = orig
		}
		logA := logspace.Log(p.A[i])
		kl := kern.Dot(a.T, rel)/p.Eps + mass*(logspace.Log(mass/p.A[i])-logspace.Log(a.Sum))
		tlogt := kl + mass*logA + kern.Dot(a.T, a.Gather(w.Cost, logB))
		for q, v := range [...]float64{kern.Dot(a.T, c), tlogt, kl, mass} {
			parts[k][q].Add(v)
		}
	})
	all := rows.Total(parts)
	return Sums{all[0], all[1], all[2], all[3]}
}
