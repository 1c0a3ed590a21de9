package ondevice

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/lab/device/cpu"
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
)

// kern is the set of vector kernels in use.
var kern cpu.Kernels[float64]

// Arrays holds the arrays of a Geometry. Its methods are passes over T = exp(u ⊕ h − c/ε) in
// float32 or float64.
type Arrays struct {
	Device *device.Device
	typ    device.DType // of the costs that are held, and of the passes that converge first
	N, M   int
	arrays []*device.Array
	reach  float64       // a bound on |c|
	Scope  *device.Scope // of the call under way

	x, y [2]*device.Array // points less their middle, by type; nil where costs are held
	cost device.Cost
	held *device.Array // n×m
}

// makeArrays makes the arrays. The caller asks the device for its error.
func (o *Geometry) makeArrays() *Arrays {
	n, m := o.Dims()
	r := &Arrays{Device: o.dev, typ: *o.Type, N: n, M: m}
	if o.MatrixFree() {
		r.points(o.Points())
	} else {
		r.hold(o.OnHost())
	}
	return r
}

// Own frees a with the geometry.
func (r *Arrays) Own(a *device.Array) *device.Array {
	r.arrays = append(r.arrays, a)
	return a
}

// points uploads points less the middle of the targets. That changes no cost, and it keeps the
// precision of float32 and of matrix products where clouds lie far from the origin.
func (r *Arrays) points(p *geometry.Cloud) {
	c, _ := p.Vector()
	r.cost = device.Cost{Square: c.Square, Abs: c.Abs}
	x, y, reach := p.Centred()
	r.reach = reach
	_, d := p.X().Dims()
	for _, t := range []device.DType{device.Float32, device.Float64} {
		if t < r.typ {
			continue // never used
		}
		r.x[t], r.y[t] = r.Own(r.Upload(t, x, r.N, d)), r.Own(r.Upload(t, y, r.M, d))
	}
}

// hold uploads the costs, some rows at a time.
func (r *Arrays) hold(g cost.Geometry) {
	r.held = r.Own(r.Device.New(r.typ, r.N, r.M))
	buf := make([]float64, min(r.N, r.chunk())*r.M)
	for lo := 0; lo < r.N && r.Device.Err() == nil; lo += r.chunk() {
		hi := min(r.N, lo+r.chunk())
		for i := lo; i < hi; i++ {
			row := buf[(i-lo)*r.M : (i-lo+1)*r.M]
			copy(row, g.Row(i, row))
		}
		rows := buf[:(hi-lo)*r.M]
		if sum := kern.Sum(rows); sum-sum != 0 { // an infinity, a NaN, or a sum that overflowed
			r.reach = math.Inf(1)
		} else {
			r.reach = max(r.reach, slices.Max(rows), -slices.Min(rows))
		}
		r.held.Rows(lo, hi).SetFloats(rows)
	}
}

// chunkCosts is the number of costs (64 MB of float64) that are uploaded, or widened, at a time.
const chunkCosts = 1 << 23

func (r *Arrays) chunk() int { return max(1, chunkCosts/r.M) }

// Upload makes an array of the type.
func (r *Arrays) Upload(t device.DType, v []float64, shape ...int) *device.Array {
	a := r.Device.New(t, shape...)
	a.SetFloats(v)
	return a
}

// Floats returns the elements of a. They are arbitrary once the device has failed, which Use
// reports.
func (r *Arrays) Floats(a *device.Array) []float64 {
	v, _ := a.Float64s()
	return v
}

// Mat is Floats for a matrix.
func (r *Arrays) Mat(a *device.Array) *mat.Dense {
	return mat.NewDense(a.Dim(0), a.Dim(1), r.Floats(a))
}

// eachHeld calls f with the held costs, some rows at a time, converted to the type.
func (r *Arrays) eachHeld(t device.DType, f func(lo, hi int, c *device.Array)) {
	if t == r.typ {
		f(0, r.N, r.held)
		return
	}
	wide := r.Device.New(t, min(r.N, r.chunk()), r.M)
	for lo := 0; lo < r.N; lo += r.chunk() {
		hi := min(r.N, lo+r.chunk())
		c := wide.Rows(0, hi-lo)
		device.Convert(c, r.held.Rows(lo, hi))
		f(lo, hi, c)
	}
}

// LSERows is out_i = log Σ_j exp(h_j − c_ij/ε), inv = 1/ε.
func (r *Arrays) LSERows(h *device.Array, inv float64) *device.Array {
	t := h.Type()
	out := r.Device.New(t, r.N)
	if r.held == nil {
		device.PointLSE(out, r.x[t], r.y[t], h, r.cost, inv)
		return out
	}
	r.eachHeld(t, func(lo, hi int, c *device.Array) { device.LSERows(out.Rows(lo, hi), c, h, inv) })
	return out
}

// LSECols is out_j = log Σ_i exp(u_i − c_ij/ε).
func (r *Arrays) LSECols(u *device.Array, inv float64) *device.Array {
	t := u.Type()
	out := r.Device.New(t, r.M)
	if r.held == nil {
		device.PointLSE(out, r.y[t], r.x[t], u, r.cost, inv)
		return out
	}
	if t == r.typ {
		device.LSECols(out, r.held, u, inv)
		return out
	}
	parts := r.Device.New(t, (r.N+r.chunk()-1)/r.chunk(), r.M)
	r.eachHeld(t, func(lo, hi int, c *device.Array) {
		k := lo / r.chunk()
		device.LSECols(parts.Rows(k, k+1).Reshape(r.M), c, u.Rows(lo, hi), inv)
	})
	device.Reduce(out.Reshape(1, r.M), parts, device.LogSumExp)
	return out
}

// Apply is T v for v m×k.
func (r *Arrays) Apply(u, h, v *device.Array, inv float64) *device.Array {
	t := u.Type()
	out := r.Device.New(t, r.N, v.Dim(1))
	if r.held == nil {
		device.PointApply(out, r.x[t], r.y[t], u, h, v, r.cost, inv)
		return out
	}
	r.eachHeld(t, func(lo, hi int, c *device.Array) {
		device.PlanRows(out.Rows(lo, hi), c, u.Rows(lo, hi), h, v, inv)
	})
	return out
}

// ApplyT is Tᵀv for v n×k.
func (r *Arrays) ApplyT(u, h, v *device.Array, inv float64) *device.Array {
	t := u.Type()
	out := r.Device.New(t, r.M, v.Dim(1))
	if r.held == nil {
		device.PointApply(out, r.y[t], r.x[t], h, u, v, r.cost, inv)
		return out
	}
	part := out.Like()
	r.eachHeld(t, func(lo, hi int, c *device.Array) {
		to := out
		if lo > 0 {
			to = part
		}
		device.PlanCols(to, c, u.Rows(lo, hi), h, v.Rows(lo, hi), inv)
		if lo > 0 {
			device.Add(out, out, part)
		}
	})
	return out
}

// Costs are Σⱼ T_ij c_ij and Σᵢ T_ij c_ij.
func (r *Arrays) Costs(u, h *device.Array, inv float64) (rows, cols []float64) {
	t := device.Float64
	out, outT := r.Device.New(t, r.N, 1), r.Device.Zeros(t, 1, r.M)
	if r.held == nil {
		device.PointCost(out.Reshape(r.N), r.x[t], r.y[t], u, h, r.cost, inv)
		device.PointCost(outT.Reshape(r.M), r.y[t], r.x[t], h, u, r.cost, inv)
	} else {
		some := min(r.N, r.chunk())
		buf, part := r.Device.New(t, some, r.M), r.Device.New(t, 1, r.M)
		r.eachHeld(t, func(lo, hi int, c *device.Array) {
			for at := lo; at < hi; at += some {
				to := min(hi, at+some)
				cost, e := c.Rows(at-lo, to-lo), buf.Rows(0, to-at)
				device.Scale(e, -inv, cost)
				device.Add(e, e, u.Rows(at, to).Reshape(to-at, 1))
				device.Add(e, e, h.Reshape(1, r.M))
				device.Map(e, e, device.Exp, 0)
				device.Mul(e, e, cost)
				device.Reduce(out.Rows(at, to), e, device.Sum)
				device.Reduce(part, e, device.Sum)
				device.Add(outT, outT, part)
			}
		})
	}
	return r.Floats(out), r.Floats(outT)
}

// PointGrad is the gradient with respect to the sources, or to the targets where transposed, of the
// weights T∘(source ⊕ target − c/ε), or of T itself where linear.
func (r *Arrays) PointGrad(u, h *device.Array, inv float64, source, target []float64,
	transposed, linear bool) *mat.Dense {
	t := device.Float64
	own, other, byOwn, byOther := r.x[t], r.y[t], r.Upload(t, source, r.N), r.Upload(t, target, r.M)
	if transposed {
		own, other, u, h, byOwn, byOther = other, own, h, u, byOther, byOwn
	}
	out := own.Like()
	device.PointGrad(out, own, other, u, h, byOwn, byOther, r.cost, inv, linear)
	return r.Mat(out)
}
