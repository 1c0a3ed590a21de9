package ot

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/rows"
)

// devicePlan is a plan on its geometry's device during one call: T = exp(u ⊕ h − c/ε) in float64.
type devicePlan struct {
	*ondevice.Arrays
	p    *transport
	u, h *device.Array
	inv  float64
}

// exactEnough is the rounding error up to which products are computed on the device whatever the
// plan's own error.
const exactEnough = 1e-12

// onDevice calls f with the plan on its device and reports whether that succeeded; if not, the host
// must do the work. It does not try without a device, with potentials of reduced costs, or where
// the plan is more exact than T computed from potentials and costs. Products by T have the rounding
// of T; results that also use log T have it times |c|/ε.
func (p *transport) onDevice(call string, logs bool, f func(d *devicePlan) error) bool {
	o, ok := p.g.(*ondevice.Geometry)
	if !ok {
		return false
	}
	size := 8 + max(math.Abs(p.cost.Max), math.Abs(p.cost.Min))/p.eps
	rounding := 0x1p-52 * size
	if logs {
		rounding *= size
	}
	if rounding > max(exactEnough, p.marginalL1) {
		return false
	}
	u, h := make([]float64, len(p.a)), make([]float64, len(p.b))
	mid := p.potentialsOver(u, h)
	rows.Shift(h, -mid)
	rows.Shift(u, mid)
	return o.Use(call, func(r *ondevice.Arrays) error {
		return f(&devicePlan{r, p, r.Upload(device.Float64, u, r.N), r.Upload(device.Float64, h, r.M), 1 / p.eps})
	}) == nil
}

// potentialsOver writes α/ε and β/ε and returns the middle of β/ε.
func (p *transport) potentialsOver(u, h []float64) (mid float64) {
	kern.Scale(u, 1/p.eps, p.alpha)
	kern.Scale(h, 1/p.eps, p.beta)
	lo, hi := math.Inf(1), math.Inf(-1)
	for j, v := range h {
		if p.b[j] > 0 {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo + (hi-lo)/2
}

// column makes a column of float64.
func (d *devicePlan) column(v []float64) *device.Array { return d.Upload(device.Float64, v, len(v), 1) }

// times is T v.
func (d *devicePlan) times(v []float64) ([]float64, error) {
	return d.Apply(d.u, d.h, d.column(v), d.inv).Float64s()
}

// timesT is Tᵀv.
func (d *devicePlan) timesT(v []float64) ([]float64, error) {
	return d.ApplyT(d.u, d.h, d.column(v), d.inv).Float64s()
}

// conditional makes every row of T sum to 1, those of weight 0 as well.
func (d *devicePlan) conditional() {
	rows := d.LSERows(d.h, d.inv)
	device.Scale(rows, -1, rows)
	d.u = rows
}

// barycentric is T y / T1.
func (d *devicePlan) barycentric(y *mat.Dense) (*mat.Dense, error) {
	d.conditional()
	return d.Apply(d.u, d.h, d.Device.FromDense(device.Float64, y), d.inv).Mat()
}

// laplacian writes Diag(col) v − Tᵀ(T v / T1).
func (d *devicePlan) laplacian(dst, v, col []float64) error {
	t, err := d.times(v)
	if err != nil {
		return err
	}
	for i, mass := range d.p.mass {
		if mass > 0 {
			t[i] /= mass
		}
	}
	back, err := d.timesT(t)
	if err != nil {
		return err
	}
	kern.Mul(dst, col, v)
	kern.Axpy(dst, -1, back)
	return nil
}

// values are the sums over T that values are made from, Σ T log T = Σ uᵢ(T1)ᵢ + Σ hⱼ(Tᵀ1)ⱼ − <T,c>/ε.
func (d *devicePlan) values() (sumsOf, error) {
	sharp, _, err := d.Costs(d.u, d.h, d.inv)
	if err != nil {
		return sumsOf{}, err
	}
	rowSums, err := d.times(ones(d.M))
	if err != nil {
		return sumsOf{}, err
	}
	cols, err := d.timesT(ones(d.N))
	if err != nil {
		return sumsOf{}, err
	}
	var v sumsOf
	v.Sharp, v.Mass = rows.Dot(ones(d.N), sharp), rows.Dot(ones(d.N), rowSums)
	p := d.p
	v.SumPlogP = (rows.Dot(rowSums, p.alpha) + rows.Dot(cols, p.beta) - v.Sharp) / p.eps
	// T log (T/ab), with KL potentials for logarithms of weights: no term is added and subtracted
	// again.
	var kl rows.Sum
	add := func(sums, potential, weight []float64) {
		for i, r := range sums {
			if r > 0 {
				kl.Add(r * (potential[i]/p.eps - math.Log(weight[i])))
			}
		}
	}
	add(rowSums, p.alpha, p.a)
	add(cols, p.beta, p.b)
	v.KL = kl.Value() - v.Sharp/p.eps
	return v, nil
}

func ones(n int) []float64 {
	return slices.Repeat([]float64{1}, n)
}

// rows is r with Σⱼ T_ij (rᵢ + sⱼ − c_ij/ε) = 0, given Σⱼ T_ij c_ij and the rows' masses.
func (d *devicePlan) rows(s, sharp, mass []float64) ([]float64, error) {
	r, err := d.times(s)
	for i, m := range mass {
		if err == nil && m > 0 {
			r[i] = (sharp[i]/d.p.eps - r[i]) / m
		}
	}
	return r, err
}
