package ot

import (
	"math"
	"slices"

	"coupling/lab/device"
	"coupling/ot/cost"
)

// deviceArrays holds the arrays of an OnDevice. Its methods are passes over T = exp(u ⊕ h − c/ε) in
// float32 or float64.
type deviceArrays struct {
	dev    *device.Device
	typ    device.DType // of the costs that are held, and of the passes that converge first
	n, m   int
	arrays []*device.Array
	reach  float64       // a bound on |c|
	scope  *device.Scope // of the call under way

	x, y [2]*device.Array // points less their middle, by type; nil where costs are held
	cost device.Cost
	held *device.Array // n×m
}

// makeArrays makes the arrays. The caller asks the device for its error.
func (o *deviceGeometry) makeArrays() *deviceArrays {
	n, m := o.Dims()
	r := &deviceArrays{dev: o.dev, typ: *o.typ, n: n, m: m}
	if o.matrixFree() {
		r.points(o.Cloud())
	} else {
		r.hold(o.onHost())
	}
	return r
}

func (r *deviceArrays) own(a *device.Array) *device.Array {
	r.arrays = append(r.arrays, a)
	return a
}

// points uploads points less the middle of the targets. That changes no cost, and it keeps the
// precision of float32 and of matrix products where clouds lie far from the origin.
func (r *deviceArrays) points(p *cost.Cloud) {
	c, _ := p.Vector()
	r.cost = device.Cost{Square: c.Square, Abs: c.Abs}
	x, y, reach := p.Centred()
	r.reach = reach
	_, d := p.X().Dims()
	for _, t := range []device.DType{device.Float32, device.Float64} {
		if t < r.typ {
			continue // never used
		}
		r.x[t], r.y[t] = r.own(r.upload(t, x, r.n, d)), r.own(r.upload(t, y, r.m, d))
	}
}

// hold uploads the costs, some rows at a time.
func (r *deviceArrays) hold(g cost.Geometry) {
	r.held = r.own(r.dev.New(r.typ, r.n, r.m))
	buf := make([]float64, min(r.n, r.chunk())*r.m)
	for lo := 0; lo < r.n && r.dev.Err() == nil; lo += r.chunk() {
		hi := min(r.n, lo+r.chunk())
		for i := lo; i < hi; i++ {
			row := buf[(i-lo)*r.m : (i-lo+1)*r.m]
			copy(row, g.Row(i, row))
		}
		rows := buf[:(hi-lo)*r.m]
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

func (r *deviceArrays) chunk() int { return max(1, chunkCosts/r.m) }

// upload makes an array of the type.
func (r *deviceArrays) upload(t device.DType, v []float64, shape ...int) *device.Array {
	a := r.dev.New(t, shape...)
	a.SetFloats(v)
	return a
}

// eachHeld calls f with the held costs, some rows at a time, converted to the type.
func (r *deviceArrays) eachHeld(t device.DType, f func(lo, hi int, c *device.Array)) {
	if t == r.typ {
		f(0, r.n, r.held)
		return
	}
	wide := r.dev.New(t, min(r.n, r.chunk()), r.m)
	for lo := 0; lo < r.n; lo += r.chunk() {
		hi := min(r.n, lo+r.chunk())
		c := wide.Rows(0, hi-lo)
		device.Convert(c, r.held.Rows(lo, hi))
		f(lo, hi, c)
	}
}

// lseRows is out_i = log Σ_j exp(h_j − c_ij/ε), inv = 1/ε.
func (r *deviceArrays) lseRows(h *device.Array, inv float64) *device.Array {
	t := h.Type()
	out := r.dev.New(t, r.n)
	if r.held == nil {
		device.PointLSE(out, r.x[t], r.y[t], h, r.cost, inv)
		return out
	}
	r.eachHeld(t, func(lo, hi int, c *device.Array) { device.LSERows(out.Rows(lo, hi), c, h, inv) })
	return out
}

// lseCols is out_j = log Σ_i exp(u_i − c_ij/ε).
func (r *deviceArrays) lseCols(u *device.Array, inv float64) *device.Array {
	t := u.Type()
	out := r.dev.New(t, r.m)
	if r.held == nil {
		device.PointLSE(out, r.y[t], r.x[t], u, r.cost, inv)
		return out
	}
	if t == r.typ {
		device.LSECols(out, r.held, u, inv)
		return out
	}
	parts := r.dev.New(t, (r.n+r.chunk()-1)/r.chunk(), r.m)
	r.eachHeld(t, func(lo, hi int, c *device.Array) {
		k := lo / r.chunk()
		device.LSECols(parts.Rows(k, k+1).Reshape(r.m), c, u.Rows(lo, hi), inv)
	})
	device.Reduce(out.Reshape(1, r.m), parts, device.LogSumExp)
	return out
}

// apply is T v for v m×k.
func (r *deviceArrays) apply(u, h, v *device.Array, inv float64) *device.Array {
	t := u.Type()
	out := r.dev.New(t, r.n, v.Dim(1))
	if r.held == nil {
		device.PointApply(out, r.x[t], r.y[t], u, h, v, r.cost, inv)
		return out
	}
	r.eachHeld(t, func(lo, hi int, c *device.Array) {
		device.PlanRows(out.Rows(lo, hi), c, u.Rows(lo, hi), h, v, inv)
	})
	return out
}

// applyT is Tᵀv for v n×k.
func (r *deviceArrays) applyT(u, h, v *device.Array, inv float64) *device.Array {
	t := u.Type()
	out := r.dev.New(t, r.m, v.Dim(1))
	if r.held == nil {
		device.PointApply(out, r.y[t], r.x[t], h, u, v, r.cost, inv)
		return out
	}
	if t == r.typ {
		device.PlanCols(out, r.held, u, h, v, inv)
		return out
	}
	part := r.dev.New(t, r.m, v.Dim(1))
	r.eachHeld(t, func(lo, hi int, c *device.Array) {
		to := part
		if lo == 0 {
			to = out
		}
		device.PlanCols(to, c, u.Rows(lo, hi), h, v.Rows(lo, hi), inv)
		if lo > 0 {
			device.Add(out, out, part)
		}
	})
	return out
}
