package freg

import "coupling/lab/device/cpu"

// network solves (D + Diag(ground)) x = −g by eliminating the nodes of the resistor network one by one: a node's
// neighbours inherit its conductances in proportion. Conductances are only ever added, multiplied and divided, never
// subtracted, so that the network's weakest links come out right beside its strongest (Grassmann, Taksar and Heyman
// 1985). n·m² + m³/3 operations, 2m² memory.
type network struct {
	w   []float64 // m×m, the upper triangle: conductances
	sum []float64 // by node, to the later ones and to the ground
	buf []float64 // dense rows of K on their way into w
	inv []float64
}

// batch is the number of dense rows that are multiplied at a time.
const batch = 128

// conductances sets w to W over the entries of K.
func (t *network) conductances(h *hessian) {
	m := len(h.k)
	if t.w == nil {
		t.w, t.sum = make([]float64, m*m), make([]float64, m)
		t.buf, t.inv = make([]float64, batch*m), make([]float64, 0, batch)
	}
	clear(t.w)
	var gemm cpu.Gemm[float64]
	flush := func() {
		gemm.AddGram(cpu.Dense(t.w, m, m), t.inv, cpu.Dense(t.buf[:len(t.inv)*m], len(t.inv), m))
		t.inv = t.inv[:0]
	}
	for i := range h.rows {
		e := &h.rows[i]
		if !e.dense() {
			continue
		}
		copy(t.buf[len(t.inv)*m:], e.val)
		t.inv = append(t.inv, 1/h.r[i])
		if len(t.inv) == batch {
			flush()
		}
	}
	if len(t.inv) > 0 {
		flush()
	}
	for i := range h.rows {
		e := &h.rows[i]
		if e.dense() {
			continue
		}
		for p, j := range e.idx {
			w := t.w[int(j)*m : (int(j)+1)*m]
			f := e.val[p] / h.r[i]
			for q := p + 1; q < len(e.idx); q++ {
				w[e.idx[q]] += f * e.val[q]
			}
		}
	}
}

// solve writes x. A node that nothing holds, not even the ground, stays where it is.
func (t *network) solve(h *hessian, x, g []float64) {
	t.conductances(h)
	m := len(x)
	ground := append([]float64(nil), h.ground...)
	for j, v := range g {
		x[j] = -v
	}
	for k := range m {
		tail := t.w[k*m+k+1 : (k+1)*m]
		t.sum[k] = kern.Sum(tail) + ground[k]
		if t.sum[k] == 0 {
			continue
		}
		for l, c := range tail {
			if c == 0 {
				continue
			}
			j := k + 1 + l
			f := c / t.sum[k]
			kern.Axpy(t.w[j*m+j+1:(j+1)*m], f, tail[l+1:])
			ground[j] += f * ground[k]
			x[j] += f * x[k]
		}
	}
	for k := m - 1; k >= 0; k-- {
		if t.sum[k] == 0 {
			x[k] = 0
			continue
		}
		x[k] = (x[k] + kern.Dot(t.w[k*m+k+1:(k+1)*m], x[k+1:])) / t.sum[k]
	}
}
