package host

import (
	"math"

	"coupling/lab/device/cpu"
)

// A plan is P_ij = exp(u_i + h_j − c_ij·inv). It is never held whole: rows are made and used up in a worker's scratch.

// plan is the rows of P for the rows of costs in c.
func (e *engine[T]) plan(p *pad[T], c, u, h []T, inv T) []T {
	t, m := p.buf(1, len(c)), len(h)
	for i, v := range u {
		e.planRow(t[i*m:(i+1)*m], c[i*m:(i+1)*m], v, h, inv)
	}
	return t
}

func (e *engine[T]) planRow(t, c []T, u T, h []T, inv T) {
	if math.IsInf(float64(u), -1) {
		clear(t)
		return
	}
	e.k.RowExpAt(t, h, c, inv, -u)
}

// dot is Σ x·y: the kernel's sums of runs, which are taken in the type of the elements, in float64.
func (e *engine[T]) dot(x, y []T) (sum float64) {
	const run = 4096
	for ; len(x) > run; x, y = x[run:], y[run:] {
		sum += float64(e.k.Dot(x[:run], y[:run]))
	}
	return sum + float64(e.k.Dot(x, y[:len(x)]))
}

// values are the columns that plans are applied to, v of m×k. Few columns are read one after the
// other, for more there are products.
type values[T cpu.Float] struct {
	e    *engine[T]
	v    []T
	t    []T // by columns, when they are few
	m, k int
}

func newValues[T cpu.Float](e *engine[T], v tensor) values[T] {
	s := values[T]{e: e, v: view[T](v), m: v.Shape[0], k: v.Shape[1]}
	if s.few() {
		s.t = e.transpose(e.hold(1, s.m*s.k), s.v, s.m, s.k)
	}
	return s
}

// fewColumns is up to where a pass for each column is cheaper than the padding of a product.
const fewColumns = 4

func (v values[T]) few() bool { return v.k <= fewColumns }

// weigh is out_i = Σ_j t_ij v_j for rows t.
func (v values[T]) weigh(p *pad[T], out, t []T) {
	if v.k == 0 {
		return
	}
	rows := len(out) / v.k
	if !v.few() {
		clear(out)
		p.gemm.Add(cpu.Dense(out, rows, v.k), 1, cpu.Dense(t, rows, v.m), cpu.Dense(v.v, v.m, v.k))
		return
	}
	for i := range rows {
		for k := range v.k {
			out[i*v.k+k] = T(v.e.dot(t[i*v.m:(i+1)*v.m], v.t[k*v.m:(k+1)*v.m]))
		}
	}
}
