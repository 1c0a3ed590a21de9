package transport

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
)

// DevicePlan is a plan on its geometry's device during one call: T = exp(u ⊕ h − c/ε) in float64.
type DevicePlan struct {
	*ondevice.Arrays
	P    *Plan
	U, H *device.Array
	Inv  float64
}

// exactEnough is the rounding error up to which products are computed on the device whatever the
// plan's own error.
const exactEnough = 1e-12

// OnDevice calls f with the plan on its device and reports whether that succeeded; if not, the host
// must do the work. It does not try without a device, with potentials of reduced costs, or where
// the plan is more exact than T computed from potentials and costs. Products by T have the rounding
// of T; results that also use log T have it times |c|/ε.
func (p *Plan) OnDevice(call string, logs bool, f func(d *DevicePlan)) bool {
	o, ok := p.Costs.(*ondevice.Geometry)
	if !ok {
		return false
	}
	size := 8 + max(math.Abs(p.Cost.Max), math.Abs(p.Cost.Min))/p.Eps
	rounding := 0x1p-52 * size
	if logs {
		rounding *= size
	}
	if rounding > max(exactEnough, p.MarginalL1) {
		return false
	}
	u, h := make([]float64, len(p.A)), make([]float64, len(p.B))
	kern.Scale(u, 1/p.Eps, p.OwnAlpha)
	kern.Scale(h, 1/p.Eps, p.Own)
	mid, _ := semidual.Middle(h, p.B)
	rows.Shift(h, -mid)
	rows.Shift(u, mid)
	return o.Use(call, func(r *ondevice.Arrays) {
		f(&DevicePlan{r, p, r.Upload(device.Float64, u, r.N), r.Upload(device.Float64, h, r.M), 1 / p.Eps})
	}) == nil
}

// column makes a column of float64.
func (d *DevicePlan) column(v []float64) *device.Array { return d.Upload(device.Float64, v, len(v), 1) }

// Times is T v.
func (d *DevicePlan) Times(v []float64) []float64 {
	return d.Floats(d.Apply(d.U, d.H, d.column(v), d.Inv))
}

// TimesT is Tᵀv.
func (d *DevicePlan) TimesT(v []float64) []float64 {
	return d.Floats(d.ApplyT(d.U, d.H, d.column(v), d.Inv))
}

// Conditional makes every row of T sum to 1, those of weight 0 as well.
func (d *DevicePlan) Conditional() {
	rows := d.LSERows(d.H, d.Inv)
	device.Scale(rows, -1, rows)
	d.U = rows
}

// barycentric is T y / T1.
func (d *DevicePlan) barycentric(y *mat.Dense) *mat.Dense {
	d.Conditional()
	return d.Mat(d.Apply(d.U, d.H, d.Device.FromDense(device.Float64, y), d.Inv))
}

// Laplacian writes Diag(col) v − Tᵀ(T v / T1).
func (d *DevicePlan) Laplacian(dst, v, col []float64) {
	t := d.Times(v)
	for i, mass := range d.P.Mass {
		if mass > 0 {
			t[i] /= mass
		}
	}
	kern.Mul(dst, col, v)
	kern.Axpy(dst, -1, d.TimesT(t))
}

// Values are the sums over T that values are made from, Σ T log T = Σ uᵢ(T1)ᵢ + Σ hⱼ(Tᵀ1)ⱼ − <T,c>/ε.
func (d *DevicePlan) Values() Sums {
	sharp, _ := d.Costs(d.U, d.H, d.Inv)
	rowSums, cols := d.Times(Ones(d.M)), d.TimesT(Ones(d.N))
	v := Sums{Sharp: rows.Dot(Ones(d.N), sharp), Mass: rows.Dot(Ones(d.N), rowSums)}
	of := func(alpha, beta []float64) float64 {
		return (rows.Dot(rowSums, alpha) + rows.Dot(cols, beta) - v.Sharp) / d.P.Eps
	}
	v.SumPlogP, v.KL = of(d.P.Alpha, d.P.Beta), of(d.P.F, d.P.G)
	return v
}

// Ones returns n ones.
func Ones(n int) []float64 {
	return slices.Repeat([]float64{1}, n)
}

// Rows is r with Σⱼ T_ij (rᵢ + sⱼ − c_ij/ε) = 0, given Σⱼ T_ij c_ij and the rows' masses.
func (d *DevicePlan) Rows(s, sharp, mass []float64) []float64 {
	r := d.Times(s)
	for i, m := range mass {
		if m > 0 {
			r[i] = (sharp[i]/d.P.Eps - r[i]) / m
		}
	}
	return r
}
