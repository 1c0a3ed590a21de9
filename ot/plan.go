package ot

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu"
	"coupling/lab/device/cpu/dense"
	"coupling/ot/cost"
	"coupling/ot/internal/rows"
)

// Plan is the entropic transport plan of a problem,
//
//	T_ij = exp((αᵢ+βⱼ−cᵢⱼ)/ε) = aᵢ bⱼ exp((fᵢ+gⱼ−cᵢⱼ)/ε),
//
// kept as potentials: the n×m matrix is made only by Matrix. Every method makes rows of T relative
// to the row's maximum, so that potentials and costs of any size relative to ε are safe. A Plan is
// not changed by its methods and is safe for concurrent use.
type Plan struct {
	// Geometry and the normalised weights that were solved.
	Geometry Geometry
	A, B     []float64
	// Eps is the ε of the plan, in units of cost.
	Eps float64
	// Alpha and Beta are the potentials of the first form; the Beta of the last target of positive weight is 0.
	// They are −Inf where the weight is 0.
	Alpha, Beta []float64
	// F and G are the potentials of the KL form, with <A,F> = <B,G>; where the weight is 0 they are the
	// softmin that a vanishing weight would have, which is finite.
	F, G []float64
	// Status says whether the solve converged.
	Status Status
	// Solver names the method that made the plan.
	Solver string
	// Iterations counts steps of the method, Evaluations passes over the costs.
	Iterations, Evaluations int
	// MarginalL1 is Σ|T1−a| + Σ|Tᵀ1−b|.
	MarginalL1 float64

	beta       []float64 // β in the solver's own gauge, relative to reduced costs where rebased
	memory     *memory
	lse        []float64 // ε log Σⱼ exp((βⱼ−cᵢⱼ)/ε) in that gauge; nil for unbalanced plans
	mass       []float64 // T1
	zeroB      []int     // where b is 0
	unbalanced bool      // T1 is not a; its marginal penalties follow
	rhoA, rhoB float64
	shift      float64  // of α and F, see unbalanced
	g          Geometry // the geometry that beta belongs to
	cost       cost.Stats

	once   sync.Once
	values Values
}

// NewPlan returns the plan of p at ε that has the KL potentials g of the m targets (finite), for
// solvers outside this package: its rows sum to A for every g, and MarginalL1 is the L1 deviation
// of its columns from B. The solver fills Status, Solver and Iterations. Cost: two passes.
func NewPlan(p Problem, eps float64, g []float64) (*Plan, error) {
	r, err := controls{Eps: eps, Anneal: 1, Start: g}.begin(context.Background(), p)
	if err != nil {
		return nil, err
	}
	r.evalOnce()
	return r.finish("", r.s.deviceFailure())
}

// At returns the plan from new sources, the rows of z (k×d), of equal weights, with the potentials
// of this plan's targets: its F holds the potentials at z, its Barycentric is where each row of z
// goes on average, its Matrix is their conditional distributions over k, and Sample draws from
// them. The geometry must be one of points, and the plan balanced.
func (p *Plan) At(z *mat.Dense) (*Plan, error) {
	c, err := p.cloud()
	if err != nil {
		return nil, err
	}
	return p.extend(MatrixFree(z, c.Y(), c.Kind), p.B, p.G)
}

// AtTargets is At for new targets: the plan from the rows of z, of equal weights, to this plan's sources.
func (p *Plan) AtTargets(z *mat.Dense) (*Plan, error) {
	c, err := p.cloud()
	if err != nil {
		return nil, err
	}
	return p.extend(MatrixFree(z, c.X(), cost.Reversed(c.Kind)), p.A, p.F)
}

func (p *Plan) extend(g *PointCloud, b, potential []float64) (*Plan, error) {
	if p.unbalanced {
		return nil, bad(ErrUnsupported, "extension of an unbalanced plan: only balanced plans are extended")
	}
	q, err := NewPlan(Problem{Geometry: g, B: b}, p.Eps, potential)
	if err != nil {
		return nil, err
	}
	j := slices.IndexFunc(q.B, func(b float64) bool { return b > 0 })
	by := potential[j] - q.G[j] // to the gauge of p
	shift(q.G, by)
	shift(q.F, -by)
	q.Solver = p.Solver
	return q, nil
}

// String returns one line that says how the solve ended.
func (p *Plan) String() string {
	return fmt.Sprintf("%s: %v, %d×%d, ε = %.4g, L1 error %.3g after %d iterations, %d evaluations",
		p.Solver, p.Status, len(p.A), len(p.B), p.Eps, p.MarginalL1, p.Iterations, p.Evaluations)
}

// finish makes the plan of the last eval(beta, 1).
func (s *semidual) finish(beta []float64, out *Plan) *Plan {
	out.Geometry, out.A, out.B, out.Eps = s.g, s.a, s.b, s.eps
	out.Evaluations = s.evals
	out.g, out.beta, out.mass, out.cost = s.g, s.memory.clone(beta), s.a, s.cost
	if r, ok := s.g.(*reducedCosts); ok {
		out.Geometry = r.of
	}
	if s.marginals != nil {
		s.marginals.complete(out)
	}
	out.potentials(s)
	out.gauge()
	return out
}

// potentials fills Alpha, Beta, F and G from s and p.beta.
func (p *Plan) potentials(s *semidual) {
	p.zeroB, p.memory = s.zeroB, s.memory
	p.Alpha, p.Beta = p.memory.clone(s.alpha), p.memory.clone(p.beta)
	p.F, p.G = p.memory.zeros(s.n), p.memory.zeros(s.m)
	for i, a := range s.a {
		if a > 0 {
			p.F[i] = p.Alpha[i] - s.eps*math.Log(a)
			continue
		}
		w := s.sw.Scratch[0]
		mx, sum := softmaxRow(w.exp, p.beta, s.g.Row(i, w.cost), 1/s.eps)
		p.F[i] = -mx - s.eps*math.Log(sum)
	}
	var empty []int
	for j, b := range s.b {
		if b > columnUnderflow {
			p.G[j] = p.Beta[j] - s.eps*s.logB[j]
		} else {
			empty = append(empty, j)
		}
	}
	if empty != nil {
		s.softminColumns(empty, func(k int, v float64) {
			j := empty[k]
			p.G[j] = v
			if s.b[j] > 0 { // its column is lost to rounding; use the potential that is best for α
				p.beta[j] = v + s.eps*s.logB[j]
				p.Beta[j] = p.beta[j]
			}
		})
	}
	if !p.unbalanced {
		p.lse = p.memory.floats(s.n)
		kern.Scale(p.lse, -1, p.F)
	}
	if r, ok := s.g.(*reducedCosts); ok {
		r.addBase(p.Alpha, p.Beta)
		r.addBase(p.F, p.G)
	}
}

// gauge shifts the potentials to the conventions of Plan.
func (p *Plan) gauge() {
	if p.unbalanced {
		p.penalisedGauge()
		return
	}
	last := 0.0
	for j, b := range p.B {
		if b > 0 {
			last = p.Beta[j]
		}
	}
	shift(p.Alpha, last)
	shift(p.Beta, -last)
	d := (rows.Dot(p.A, p.F) - rows.Dot(p.B, p.G)) / 2
	shift(p.F, -d)
	shift(p.G, d)
}

func shift(v []float64, by float64) {
	for i := range v {
		v[i] += by
	}
}

// Dims returns the number of sources and of targets.
func (p *Plan) Dims() (n, m int) { return len(p.A), len(p.B) }

// exponentials writes exp((βⱼ−cⱼ−ref)/ε) to dst, of row i's costs c, and returns ref and the sum.
func (p *Plan) exponentials(i int, dst, c []float64) (ref, sum float64) {
	if p.lse != nil {
		ref = p.lse[i]
		if sum = kern.RowExpScaled(dst, p.beta, c, ref, 1/p.Eps); sum > 0.5 && sum < 2 {
			return ref, sum
		}
	}
	return softmaxRow(dst, p.beta, c, 1/p.Eps)
}

// row writes row i of T to dst and returns the costs of the row, relative to the plan's base, and ref and scale with
// T_ij = scale·exp((βⱼ−cᵢⱼ−ref)/ε). cost is scratch.
func (p *Plan) row(i int, dst, cost []float64) (c []float64, ref, scale float64) {
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
func (p *Plan) logRow(i int, t, logT, cost []float64) {
	c := p.g.Row(i, cost)
	ref, sum := p.exponentials(i, t, c)
	kern.Scale(t, p.mass[i]/sum, t)
	kern.RowLogits(logT, p.beta, c, 1)
	subtract(logT, ref)
	kern.Scale(logT, 1/p.Eps, logT)
	for _, j := range p.zeroB {
		logT[j] = 0
	}
	if p.cost.Forbidden {
		leaveOut(logT, c)
	}
}

// eachLog calls f with every row of T and of log T, from several goroutines.
func (p *Plan) eachLog(f func(i int, t, logT []float64)) {
	_, m := p.Dims()
	p.sweep().Each(func(w *worker, _ int, s span) {
		logT := w.room(m)
		for i := s.Lo; i < s.Hi; i++ {
			p.logRow(i, w.exp, logT, w.cost)
			f(i, w.exp, logT)
		}
	})
}

// Matrix returns T, n×m, as a new matrix.
func (p *Plan) Matrix() *mat.Dense {
	n, m := p.Dims()
	data := make([]float64, n*m)
	p.sweep().Each(func(w *worker, _ int, s span) {
		for i := s.Lo; i < s.Hi; i++ {
			p.row(i, data[i*m:(i+1)*m], w.cost)
		}
	})
	return mat.NewDense(n, m, data)
}

// Apply returns T v, of length n, without the matrix: one pass. v has length m.
func (p *Plan) Apply(v []float64) []float64 {
	n, m := p.Dims()
	mustLen("Plan.Apply", len(v), m)
	var out []float64
	if p.onDevice("Apply", false, func(d *devicePlan) (err error) { out, err = d.times(v); return err }) {
		return out
	}
	out = make([]float64, n)
	p.sweep().Each(func(w *worker, _ int, s span) {
		for i := s.Lo; i < s.Hi; i++ {
			p.row(i, w.exp, w.cost)
			out[i] = dot(w.exp, v)
		}
	})
	return out
}

// ApplyT returns Tᵀu, of length m, without the matrix: one pass. u has length n.
func (p *Plan) ApplyT(u []float64) []float64 {
	n, m := p.Dims()
	mustLen("Plan.ApplyT", len(u), n)
	var out []float64
	if p.onDevice("ApplyT", false, func(d *devicePlan) (err error) { out, err = d.timesT(u); return err }) {
		return out
	}
	out = make([]float64, m)
	p.sweep().Columns(out, func(w *worker, _ int, s span, sum []float64) {
		for i := s.Lo; i < s.Hi; i++ {
			p.row(i, w.exp, w.cost)
			axpy(sum, w.exp, u[i])
		}
	})
	return out
}

// Barycentric returns the barycentric projection, n×d: row i is Σⱼ T_ij yⱼ / Σⱼ T_ij, where source
// i goes on average. y is m×d. A source of weight 0 gets the limit of a vanishing weight.
func (p *Plan) Barycentric(y *mat.Dense) *mat.Dense {
	n, m := p.Dims()
	k, d := y.Dims()
	mustLen("Plan.Barycentric: y", k, m)
	var out *mat.Dense
	if p.onDevice("Barycentric", false, func(d *devicePlan) (err error) { out, err = d.barycentric(y); return err }) {
		return out
	}
	out = mat.NewDense(n, d, nil)
	target := dense.View(y)
	p.blocks(nil, func(w *worker, _, lo, hi int) {
		t := w.block[:(hi-lo)*m]
		for i := lo; i < hi; i++ {
			row := t[(i-lo)*m : (i-lo+1)*m]
			_, sum := p.exponentials(i, row, p.g.Row(i, w.cost))
			kern.Scale(row, 1/sum, row)
		}
		w.gemm.Add(dense.View(out).Slice(lo, hi), 1, cpu.Dense(t, hi-lo, m), target)
	})
	return out
}

// blockRows is how many rows of T are made for one matrix product.
const blockRows = 32

// blocks calls f with every block of at most blockRows rows [lo, hi), from several goroutines, each
// with room for the block in its worker. The blocks of a span come in order, from one goroutine; a
// nil sw means a sweep of the plan's own rows.
func (p *Plan) blocks(sw *sweep, f func(w *worker, k, lo, hi int)) {
	if sw == nil {
		sw = p.sweep()
	}
	_, m := p.Dims()
	sw.Each(func(w *worker, k int, s span) {
		w.room(blockRows * m)
		for lo := s.Lo; lo < s.Hi; lo += blockRows {
			f(w, k, lo, min(s.Hi, lo+blockRows))
		}
	})
}

// Sample draws k pairs (i, j) from T, independently. Cost: k log n, and a row for every source
// drawn.
func (p *Plan) Sample(rng *rand.Rand, k int) (i, j []int) {
	i, j = make([]int, k), make([]int, k)
	n, m := p.Dims()
	cum := floats.CumSum(make([]float64, n), p.mass)
	for s := range i {
		i[s] = draw(rng, cum)
	}
	// Visit the draws by source so that each row is made once; the order of the draws stays random.
	order := make([]int, k)
	for s := range order {
		order[s] = s
	}
	slices.SortStableFunc(order, func(s, t int) int { return i[s] - i[t] })
	t, cost := make([]float64, m), make([]float64, m)
	cum = make([]float64, m)
	last := -1
	for _, s := range order {
		if i[s] != last {
			last = i[s]
			p.row(last, t, cost)
			floats.CumSum(cum, t)
		}
		j[s] = draw(rng, cum)
	}
	return i, j
}

// draw returns an index with probability proportional to the increments of cum.
func draw(rng *rand.Rand, cum []float64) int {
	u := rng.Float64() * cum[len(cum)-1]
	// The first index whose running sum exceeds u, which is never one of zero weight.
	return min(sort.Search(len(cum), func(k int) bool { return cum[k] > u }), len(cum)-1)
}

// mustLen panics when a vector has the wrong length: an index invariant, as in gonum.
func mustLen(name string, got, want int) {
	if got != want {
		panic(bad(ErrShape, "%s: length %d, want %d", name, got, want))
	}
}
