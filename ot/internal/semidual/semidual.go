// Package semidual is the engine of the solvers: the semi-dual function of a transport problem, the
// passes on the host that evaluate it (over all pairs, a stored kernel, a list of entries, patterns
// of trees, in float32), and the chooser that takes the cheapest pass that is exact enough. A
// driver is a rule for the next potentials; passes on a device are devicepass.
package semidual

import (
	"math"
	"slices"

	"coupling/lab/logspace"
	"coupling/ot/internal/rows"
)

// Function is the transport problem as a function of the target potentials β alone: for given β the source potentials
//
//	αᵢ = ε (log aᵢ − log Σⱼ exp((βⱼ−cᵢⱼ)/ε))
//
// make the rows of T = exp((α⊕β−c)/ε) sum to a exactly; the solve must make the columns sum to b.
// One fused pass over the costs gives α and the column sums, that is, the gradient; every solver of
// this package is a rule for the next β. T is formed as aᵢ·softmaxⱼ((βⱼ−cᵢⱼ)/ε), relative to each
// row's maximum, and never from α, whose rounding would cost |α|/ε units of precision.
type Function struct {
	*Instance
	Rows  *Sweep
	Eps   float64
	Alpha []float64 // αᵢ; −Inf where aᵢ = 0
	Col   []float64 // Tᵀ1 of the last eval
	RowL1 []float64 // each span's Σ|T1−a|, zero unless relaxed
	Relax float64   // of the last eval
	Evals int
	LogA  []float64
	LogB  []float64
	ZeroB []int   // where b is 0
	bMin  float64 // the least positive b
	Tol   float64 // of the solve

	Marginals Marginals // nil where rows sum to a and columns are to sum to b
	Total     float64   // the mass that errors are relative to

	H        []float64 // m, scratch: β/ε, or scalings
	shift    []float64 // n, log of the row's last sum; at first as if all costs were the least
	shiftEps float64   // the ε of shift
	ladder   ladder

	chooser
}

// New returns the function of a problem; Eps, Tol and the first β are the driver's to set.
func New(in *Instance, workers int) *Function {
	s := &Function{
		Instance: in,
		Rows:     NewSweep(in.G, workers, in.Memory),
		Alpha:    in.Memory.Zeros(in.N),
		Col:      in.Memory.Zeros(in.M),
		LogA:     in.Memory.Floats(in.N),
		LogB:     in.Memory.Floats(in.M),
		Total:    1,
		shiftEps: 1,
	}
	s.H, s.shift = in.Memory.Floats(in.M), in.Memory.Floats(in.N)
	s.RowL1 = make([]float64, len(s.Rows.Spans))
	s.setGeometry(in.G)
	for i, v := range in.A {
		s.LogA[i], s.shift[i] = logspace.Log(v), -in.Cost.Min
	}
	s.bMin = math.Inf(1)
	for j, v := range in.B {
		s.LogB[j] = logspace.Log(v)
		if v > 0 {
			s.bMin = min(s.bMin, v)
		}
	}
	s.listZeros()
	return s
}

// Marginals are those of a problem in which T1 is not a, nor Tᵀ1 to be b.
type Marginals interface {
	// Mass sets αᵢ from the row's soft maximum and returns (T1)ᵢ.
	Mass(i int, softmax float64) float64
	// FinishEval completes an evaluation after every mass and column sum, and returns its error.
	FinishEval() float64
	// Wanted returns what the column sums of the last evaluation are to be.
	Wanted() []float64
}

// listZeros notes the targets of weight 0.
func (s *Function) listZeros() {
	s.ZeroB = s.ZeroB[:0]
	for j, b := range s.B {
		if b == 0 {
			s.ZeroB = append(s.ZeroB, j)
		}
	}
}

// columns calls f for every span with a vector that f adds its columns to, and sums the vectors to s.Col.
func (s *Function) columns(f func(w *Worker, k int, r rows.Span, part []float64)) {
	clear(s.RowL1)
	s.Rows.Columns(s.Col, f)
}

// eachRow is columns by rows: it calls f for every source of positive weight, and makes the potential of others −∞.
func (s *Function) eachRow(f func(w *Worker, k, i int, part []float64)) {
	s.columns(func(w *Worker, k int, r rows.Span, part []float64) {
		for i := r.Lo; i < r.Hi; i++ {
			if s.A[i] > 0 {
				f(w, k, i, part)
			} else {
				s.Alpha[i] = math.Inf(-1)
			}
		}
	})
}

// Eval computes α and the column sums at β, by the pass that the chooser takes, and returns the L1
// error of the marginals. relax = 1 takes the exact α; other values move α from the last eval by
// that multiple of the exact step (successive over-relaxation); rows then do not sum to a exactly,
// and the error includes their deviation.
func (s *Function) Eval(beta []float64, relax float64) float64 {
	s.Evals++
	s.Relax = relax
	p := s.choose(beta)
	err := p.Eval(s, beta)
	s.record(p, beta)
	if s.Marginals != nil {
		err = s.Marginals.FinishEval()
	}
	return err
}

// allPairs is the pass over every cost in float64. On its way it fills a list of the larger entries
// of T, or a stored kernel, for later passes; nil for none.
type allPairs struct {
	list   *SparseKernel
	kernel *denseKernel
}

func (*allPairs) Certifies() bool { return true }

func (p *allPairs) Eval(s *Function, beta []float64) float64 {
	list, kernel := p.list, p.kernel
	all := targets{g: s.G, beta: beta, h: s.H}
	limit := s.sparseBudget()/len(s.Rows.Spans) + 1
	s.prepare(beta)
	s.eachRow(func(w *Worker, k, i int, part []float64) {
		e := w.Exp
		if kernel != nil && !kernel.Single {
			e = kernel.data[i*s.M : (i+1)*s.M]
		}
		sum, ref := s.row(w, e, i, &all)
		mass := s.SetAlpha(k, i, ref+s.Eps*logspace.Log(sum))
		kern.Axpy(part, mass/sum, e)
		if kernel != nil {
			kernel.put(i, e, sum, ref)
		}
		if list != nil {
			list.spans[k].collect(i-s.Rows.Spans[k].Lo, e, s.B, s.bMin, sum, mass, ref, list.cut, limit)
		}
	})
	if list != nil {
		s.settle(list)
	}
	err := s.Error()
	if kernel != nil {
		s.dropIfUnderflowed(kernel)
	}
	return err
}

// SetAlpha sets αᵢ from the row's soft maximum and returns the row's mass: aᵢ, unless relaxed or
// penalised.
func (s *Function) SetAlpha(k, i int, lse float64) float64 {
	if s.Marginals != nil {
		return s.Marginals.Mass(i, lse)
	}
	a := s.A[i]
	exact := s.Eps*s.LogA[i] - lse
	if s.Relax == 1 {
		s.Alpha[i] = exact
		return a
	}
	step := (s.Relax - 1) * (exact - s.Alpha[i])
	s.Alpha[i] = exact + step
	mass := a * math.Exp(step/s.Eps)
	s.RowL1[k] += math.Abs(mass - a)
	return mass
}

// Error clears the columns of weight 0 and returns Σ|T1−a| + Σ|col−b| of the last evaluation.
func (s *Function) Error() float64 {
	var err float64
	for _, v := range s.RowL1 {
		err += v
	}
	for _, j := range s.ZeroB {
		s.Col[j] = 0
	}
	return err + kern.L1Diff(s.Col, s.B)
}

// ColumnUnderflow is the column sum below which exponentials that were cut off may not
// be negligible.
const ColumnUnderflow = rows.LeastWeight

// Sinkhorn moves β by relax times the Sinkhorn step, which makes the columns exact for the α of the last eval. It is
// an ascent step of the dual from any β.
func (s *Function) Sinkhorn(beta []float64, relax float64) {
	var lost []int
	for j, c := range s.Col {
		switch {
		case s.B[j] == 0:
		case c < ColumnUnderflow:
			lost = append(lost, j)
		default:
			beta[j] += relax * s.Eps * (s.LogB[j] - logspace.Log(c))
		}
	}
	if lost != nil {
		s.SoftminColumns(lost, func(k int, v float64) { beta[lost[k]] = s.Eps*s.LogB[lost[k]] + v })
	}
}

// SoftminColumns calls set(k, −ε log Σᵢ exp((αᵢ−cᵢⱼ)/ε)) for every j = cols[k], by a separate pass
// in the log domain, for columns whose sums underflow in the fused pass.
func (s *Function) SoftminColumns(cols []int, set func(k int, v float64)) {
	if s.OnDevice() && s.dev.SoftminColumns(s, cols, set) {
		return
	}
	if s.grid.Separable != nil {
		softmin := s.gridSoftmin(s.Alpha, true)
		for k, j := range cols {
			set(k, softmin[j])
		}
		return
	}
	mx := make([]float64, len(cols))
	sum := make([]float64, len(cols))
	for k := range mx {
		mx[k] = math.Inf(-1)
	}
	buf := s.Rows.Scratch[0].Cost
	add := func(k int, v float64) {
		switch {
		case v > mx[k]:
			sum[k] = sum[k]*math.Exp((mx[k]-v)/s.Eps) + 1
			mx[k] = v
		case !math.IsInf(v, -1): // a forbidden pair
			sum[k] += math.Exp((v - mx[k]) / s.Eps)
		}
	}
	for i := range s.N {
		if s.A[i] == 0 {
			continue
		}
		if s.listed.Listed != nil {
			to, c := s.listed.Arcs(i)
			for l, j := range to {
				if k, ok := slices.BinarySearch(cols, int(j)); ok {
					add(k, s.Alpha[i]-c[l])
				}
			}
			continue
		}
		c := s.G.Row(i, buf)
		for k, j := range cols {
			add(k, s.Alpha[i]-c[j])
		}
	}
	for k := range cols {
		set(k, -mx[k]-s.Eps*logspace.Log(sum[k]))
	}
}

// MaxColumnLogError returns the largest |log (Tᵀ1)ⱼ/bⱼ| over the columns. Those that are to be empty, up to
// ColumnUnderflow, are left out: they get the potentials of a vanishing weight.
func (s *Function) MaxColumnLogError() float64 {
	lo, hi := 1.0, 1.0
	for j, b := range s.Wanted() {
		if b > ColumnUnderflow {
			lo, hi = min(lo, s.Col[j]/b), max(hi, s.Col[j]/b)
		}
	}
	return max(-logspace.Log(lo), logspace.Log(hi))
}

// Wanted returns what the column sums are to be: b, where marginals are not penalised.
func (s *Function) Wanted() []float64 {
	if s.Marginals != nil {
		return s.Marginals.Wanted()
	}
	return s.B
}

// Start returns the first β for ε = s.eps from KL-form potentials g (nil: 0), −Inf where b is 0.
func (s *Function) Start(g []float64) []float64 {
	beta := s.Memory.Floats(s.M)
	for j := range beta {
		beta[j] = s.Eps * s.LogB[j] // −Inf where b is 0
		if g != nil && s.B[j] > 0 {
			beta[j] += g[j]
		}
	}
	return beta
}

// Reach returns how far apart potentials of a plan at eps may be: those of c-transforms by the range of the costs, and
// what keeps an entry of T above e^−745, the least number that float64 holds, for each pair of a chain of allowed ones.
func (s *Function) Reach(eps float64) float64 {
	reach := s.Cost.Max - s.Cost.Min + 745*eps
	if s.Cost.Forbidden {
		reach *= float64(s.N + s.M)
	}
	return reach
}

// SetEps changes ε and keeps the KL-form potentials, which vary slowly with it.
func (s *Function) SetEps(beta []float64, eps float64) {
	for j, v := range s.LogB {
		if s.B[j] > 0 {
			beta[j] += (eps - s.Eps) * v
		}
	}
	s.Eps = eps
}

// Gradient writes Tᵀ1 less the column sums wanted, the gradient of the negated semi-dual.
func (s *Function) Gradient(dst []float64) {
	copy(dst, s.Col)
	kern.Axpy(dst, -1, s.Wanted())
}

// LogColumns writes the logarithms of the column sums of the last evaluation.
func (s *Function) LogColumns(dst, beta []float64) {
	var lost []int
	for j, c := range s.Col {
		if dst[j] = logspace.Log(c); c < ColumnUnderflow {
			lost = append(lost, j)
		}
	}
	if lost != nil {
		s.SoftminColumns(lost, func(k int, v float64) { dst[lost[k]] = (beta[lost[k]] - v) / s.Eps })
	}
}
