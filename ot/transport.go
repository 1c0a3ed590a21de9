package ot

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu"
	"coupling/lab/device/cpu/dense"
	"coupling/ot/cost"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
)

// transport is a plan as potentials, which makes rows of T and products with it:
//
//	T_ij = exp((αᵢ+βⱼ−cᵢⱼ)/ε) = aᵢ bⱼ exp((fᵢ+gⱼ−cᵢⱼ)/ε).
type transport struct {
	geometry    cost.Geometry // of the problem
	g           cost.Geometry // that own belongs to: the problem's, or its reduced costs
	a, b        []float64     // normalised weights
	eps         float64
	alpha, beta []float64 // −Inf where the weight is 0; those of the last target of positive weight is 0
	f, gee      []float64 // the potentials of the KL form
	own         []float64 // β in the solver's own gauge, relative to reduced costs where rebased
	lse         []float64 // ε log Σⱼ exp((βⱼ−cᵢⱼ)/ε) in that gauge; nil where T1 is not a
	mass        []float64 // T1
	zeroB       []int     // where b is 0
	cost        cost.Stats
	marginalL1  float64
	memory      *semidual.Memory
}

// newTransport is the plan of the last eval(beta, 1), with the masses of its rows; nil is a.
func newTransport(s *semidual.Function, beta, mass []float64, marginalL1 float64) *transport {
	p := &transport{
		geometry: semidual.Underneath(s.G), g: s.G, a: s.A, b: s.B, eps: s.Eps, own: s.Memory.Clone(beta), mass: mass, zeroB: s.ZeroB, cost: s.Cost,
		marginalL1: marginalL1, memory: s.Memory,
	}
	if mass == nil {
		p.mass = p.a
	}
	p.potentials(s)
	if mass == nil {
		p.lse = p.memory.Floats(s.N)
		kern.Scale(p.lse, -1, p.f)
	}
	if r, ok := s.G.(*semidual.ReducedCosts); ok {
		r.AddBase(p.alpha, p.beta)
		r.AddBase(p.f, p.gee)
	}
	if mass == nil {
		p.gauge()
	}
	return p
}

// potentials fills those of the costs of s.
func (p *transport) potentials(s *semidual.Function) {
	p.alpha, p.beta = p.memory.Clone(s.Alpha), p.memory.Clone(p.own)
	p.f, p.gee = p.memory.Zeros(s.N), p.memory.Zeros(s.M)
	for i, a := range s.A {
		if a > 0 {
			p.f[i] = p.alpha[i] - s.Eps*math.Log(a)
			continue
		}
		w := s.Rows.Scratch[0]
		mx, sum := rows.Softmax(w.Exp, p.own, s.G.Row(i, w.Cost), 1/s.Eps)
		p.f[i] = -mx - s.Eps*math.Log(sum)
	}
	var empty []int
	for j, b := range s.B {
		if b > semidual.ColumnUnderflow {
			p.gee[j] = p.beta[j] - s.Eps*s.LogB[j]
		} else {
			empty = append(empty, j)
		}
	}
	if empty != nil {
		s.SoftminColumns(empty, func(k int, v float64) {
			j := empty[k]
			p.gee[j] = v
			if s.B[j] > 0 { // its column is lost to rounding; use the potential that is best for α
				p.own[j] = v + s.Eps*s.LogB[j]
				p.beta[j] = p.own[j]
			}
		})
	}
}

// gauge shifts α and β so that the last β of positive weight is 0, and f and g so that <a,f> = <b,g>.
func (p *transport) gauge() {
	last := 0.0
	for j, b := range p.b {
		if b > 0 {
			last = p.beta[j]
		}
	}
	rows.Shift(p.alpha, last)
	rows.Shift(p.beta, -last)
	balance(p.a, p.f, p.b, p.gee)
}

// balance shifts u and v oppositely so that <a,u> = <b,v>.
func balance(a, u, b, v []float64) {
	d := (rows.Dot(a, u) - rows.Dot(b, v)) / 2
	rows.Shift(u, -d)
	rows.Shift(v, d)
}

// dims returns the number of sources and of targets.
func (p *transport) dims() (n, m int) { return len(p.a), len(p.b) }

// sweep prepares a sweep over the rows.
func (p *transport) sweep() *semidual.Sweep { return semidual.NewSweep(p.g, 0, p.memory) }

// points returns the geometry if it is one of points, else nil.
func (p *transport) points() *cost.Cloud {
	if g, ok := p.geometry.(cost.Pointed); ok {
		return g.Cloud()
	}
	return nil
}

// exponentials writes exp((βⱼ−cⱼ−ref)/ε) to dst, of row i's costs c, and returns ref and the sum.
func (p *transport) exponentials(i int, dst, c []float64) (ref, sum float64) {
	if p.lse != nil {
		ref = p.lse[i]
		if sum = kern.RowExpScaled(dst, p.own, c, ref, 1/p.eps); sum > 0.5 && sum < 2 {
			return ref, sum
		}
	}
	return rows.Softmax(dst, p.own, c, 1/p.eps)
}

// row writes row i of T to dst and returns the costs of the row, relative to the plan's base, and ref and scale with
// T_ij = scale·exp((βⱼ−cᵢⱼ−ref)/ε). cost is scratch.
func (p *transport) row(i int, dst, cost []float64) (c []float64, ref, scale float64) {
	c = p.g.Row(i, cost)
	if p.mass[i] == 0 {
		clear(dst)
		return c, 0, 0
	}
	ref, sum := p.exponentials(i, dst, c)
	scale = p.mass[i] / sum
	kern.Scale(dst, scale, dst)
	return c, ref, scale
}

// logRow writes row i of T and of log T relative to a common factor of the row, 0 where T is 0 for want of weight.
func (p *transport) logRow(i int, t, logT, cost []float64) {
	c := p.g.Row(i, cost)
	ref, sum := p.exponentials(i, t, c)
	kern.Scale(t, p.mass[i]/sum, t)
	kern.RowLogits(logT, p.own, c, 1)
	rows.Subtract(logT, ref)
	kern.Scale(logT, 1/p.eps, logT)
	for _, j := range p.zeroB {
		logT[j] = 0
	}
	if p.cost.Forbidden {
		rows.SkipForbidden(logT, c)
	}
}

// eachLog calls f with every row of T and of log T, from several goroutines.
func (p *transport) eachLog(f func(i int, t, logT []float64)) {
	_, m := p.dims()
	p.sweep().Each(func(w *semidual.Worker, _ int, s rows.Span) {
		logT := w.Room(m)
		for i := s.Lo; i < s.Hi; i++ {
			p.logRow(i, w.Exp, logT, w.Cost)
			f(i, w.Exp, logT)
		}
	})
}

// matrix returns T, n×m, as a new matrix.
func (p *transport) matrix() *mat.Dense {
	n, m := p.dims()
	data := make([]float64, n*m)
	p.sweep().Each(func(w *semidual.Worker, _ int, s rows.Span) {
		for i := s.Lo; i < s.Hi; i++ {
			p.row(i, data[i*m:(i+1)*m], w.Cost)
		}
	})
	return mat.NewDense(n, m, data)
}

// times returns T v.
func (p *transport) times(v []float64) (out []float64) {
	if p.onDevice("Apply", false, func(d *devicePlan) (err error) { out, err = d.times(v); return err }) {
		return out
	}
	out = make([]float64, len(p.a))
	p.sweep().Each(func(w *semidual.Worker, _ int, s rows.Span) {
		for i := s.Lo; i < s.Hi; i++ {
			p.row(i, w.Exp, w.Cost)
			out[i] = kern.Dot(w.Exp, v)
		}
	})
	return out
}

// timesT returns Tᵀu.
func (p *transport) timesT(u []float64) (out []float64) {
	if p.onDevice("ApplyT", false, func(d *devicePlan) (err error) { out, err = d.timesT(u); return err }) {
		return out
	}
	out = make([]float64, len(p.b))
	p.sweep().Columns(out, func(w *semidual.Worker, _ int, s rows.Span, sum []float64) {
		for i := s.Lo; i < s.Hi; i++ {
			p.row(i, w.Exp, w.Cost)
			kern.Axpy(sum, u[i], w.Exp)
		}
	})
	return out
}

// barycentric returns Σⱼ T_ij yⱼ / Σⱼ T_ij, the limit of a vanishing weight where it is 0.
func (p *transport) barycentric(y *mat.Dense) (out *mat.Dense) {
	if p.onDevice("Barycentric", false, func(d *devicePlan) (err error) { out, err = d.barycentric(y); return err }) {
		return out
	}
	n, m := p.dims()
	_, d := y.Dims()
	out = mat.NewDense(n, d, nil)
	target := dense.View(y)
	p.blocks(nil, func(w *semidual.Worker, _, lo, hi int) {
		t := w.Block[:(hi-lo)*m]
		for i := lo; i < hi; i++ {
			row := t[(i-lo)*m : (i-lo+1)*m]
			_, sum := p.exponentials(i, row, p.g.Row(i, w.Cost))
			kern.Scale(row, 1/sum, row)
		}
		w.Gemm.Add(dense.View(out).Slice(lo, hi), 1, cpu.Dense(t, hi-lo, m), target)
	})
	return out
}

// blockRows is how many rows of T are made for one matrix product.
const blockRows = 32

// blocks calls f with every block of at most blockRows rows [lo, hi), from several goroutines, each
// with room for the block in its worker. The blocks of a span come in order, from one goroutine; a
// nil sw means a sweep of the plan's own rows.
func (p *transport) blocks(sw *semidual.Sweep, f func(w *semidual.Worker, k, lo, hi int)) {
	if sw == nil {
		sw = p.sweep()
	}
	_, m := p.dims()
	sw.Each(func(w *semidual.Worker, k int, s rows.Span) {
		w.Room(blockRows * m)
		for lo := s.Lo; lo < s.Hi; lo += blockRows {
			f(w, k, lo, min(s.Hi, lo+blockRows))
		}
	})
}

// laplacian writes D v = Diag(col) v − Tᵀ(T v / T1), in one pass over the plan.
func (p *transport) laplacian(dst, v, col []float64) {
	if p.onDevice("a product", false, func(d *devicePlan) error { return d.laplacian(dst, v, col) }) {
		return
	}
	p.sweep().Columns(dst, func(w *semidual.Worker, _ int, s rows.Span, sum []float64) {
		for i := s.Lo; i < s.Hi; i++ {
			if p.mass[i] > 0 {
				p.row(i, w.Exp, w.Cost)
				kern.Axpy(sum, kern.Dot(w.Exp, v)/p.mass[i], w.Exp)
			}
		}
	})
	for j, c := range col {
		dst[j] = c*v[j] - dst[j]
	}
}

// sumsOf are sums over T: <T,c>, Σ T log T, KL(T|abᵀ) and ΣT.
type sumsOf struct{ Sharp, SumPlogP, KL, Mass float64 }

// sums returns the sums over T: Sharp, KL, SumPlogP and Mass.
func (p *transport) sums() sumsOf {
	var v sumsOf
	if p.onDevice("Value", true, func(d *devicePlan) (err error) { v, err = d.values(); return err }) {
		return v
	}
	_, m := p.dims()
	// log(T/ab) = (g − c − ref)/ε + a constant of the row, with g the KL potentials in the gauge of β: small where T is near ab.
	g, logB := p.memory.Zeros(m), p.memory.Zeros(m)
	for j, b := range p.b {
		if b > 0 {
			logB[j] = math.Log(b)
			g[j] = p.own[j] - p.eps*logB[j]
		}
	}
	sw := p.sweep()
	parts := make([]tally, len(sw.Spans))
	sw.Each(func(w *semidual.Worker, k int, s rows.Span) {
		scratch := w.Room(2 * m)
		orig, rel := []float64(nil), scratch[:m]
		if p.g != p.geometry || p.cost.Forbidden {
			orig = scratch[m:]
		}
		q := &parts[k]
		for i := s.Lo; i < s.Hi; i++ {
			mass := p.mass[i]
			if mass == 0 {
				continue
			}
			c, ref, scale := p.row(i, w.Exp, w.Cost)
			kern.RowLogits(rel, g, c, 1)
			rows.Subtract(rel, ref)
			if p.cost.Forbidden {
				rows.SkipForbidden(rel, c)
			}
			if orig != nil {
				c = p.geometry.Row(i, orig)
			}
			if p.cost.Forbidden {
				copy(orig, c)
				rows.SkipForbidden(orig, c)
				c = orig
			}
			logA := math.Log(p.a[i])
			kl := kern.Dot(w.Exp, rel)/p.eps + mass*(math.Log(scale)-logA)
			q.sharp.Add(kern.Dot(w.Exp, c))
			q.kl.Add(kl)
			q.tlogt.Add(kl + mass*logA + kern.Dot(w.Exp, logB))
			q.mass.Add(mass)
		}
	})
	var all tally
	for _, q := range parts {
		all.sharp.Join(q.sharp)
		all.kl.Join(q.kl)
		all.tlogt.Join(q.tlogt)
		all.mass.Join(q.mass)
	}
	return sumsOf{Sharp: all.sharp.Value(), KL: all.kl.Value(), SumPlogP: all.tlogt.Value(), Mass: all.mass.Value()}
}

// tally is sums over T.
type tally struct{ sharp, kl, tlogt, mass rows.Sum }
