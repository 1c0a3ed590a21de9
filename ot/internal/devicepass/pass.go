// Package devicepass evaluates the semi-dual on a device, in float32 and float64, and takes Sinkhorn's steps there.
package devicepass

import (
	"math"
	"slices"

	"coupling/lab/device"
	"coupling/lab/device/cpu"
	"coupling/lab/logspace"
	"coupling/ot/cost"
	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
)

// kern is the set of vector kernels in use.
var kern cpu.Kernels[float64]

// Passes is the state that a solve on a device keeps from pass to pass. It is on the host, so
// that nothing remains on the device however the solve ends.
type Passes struct {
	On     *ondevice.Geometry
	reach  float64 // a bound on |c|
	Failed error   // the device's error; the solve returns it

	base       *deviceBase
	isNear     bool // β is near the base; the rest says how near
	dv         []float64
	mid        float64
	moved      float64
	Last       float64   // the error of the last evaluation,
	LastEps    float64   // and its ε
	double     bool      // it was in float64
	noiseScale float64   // observed over worst-case rounding error of float32, at most 1
	lastCols32 []float64 // the column sums of a float32 pass that was not exact enough,
	errBound32 float64   // and a bound on their error; 0 where there was no such pass
	logCol     []float64 // log Σᵢ exp((αᵢ−cᵢⱼ)/ε) of the last evaluation; nil where it was not made
}

// deviceBase is a float64 pass that float32 computes differences from. With T⁰ the plan of that pass, and r⁰, q⁰ its
// marginals, as exact as float64 makes them, the plan at β is Diag(w) T⁰ Diag(v) with v = exp((β−β⁰)/ε), and
//
//	(T⁰v)ᵢ = r⁰ᵢ + Σⱼ T⁰ᵢⱼ(vⱼ−1),   (Tᵀ1)ⱼ = vⱼ (q⁰ⱼ + Σᵢ T⁰ᵢⱼ(wᵢ−1)),
//
// so that the float32 rounding of T⁰ counts only in proportion to v−1 and w−1. This is the
// iterative refinement of linear systems (Wilkinson 1963): the residual in high precision, the
// correction in low.
type deviceBase struct {
	eps              float64
	beta, alpha      []float64
	h, u, rows, cols []float64 // β⁰/ε less a constant, α⁰/ε plus it, r⁰ and q⁰
}

const (
	// baseDrift is how far potentials may move from the base, in ε, to either side: beyond it,
	// (T⁰v)ᵢ may be a small difference of large terms.
	baseDrift = 1
	// mostError is the largest L1 error that there can be.
	mostError = 2
	// leastNoiseScale is the least noiseScale that calibrate sets, in case one pass has by chance
	// almost no error.
	leastNoiseScale = 1e-3
	// NoiseMargin is the least ratio of L1 error to rounding error at which a pass is exact enough.
	NoiseMargin = 20
)

// New returns the passes over a geometry whose costs were scanned.
func New(o *ondevice.Geometry) *Passes {
	return &Passes{On: o, reach: o.Reach(), noiseScale: 1}
}

// Serves reports whether it can make passes over g.
func (d *Passes) Serves(g cost.Geometry) bool {
	return d.Failed == nil && g == cost.Geometry(d.On)
}

// Failure returns the device's error.
func (d *Passes) Failure() error { return d.Failed }

// Certifies reports whether the last pass was in float64.
func (d *Passes) Certifies() bool { return d.double }

// Eval is in float32 as long as the error is above its rounding.
func (d *Passes) Eval(s *semidual.Function, beta []float64) float64 {
	var before []float64
	if s.Relax != 1 { // a second pass must step from the same point as the first
		before = slices.Clone(s.Alpha)
	}
	for double := d.needFloat64(s, beta); ; double = true {
		clear(s.RowL1)
		noise := d.pass(s, double, beta)
		if d.Failed != nil {
			return math.NaN()
		}
		err := s.Error()
		if d.double = double; double || err >= NoiseMargin*noise {
			d.calibrate(s)
			d.Last, d.LastEps = err, s.Eps
			return err
		}
		s.Evals++
		d.lastCols32, d.errBound32 = append(d.lastCols32[:0], s.Col...), noise
		if before != nil {
			copy(s.Alpha, before)
		}
	}
}

// pass makes the best pass of the given precision and returns the order of its rounding error.
func (d *Passes) pass(s *semidual.Function, double bool, beta []float64) (noise float64) {
	if double {
		d.soft(s, device.Float64, beta)
		return 0
	}
	noise = d.Noise(s, beta)
	if d.isNear {
		return noise * d.differences(s)
	}
	d.soft(s, device.Float32, beta)
	return noise
}

// calibrate sets noiseScale from a float64 pass and the float32 pass before it: the observed
// rounding error over its bound. It is below 1 because the arguments of entries that are not
// negligible are far smaller than the largest, and because errors average out.
func (d *Passes) calibrate(s *semidual.Function) {
	if d.errBound32 > 0 {
		d.noiseScale *= max(leastNoiseScale, min(2, 2*kern.L1Diff(d.lastCols32, s.Col)/d.errBound32))
		d.noiseScale = max(leastNoiseScale, min(1, d.noiseScale))
	}
	d.errBound32 = 0
}

// needFloat64 reports whether float32 cannot serve: it was switched off, out of its range, too
// coarse for any error at this ε, or for one like the last.
func (d *Passes) needFloat64(s *semidual.Function, beta []float64) bool {
	if s.Final || s.Marginals != nil || *d.On.Type == device.Float64 {
		return true
	}
	noise := d.Noise(s, beta)
	if !d.InFloat32(s, noise) {
		return true
	}
	if d.moves(s, beta); d.isNear {
		noise *= d.moved
	}
	return d.LastEps == s.Eps && d.Last < NoiseMargin*noise
}

// InFloat32 reports whether ε and the costs are in the range of float32, and its rounding is below the largest error.
func (d *Passes) InFloat32(s *semidual.Function, noise float64) bool {
	return s.Eps > 1/rows.SingleScale && s.Eps < rows.SingleScale && d.reach < rows.SingleScale &&
		NoiseMargin*noise < mostError
}

// Noise is the order of the marginal error that float32 causes: the terms of the arguments are
// rounded to 2⁻²⁴ of themselves.
func (d *Passes) Noise(s *semidual.Function, beta []float64) float64 {
	_, most := semidual.Middle(beta, s.B)
	size := max(d.reach, math.Abs(s.Cost.Max), math.Abs(s.Cost.Min))
	return d.noiseScale * 0x1p-23 * (8 + (size+most)/s.Eps)
}

// soft is a pass of two soft maxima in the type t, for α and for the columns. No exponential under- or overflows.
func (d *Passes) soft(s *semidual.Function, t device.DType, beta []float64) {
	mid, _ := semidual.Middle(beta, s.B)
	inv, mid := 1/s.Eps, mid/s.Eps
	h, u, mass := s.H, make([]float64, s.N), make([]float64, s.N)
	for j, v := range beta {
		h[j] = v*inv - mid
		if t == device.Float32 {
			h[j] = float64(float32(h[j]))
		}
	}
	var cols []float64
	d.Failed = d.On.Use("a pass", func(r *ondevice.Arrays) {
		for i, lse := range r.Floats(r.LSERows(r.Upload(t, h, s.M), inv)) {
			if s.A[i] == 0 {
				s.Alpha[i], u[i] = math.Inf(-1), math.Inf(-1)
				continue
			}
			mass[i] = s.SetAlpha(0, i, s.Eps*(lse+mid))
			u[i] = logspace.Log(mass[i]) - lse
		}
		cols = r.Floats(r.LSECols(r.Upload(t, u, s.N), inv))
	})
	if d.Failed != nil {
		return
	}
	for j, lse := range cols {
		s.Col[j] = h[j] + lse
		cols[j] = lse - mid
	}
	kern.ExpAt(s.Col, s.Col, 0)
	d.logCol = cols
	if t == device.Float64 && *d.On.Type == device.Float32 {
		d.base = &deviceBase{
			eps: s.Eps, beta: slices.Clone(beta), alpha: slices.Clone(s.Alpha),
			h: slices.Clone(h), u: u, rows: mass, cols: slices.Clone(s.Col),
		}
	}
}

// moves records whether β is near the base, and how far from it: v−1, the shift taken out of v, and
// Σ bⱼ|vⱼ−1|.
func (d *Passes) moves(s *semidual.Function, beta []float64) {
	if d.isNear = d.base != nil && d.base.eps == s.Eps; d.isNear {
		mid, spread := semidual.Drift(beta, d.base.beta)
		d.mid, d.isNear = mid, spread <= 2*baseDrift*s.Eps
	}
	if !d.isNear {
		return
	}
	d.dv, d.moved = append(d.dv[:0], beta...), 0
	s.Scalings(d.dv, beta, d.base.beta, d.mid)
	for j, b := range s.B {
		if b > 0 {
			d.dv[j]--
			d.moved += b * math.Abs(d.dv[j])
		}
	}
}

// differences is a pass in float32 from the base, which β must be near. It returns Σ aᵢ|wᵢ−1| + Σ bⱼ|vⱼ−1|.
func (d *Passes) differences(s *semidual.Function) (moved float64) {
	base, inv, dv, mid := d.base, 1/s.Eps, d.dv, d.mid
	dw := make([]float64, s.N)
	moved = d.moved
	var cols []float64
	d.Failed = d.On.Use("a pass", func(r *ondevice.Arrays) {
		u, h := r.Upload(device.Float32, base.u, s.N), r.Upload(device.Float32, base.h, s.M)
		for i, sum := range r.Floats(r.Apply(u, h, r.Upload(device.Float32, dv, s.M, 1), inv)) {
			if s.A[i] == 0 {
				s.Alpha[i] = math.Inf(-1)
				continue
			}
			sum += base.rows[i]
			dw[i] = s.SetAlpha(0, i, s.Eps*logspace.Log(sum)-base.alpha[i]+mid)/sum - 1
			moved += s.A[i] * math.Abs(dw[i])
		}
		cols = r.Floats(r.ApplyT(u, h, r.Upload(device.Float32, dw, s.N, 1), inv))
	})
	for j, e := range cols {
		s.Col[j] = (1 + dv[j]) * (base.cols[j] + e)
	}
	d.logCol = nil
	return moved
}

// Forget drops the record of the last pass, because the host made a later one.
func (d *Passes) Forget() { d.logCol, d.LastEps = nil, 0 }

// SoftminColumns is that of Function for the α of the last pass, where its logarithms were kept.
func (d *Passes) SoftminColumns(s *semidual.Function, cols []int, set func(k int, v float64)) bool {
	if d.logCol == nil {
		return false
	}
	for k, j := range cols {
		set(k, -s.Eps*d.logCol[j])
	}
	return true
}
