// Package rows has the shared parts of solvers that work row by row: rows in spans, goroutines over
// them, compensated sums, differences with their rounding, and normalised weights.
package rows

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"coupling/lab/device/cpu"
	"coupling/ot/internal/fault"
)

// kern is the set of vector kernels in use.
var kern cpu.Kernels[float64]

// Span is a range of rows [Lo, Hi).
type Span struct{ Lo, Hi int }

// Spans cuts n rows of m entries into spans that depend on n and m alone: at least 32k entries
// each, so that the cost of starting a goroutine is negligible, and at most 64, so that the cost of
// adding up their sums is. Where there are many, the last ones are a third as long as the first, so
// that goroutines end together.
func Spans(n, m int) []Span {
	const minEntries, maxSpans, manySpans = 1 << 15, 64, 32
	k := max(1, min(maxSpans, n, n*m/minEntries))
	small := 0
	if k >= manySpans && n >= 2*k { // a row for each, at least
		small = k / 2
	}
	units := 3*k - 2*small // a small span is one
	out := make([]Span, k)
	at := func(i int) int { return (3*min(i, k-small) + max(0, i-(k-small))) * n / units }
	for i := range out {
		out[i] = Span{at(i), at(i + 1)}
	}
	return out
}

// Merge joins neighbours among spans until there are at most most.
func Merge(spans []Span, most int) []Span {
	out := make([]Span, min(most, len(spans)))
	for i := range out {
		out[i] = Span{spans[i*len(spans)/len(out)].Lo, spans[(i+1)*len(spans)/len(out)-1].Hi}
	}
	return out
}

// Workers returns w, or GOMAXPROCS for 0.
func Workers(w int) int {
	if w <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return w
}

// Sweep runs over the spans of rows on several goroutines, each with scratch of its own.
type Sweep[W any] struct {
	Spans   []Span
	Scratch []W
	sums    []float64
}

// NewSweep prepares a sweep over n rows of m entries by at most the given number of goroutines, 0
// for GOMAXPROCS.
func NewSweep[W any](n, m, workers int, scratch func() W) *Sweep[W] {
	s := &Sweep[W]{Spans: Spans(n, m)}
	s.Scratch = make([]W, min(Workers(workers), len(s.Spans)))
	for i := range s.Scratch {
		s.Scratch[i] = scratch()
	}
	return s
}

// Each calls f once for every span k, with the scratch of the goroutine that runs it. Keep the
// results of spans apart and add them up in the order of the spans, so that they do not depend on
// the number of goroutines.
func (s *Sweep[W]) Each(f func(w W, k int, s Span)) {
	spans, scratch := s.Spans, s.Scratch
	if len(scratch) == 1 || len(spans) == 1 {
		for k, s := range spans {
			f(scratch[0], k, s)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	run := func(w W) {
		for {
			k := int(next.Add(1)) - 1
			if k >= len(spans) {
				return
			}
			f(w, k, spans[k])
		}
	}
	for _, w := range scratch[1:min(len(scratch), len(spans))] {
		wg.Go(func() { run(w) })
	}
	run(scratch[0])
	wg.Wait()
}

// EachRow calls f once for every row i, with the scratch of the goroutine that runs it and the row's span k, whose rows
// come in order.
func (s *Sweep[W]) EachRow(f func(w W, k, i int)) {
	s.Each(func(w W, k int, r Span) {
		for i := r.Lo; i < r.Hi; i++ {
			f(w, k, i)
		}
	})
}

// Room returns n float64, not cleared, which the next call and Columns overwrite.
func (s *Sweep[W]) Room(n int) []float64 {
	if len(s.sums) < n {
		s.sums = make([]float64, n)
	}
	return s.sums[:n]
}

// Columns calls f for every span with a vector of zeros to add to, as long as dst, and writes the
// sum of the vectors to dst, in the order of the spans.
func (s *Sweep[W]) Columns(dst []float64, f func(w W, k int, r Span, sum []float64)) {
	m := len(dst)
	sums := s.Room(len(s.Spans) * m)
	s.Each(func(w W, k int, r Span) {
		sum := sums[k*m : (k+1)*m]
		clear(sum)
		f(w, k, r, sum)
	})
	copy(dst, sums[:m])
	for k := 1; k < len(s.Spans); k++ {
		kern.Axpy(dst, 1, sums[k*m:(k+1)*m])
	}
}

// Softmax writes dst[j] = exp((beta[j]−c[j]−mx)/ε), inv = 1/ε, with mx the largest beta[j]−c[j],
// and returns mx and the sum of dst, which lies in [1, m]. Differences are taken before dividing by
// ε, so that cancellation is exact however large the costs are against ε. beta[j] = −Inf gives 0; where
// all beta[j]−c[j] are −Inf, mx is −Inf and the sum 0.
func Softmax(dst, beta, c []float64, inv float64) (mx, sum float64) {
	if mx = kern.RowMax(beta, c, 1); math.IsInf(mx, -1) {
		clear(dst)
		return mx, 0
	}
	return mx, kern.RowExpScaled(dst, beta, c, mx, inv)
}

// constant is a vector of ones, for Subtract.
var constant = func() (v [256]float64) {
	for i := range v {
		v[i] = 1
	}
	return v
}()

// Subtract subtracts by from every element of v.
func Subtract(v []float64, by float64) { Less(v, v, by) }

// Less writes the elements of v less by to dst, which may be v.
func Less(dst, v []float64, by float64) {
	for lo := 0; lo < len(v); lo += len(constant) {
		hi := min(lo+len(constant), len(v))
		kern.RowLogits(dst[lo:hi], v[lo:hi], constant[:hi-lo], by)
	}
}

// Shift adds by to every element of v.
func Shift(v []float64, by float64) {
	for i := range v {
		v[i] += by
	}
}

// SkipForbidden sets v to 0 where the cost is +Inf. Passes need no special case for such pairs,
// since exponentials of −Inf are 0; code that multiplies T by a logarithm or a cost skips them.
func SkipForbidden(v, c []float64) {
	for j, x := range c {
		if math.IsInf(x, 1) {
			v[j] = 0
		}
	}
}

// SingleScale bounds ε and the costs, so that both and their quotients are normal float32.
const SingleScale = 1e15

// Sum is a compensated sum (Neumaier 1974).
type Sum struct{ hi, lo float64 }

// Add adds v.
func (s *Sum) Add(v float64) {
	t := s.hi + v
	if math.Abs(s.hi) >= math.Abs(v) {
		s.lo += (s.hi - t) + v
	} else {
		s.lo += (v - t) + s.hi
	}
	s.hi = t
}

// Join adds another sum.
func (s *Sum) Join(o Sum) {
	s.Add(o.hi)
	s.lo += o.lo
}

// Total adds up the parts of four sums in order.
func Total(parts [][4]Sum) (out [4]float64) {
	var all [4]Sum
	for _, p := range parts {
		for k, v := range p {
			all[k].Join(v)
		}
	}
	for k, v := range all {
		out[k] = v.Value()
	}
	return out
}

// Value returns the sum.
func (s Sum) Value() float64 { return s.hi + s.lo }

// Dot returns Σ w v over the positive weights, compensated.
func Dot(w, v []float64) float64 {
	var s Sum
	for i, wi := range w {
		if wi > 0 {
			s.Add(wi * v[i])
		}
	}
	return s.Value()
}

// TwoDiff returns a−b rounded and the rounding error (Knuth).
func TwoDiff(a, b float64) (d, err float64) {
	d = a - b
	bb := a - d
	err = (a - (d + bb)) + (bb - b)
	if math.IsNaN(err) { // an overflow has no error worth keeping
		err = 0
	}
	return d, err
}

// Reduce writes c_j − u − v_j, rounded once: the errors of both subtractions are kept and added at the end.
func Reduce(dst, c []float64, u float64, v []float64) {
	for j, x := range c {
		s, e1 := TwoDiff(x, v[j])
		t, e2 := TwoDiff(s, u)
		dst[j] = t + (e1 + e2)
	}
}

// MassTolerance is the largest relative difference between the totals of two weights that counts as
// rounding: float32 weights normalised by a naive sum are off by up to about n·6e-8.
const MassTolerance = 1e-5

// LeastWeight is the share of the mass below which a weight counts as zero: sums of smaller terms lose digits to
// underflow, and no column of a plan could be shown to have such a weight.
const LeastWeight = 1e-280

// Weights writes w divided by its sum, uniform for nil and 0 below LeastWeight, to out, and returns
// it and the sum; bad makes the package's errors.
func Weights(out []float64, name string, w []float64, of string,
	bad func(kind error, format string, args ...any) error) ([]float64, float64, error) {
	n := len(out)
	if w == nil {
		for i := range out {
			out[i] = 1 / float64(n)
		}
		return out, 1, nil
	}
	if len(w) != n {
		return nil, 0, bad(fault.ErrShape, "%s has %d weights for %d %s", name, len(w), n, of)
	}
	var largest float64
	for i, v := range w {
		if !(v >= 0) || math.IsInf(v, 1) {
			return nil, 0, bad(fault.ErrWeights, "%s[%d] = %g: must be finite and ≥ 0", name, i, v)
		}
		largest = max(largest, v)
	}
	if largest == 0 {
		return nil, 0, bad(fault.ErrWeights, "%s sums to 0: must be > 0", name)
	}
	// Scaling by the largest first keeps the sum finite and normal for weights near the ends of the float64 range.
	var sum Sum
	for i, v := range w {
		out[i] = v / largest
		sum.Add(out[i])
	}
	for i := range out {
		if out[i] /= sum.Value(); out[i] < LeastWeight {
			out[i] = 0
		}
	}
	return out, sum.Value() * largest, nil
}
