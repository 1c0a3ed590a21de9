package ot

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/ot/internal/rows"
)

// devicePlan is a plan on its geometry's device during one call: T = exp(u ⊕ h − c/ε) in float64.
type devicePlan struct {
	*deviceArrays
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
	o, ok := p.g.(*deviceGeometry)
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
	return o.use(call, func(r *deviceArrays) error {
		return f(&devicePlan{r, p, r.upload(device.Float64, u, r.n), r.upload(device.Float64, h, r.m), 1 / p.eps})
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
func (d *devicePlan) column(v []float64) *device.Array { return d.upload(device.Float64, v, len(v), 1) }

// times is T v.
func (d *devicePlan) times(v []float64) ([]float64, error) {
	return d.apply(d.u, d.h, d.column(v), d.inv).Float64s()
}

// timesT is Tᵀv.
func (d *devicePlan) timesT(v []float64) ([]float64, error) {
	return d.applyT(d.u, d.h, d.column(v), d.inv).Float64s()
}

// conditional makes every row of T sum to 1, those of weight 0 as well.
func (d *devicePlan) conditional() {
	rows := d.lseRows(d.h, d.inv)
	device.Scale(rows, -1, rows)
	d.u = rows
}

// costs are Σⱼ T_ij c_ij and Σᵢ T_ij c_ij.
func (d *devicePlan) costs() (rows, cols []float64, err error) {
	t := device.Float64
	out, outT := d.dev.New(t, d.n, 1), d.dev.Zeros(t, 1, d.m)
	if d.held == nil {
		device.PointCost(out.Reshape(d.n), d.x[t], d.y[t], d.u, d.h, d.cost, d.inv)
		device.PointCost(outT.Reshape(d.m), d.y[t], d.x[t], d.h, d.u, d.cost, d.inv)
	} else {
		some := min(d.n, d.chunk())
		buf, part := d.dev.New(t, some, d.m), d.dev.New(t, 1, d.m)
		d.eachHeld(t, func(lo, hi int, c *device.Array) {
			for at := lo; at < hi; at += some {
				to := min(hi, at+some)
				cost, e := c.Rows(at-lo, to-lo), buf.Rows(0, to-at)
				device.Scale(e, -d.inv, cost)
				device.Add(e, e, d.u.Rows(at, to).Reshape(to-at, 1))
				device.Add(e, e, d.h.Reshape(1, d.m))
				device.Map(e, e, device.Exp, 0)
				device.Mul(e, e, cost)
				device.Reduce(out.Rows(at, to), e, device.Sum)
				device.Reduce(part, e, device.Sum)
				device.Add(outT, outT, part)
			}
		})
	}
	if rows, err = out.Float64s(); err != nil {
		return nil, nil, err
	}
	cols, err = outT.Float64s()
	return rows, cols, err
}

// barycentric is T y / T1.
func (d *devicePlan) barycentric(y *mat.Dense) (*mat.Dense, error) {
	d.conditional()
	return d.apply(d.u, d.h, d.dev.FromDense(device.Float64, y), d.inv).Mat()
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
	sharp, _, err := d.costs()
	if err != nil {
		return sumsOf{}, err
	}
	rowSums, err := d.times(ones(d.m))
	if err != nil {
		return sumsOf{}, err
	}
	cols, err := d.timesT(ones(d.n))
	if err != nil {
		return sumsOf{}, err
	}
	var v sumsOf
	v.Sharp, v.Mass = rows.Dot(ones(d.n), sharp), rows.Dot(ones(d.n), rowSums)
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

// pointGrad is the gradient with respect to the sources, or to the targets where transposed, of the weights T∘(r ⊕ s − c/ε),
// or of T itself where linear.
func (d *devicePlan) pointGrad(r, s []float64, transposed, linear bool) (*mat.Dense, error) {
	t := device.Float64
	dr, ds := d.upload(t, r, d.n), d.upload(t, s, d.m)
	if transposed {
		out := d.y[t].Like()
		device.PointGrad(out, d.y[t], d.x[t], d.h, d.u, ds, dr, d.cost, d.inv, linear)
		return out.Mat()
	}
	out := d.x[t].Like()
	device.PointGrad(out, d.x[t], d.y[t], d.u, d.h, dr, ds, d.cost, d.inv, linear)
	return out.Mat()
}
