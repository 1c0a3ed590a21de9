package ot

import (
	"math"
	"sync/atomic"
)

// semidual is the transport problem as a function of the target potentials β alone: for given β the source potentials
//
//	αᵢ = ε (log aᵢ − log Σⱼ exp((βⱼ−cᵢⱼ)/ε))
//
// make the rows of T = exp((α⊕β−c)/ε) sum to a exactly; the solve must make the columns sum to b.
// One fused pass over the costs gives α and the column sums, that is, the gradient; every solver of
// this package is a rule for the next β. T is formed as aᵢ·softmaxⱼ((βⱼ−cᵢⱼ)/ε), relative to each
// row's maximum, and never from α, whose rounding would cost |α|/ε units of precision.
type semidual struct {
	*instance
	sw    *sweep
	eps   float64
	alpha []float64 // αᵢ; −Inf where aᵢ = 0
	col   []float64 // Tᵀ1 of the last eval
	part  [][]float64
	left  []atomic.Int32 // how many spans of each group are unfinished
	rowL1 []float64      // each span's Σ|T1−a|, zero unless relaxed
	relax float64        // of the last eval
	evals int
	logB  []float64
	zeroB []int   // where b is 0
	bMin  float64 // the least positive b
	tol   float64 // of the solve

	marginals marginals // nil where rows sum to a and columns are to sum to b
	total     float64   // the mass that errors are relative to

	h        []float64 // m, scratch: β/ε, or scalings
	shift    []float64 // n, log of the row's last sum
	shiftEps float64   // the ε of shift

	chooser
}

func newSemidual(in *instance, workers int) *semidual {
	s := &semidual{
		instance: in,
		sw:       newSweep(in.g, workers, in.memory),
		alpha:    in.memory.zeros(in.n),
		col:      in.memory.zeros(in.m),
		logB:     in.memory.floats(in.m),
		total:    1,
	}
	s.h, s.shift = in.memory.floats(in.m), in.memory.floats(in.n)
	s.part = make([][]float64, len(s.sw.Spans))
	for k := range s.part {
		s.part[k] = in.memory.floats(in.m)
	}
	s.rowL1 = make([]float64, len(s.sw.Spans))
	s.left = make([]atomic.Int32, (len(s.sw.Spans)+groupSpans-1)/groupSpans)
	s.setNarrow(in.g)
	s.bMin = math.Inf(1)
	for j, v := range in.b {
		s.logB[j] = math.Log(v)
		if v > 0 {
			s.bMin = min(s.bMin, v)
		}
	}
	s.listZeros()
	return s
}

// marginals are those of a problem in which T1 is not a.
type marginals interface {
	// mass sets αᵢ from the row's soft maximum and returns (T1)ᵢ.
	mass(i int, softmax float64) float64
	// finishEval completes an evaluation after every mass and column sum, and returns its error.
	finishEval() float64
}

// listZeros notes the targets of weight 0.
func (s *semidual) listZeros() {
	s.zeroB = s.zeroB[:0]
	for j, b := range s.b {
		if b == 0 {
			s.zeroB = append(s.zeroB, j)
		}
	}
}

// groupSpans is the number of spans in a group. The goroutine that finishes a group's last span
// adds up its column sums, so that few sums remain for the serial part.
const groupSpans = 8

// columns calls f for every span with a vector that f adds its columns to, and sums the vectors by
// group.
func (s *semidual) columns(f func(w *worker, k int, r span, part []float64)) {
	for g := range s.left {
		s.left[g].Store(int32(min(groupSpans, len(s.part)-g*groupSpans)))
	}
	s.sw.Each(func(w *worker, k int, r span) {
		clear(s.part[k])
		s.rowL1[k] = 0
		f(w, k, r, s.part[k])
		g := k / groupSpans
		if s.left[g].Add(-1) > 0 {
			return
		}
		first := g * groupSpans
		for _, p := range s.part[first+1 : min(first+groupSpans, len(s.part))] {
			kern.Axpy(s.part[first], 1, p)
		}
	})
}

// eval computes α and the column sums at β, by the pass that the chooser takes, and returns the L1
// error of the marginals. relax = 1 takes the exact α; other values move α from the last eval by
// that multiple of the exact step (successive over-relaxation); rows then do not sum to a exactly,
// and the error includes their deviation.
func (s *semidual) eval(beta []float64, relax float64) float64 {
	s.evals++
	s.relax = relax
	p := s.choose(beta)
	err := p.eval(s, beta)
	s.record(p, beta)
	if s.marginals != nil {
		err = s.marginals.finishEval()
	}
	return err
}

// allPairs is the pass over every cost in float64. On its way it fills a list of the larger entries
// of T, or a stored kernel, for later passes; nil for none.
type allPairs struct {
	list   *sparseKernel
	kernel *denseKernel
}

func (*allPairs) certifies() bool { return true }

func (p *allPairs) eval(s *semidual, beta []float64) float64 {
	list, kernel := p.list, p.kernel
	all := targets{g: s.g, beta: beta, h: s.h}
	limit := s.sparseBudget()/len(s.sw.Spans) + 1
	s.prepare(beta)
	s.columns(func(w *worker, k int, r span, part []float64) {
		for i := r.Lo; i < r.Hi; i++ {
			if s.a[i] == 0 {
				s.alpha[i] = math.Inf(-1)
				if list != nil {
					list.spans[k].skip()
				}
				continue
			}
			e := w.exp
			if kernel != nil && !kernel.single {
				e = kernel.data[i*s.m : (i+1)*s.m]
			}
			sum, ref := s.row(w, e, i, &all)
			mass := s.setAlpha(k, i, ref+s.eps*math.Log(sum))
			kern.Axpy(part, mass/sum, e)
			if kernel != nil {
				kernel.put(i, e, sum, ref)
			}
			if list != nil {
				list.spans[k].collect(e, s.b, s.bMin, sum, mass, ref, list.cut, limit)
			}
		}
	})
	if list != nil {
		s.settle(list)
	}
	err := s.rowError() + s.reduce(nil)
	if kernel != nil {
		s.dropIfUnderflowed(kernel)
	}
	return err
}

// setAlpha sets αᵢ from the row's soft maximum and returns the row's mass: aᵢ, unless relaxed or
// penalised.
func (s *semidual) setAlpha(k, i int, lse float64) float64 {
	if s.marginals != nil {
		return s.marginals.mass(i, lse)
	}
	a := s.a[i]
	exact := s.eps*math.Log(a) - lse
	if s.relax == 1 {
		s.alpha[i] = exact
		return a
	}
	step := (s.relax - 1) * (exact - s.alpha[i])
	s.alpha[i] = exact + step
	mass := a * math.Exp(step/s.eps)
	s.rowL1[k] += math.Abs(mass - a)
	return mass
}

func (s *semidual) rowError() float64 {
	var err float64
	for _, v := range s.rowL1 {
		err += v
	}
	return err
}

// reduce adds up the groups' column sums, in order, times the scalings v (nil: 1), and returns Σ|col−b|.
func (s *semidual) reduce(v []float64) float64 {
	copy(s.col, s.part[0])
	for k := groupSpans; k < len(s.part); k += groupSpans {
		kern.Axpy(s.col, 1, s.part[k])
	}
	if v != nil {
		kern.Mul(s.col, s.col, v)
	}
	for _, j := range s.zeroB {
		s.col[j] = 0
	}
	return kern.L1Diff(s.col, s.b)
}

// columnUnderflow is the column sum below which exponentials that were cut off at expFloor may not
// be negligible.
const columnUnderflow = 1e-280

// sinkhorn moves β by relax times the Sinkhorn step, which makes the columns exact for the α of the last eval. It is
// an ascent step of the dual from any β.
func (s *semidual) sinkhorn(beta []float64, relax float64) {
	var lost []int
	for j, c := range s.col {
		switch {
		case s.b[j] == 0:
		case c < columnUnderflow:
			lost = append(lost, j)
		default:
			beta[j] += relax * s.eps * (s.logB[j] - math.Log(c))
		}
	}
	if lost != nil {
		s.softminColumns(lost, func(k int, v float64) { beta[lost[k]] = s.eps*s.logB[lost[k]] + v })
	}
}

// softminColumns calls set(k, −ε log Σᵢ exp((αᵢ−cᵢⱼ)/ε)) for every j = cols[k], by a separate pass
// in the log domain, for columns whose sums underflow in the fused pass.
func (s *semidual) softminColumns(cols []int, set func(k int, v float64)) {
	if s.onDevice() && s.dev.softminColumns(s, cols, set) {
		return
	}
	mx := make([]float64, len(cols))
	sum := make([]float64, len(cols))
	for k := range mx {
		mx[k] = math.Inf(-1)
	}
	buf := s.sw.Scratch[0].cost
	for i := range s.n {
		if s.a[i] == 0 {
			continue
		}
		c := s.g.Row(i, buf)
		for k, j := range cols {
			switch v := s.alpha[i] - c[j]; {
			case v > mx[k]:
				sum[k] = sum[k]*math.Exp((mx[k]-v)/s.eps) + 1
				mx[k] = v
			case !math.IsInf(v, -1): // a forbidden pair
				sum[k] += math.Exp((v - mx[k]) / s.eps)
			}
		}
	}
	for k := range cols {
		set(k, -mx[k]-s.eps*math.Log(sum[k]))
	}
}

// maxColumnLogError returns the largest |log (Tᵀ1)ⱼ/bⱼ| over the columns. Those of weight up to columnUnderflow are left out:
// they get the potentials of a vanishing weight.
func (s *semidual) maxColumnLogError() float64 {
	var worst float64
	for j, b := range s.b {
		if b > columnUnderflow {
			worst = max(worst, math.Abs(math.Log(s.col[j])-s.logB[j]))
		}
	}
	return worst
}

// start returns the first β for ε = s.eps from KL-form potentials g (nil: 0), −Inf where b is 0.
func (s *semidual) start(g []float64) []float64 {
	beta := s.memory.floats(s.m)
	for j := range beta {
		beta[j] = s.eps * s.logB[j] // −Inf where b is 0
		if g != nil && s.b[j] > 0 {
			beta[j] += g[j]
		}
	}
	return beta
}

// setEps changes ε and keeps the KL-form potentials, which vary slowly with it.
func (s *semidual) setEps(beta []float64, eps float64) {
	for j, v := range s.logB {
		if s.b[j] > 0 {
			beta[j] += (eps - s.eps) * v
		}
	}
	s.eps = eps
}

// gradient writes Tᵀ1 − b, the gradient of the negated semi-dual.
func (s *semidual) gradient(dst []float64) {
	copy(dst, s.col)
	kern.Axpy(dst, -1, s.b)
}

// logColumns writes the logarithms of the column sums of the last evaluation.
func (s *semidual) logColumns(dst, beta []float64) {
	var lost []int
	for j, c := range s.col {
		if dst[j] = math.Log(c); c < columnUnderflow {
			lost = append(lost, j)
		}
	}
	if lost != nil {
		s.softminColumns(lost, func(k int, v float64) { dst[lost[k]] = (beta[lost[k]] - v) / s.eps })
	}
}
