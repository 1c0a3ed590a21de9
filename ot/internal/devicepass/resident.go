package devicepass

import (
	"math"
	"slices"

	"coupling/lab/device"
	"coupling/lab/logspace"
	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
)

// Resident is the potentials of a stage in units of ε, on a GPU, and what Sinkhorn's steps need
// besides. A half-step there is a soft maximum and one or two sums of vectors. Nothing crosses to
// the host but, after a number of steps, the error.
type Resident struct {
	d          *Passes
	at         *ondevice.Arrays // that it belongs to
	arrays     []*device.Array
	mid        float64
	u, h       *device.Array // α/ε + mid and β/ε − mid
	a, b       *device.Array // weights,
	logA, logB *device.Array // and their logarithms
}

// noWeight stands for the logarithm of a weight of 0, since over-relaxation would subtract infinities.
const noWeight = 1e30

// Reside copies potentials and weights to the device.
func (d *Passes) Reside(s *semidual.Function, t device.DType, beta []float64) (*Resident, error) {
	mid, _ := semidual.Middle(beta, s.B)
	p := &Resident{d: d, mid: mid / s.Eps}
	logA := make([]float64, s.N)
	for i, a := range s.A {
		logA[i] = logspace.Log(a)
	}
	d.Failed = d.On.Use("the potentials", func(r *ondevice.Arrays) {
		p.at = r
		up := func(v []float64, scale, by float64) *device.Array {
			v = slices.Clone(v)
			kern.Scale(v, scale, v)
			rows.Shift(v, by)
			a := r.Own(r.Scope.Keep(r.Upload(t, v, len(v))))
			device.Map(a, a, device.Clamp, noWeight)
			p.arrays = append(p.arrays, a)
			return a
		}
		p.u, p.h = up(s.Alpha, 1/s.Eps, p.mid), up(beta, 1/s.Eps, -p.mid)
		p.a, p.b, p.logA, p.logB = up(s.A, 1, 0), up(s.B, 1, 0), up(logA, 1, 0), up(s.LogB, 1, 0)
	})
	return p, d.Failed
}

// Steps takes k steps, relaxed by w, and returns the L1 error of the marginals between the
// half-steps of the last, NaN where the device failed.
func (p *Resident) Steps(s *semidual.Function, k int, w float64) (l1 float64) {
	p.d.Failed = p.d.On.Use("Sinkhorn's steps", func(r *ondevice.Arrays) {
		off := r.Device.Zeros(p.u.Type(), 2)
		for left := k - 1; left >= 0; left-- {
			scope := r.Device.Scope()
			rows := r.LSERows(p.h, 1/s.Eps)
			halfStep(p.u, p.logA, rows, w)
			cols := r.LSECols(p.u, 1/s.Eps)
			if left == 0 {
				deviation(off.Rows(0, 1), p.u, rows, p.logA, p.a)
				deviation(off.Rows(1, 2), p.h, cols, p.logB, p.b)
			}
			halfStep(p.h, p.logB, cols, w)
			scope.Close()
		}
		both := r.Floats(off)
		l1 = both[0] + both[1]
	})
	if p.d.Failed != nil {
		return math.NaN()
	}
	return l1
}

// halfStep moves potentials by w of the way to where their marginal is right, log weight − lse.
func halfStep(v, logWeight, lse *device.Array, w float64) {
	if w == 1 {
		device.Axpby(v, 1, logWeight, -1, lse)
		return
	}
	device.Axpby(v, 1-w, v, -w, lse)
	device.Axpby(v, 1, v, w, logWeight)
}

// deviation is Σ w |exp(v + lse − log w) − 1|.
func deviation(out, v, lse, logWeight, w *device.Array) {
	const top = 60 // above any logarithm of an error that matters, and e⁶⁰ is a float32
	e := v.Like()
	device.Axpby(e, 1, v, -1, logWeight)
	device.Add(e, e, lse)
	device.Map(e, e, device.Clamp, top)
	device.Map(e, e, device.Exp, 0)
	device.Map(e, e, device.AddConst, -1)
	device.Map(e, e, device.Abs, 0)
	device.ReduceDot(out, e, w)
}

// Fetch copies the potentials to the host.
func (p *Resident) Fetch(s *semidual.Function, beta []float64) error {
	var u, h []float64
	p.d.Failed = p.d.On.Use("the potentials", func(r *ondevice.Arrays) { u, h = r.Floats(p.u), r.Floats(p.h) })
	if p.d.Failed != nil {
		return p.d.Failed
	}
	for i, v := range u {
		if s.Alpha[i] = math.Inf(-1); s.A[i] > 0 {
			s.Alpha[i] = s.Eps * (v - p.mid)
		}
	}
	for j, v := range h {
		if s.B[j] > 0 {
			beta[j] = s.Eps * (v + p.mid)
		}
	}
	return nil
}

// Close frees the arrays, unless a failure or closing the geometry has done so.
func (p *Resident) Close() { p.d.On.Release(p.at, p.arrays) }
