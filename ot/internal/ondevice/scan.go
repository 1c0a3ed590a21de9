package ondevice

import (
	"math"

	"coupling/lab/device"
	"coupling/lab/logspace"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/rows"
)

// ScanCosts is geometry.Scan on the device, and reports whether it was possible: if costs may be so large
// that their products overflow, the host must scan them.
//
// The mean is that of the element type. The least and the largest are soft, log Σ exp(∓κc)/κ with κ
// = 2²⁰/max|c|: bounds that are off by at most (log m)/κ, a hundred-thousandth of the largest cost.
// Neither the plan's error nor its status depends on them.
func (o *Geometry) ScanCosts(a, b []float64) (c geometry.Stats, done bool, err error) {
	err = o.Use("the scan of the costs", func(r *Arrays) {
		o.extent = r.reach
		t := r.typ
		if r.reach >= rows.SingleScale {
			t = device.Float64
		}
		if done = r.reach < math.MaxFloat32 && (r.held == nil || r.typ == t); !done || r.reach == 0 {
			c = geometry.Stats{Mass: 1}
			return
		}
		sharpness := 0x1p20 / r.reach
		mask := make([]float64, r.M)
		for j, w := range b {
			if w == 0 {
				mask[j] = math.Inf(-1)
			}
		}
		h := r.Upload(t, mask, r.M)
		low, high := r.Floats(r.LSERows(h, sharpness)), r.Floats(r.LSERows(h, -sharpness))
		mean := r.Floats(r.means(t, b))
		c = geometry.Stats{Min: math.Inf(1), Max: math.Inf(-1), Mass: 1}
		for i, w := range a {
			if w > 0 {
				c.Min, c.Max = min(c.Min, -low[i]/sharpness), max(c.Max, high[i]/sharpness)
				c.Mean += w * mean[i]
			}
		}
		c.Mean = max(c.Min, min(c.Max, c.Mean))
	})
	return c, done, err
}

// means is Σⱼ bⱼ c_ij.
func (r *Arrays) means(t device.DType, b []float64) *device.Array {
	if r.held != nil {
		out := r.Device.New(t, r.N, 1)
		device.Gemm(out, 1, r.held.N(), r.Upload(t, b, r.M, 1).N(), 0)
		return out
	}
	out, u, h := r.Device.New(t, r.N), r.Device.Zeros(t, r.N), make([]float64, r.M)
	for j, w := range b {
		h[j] = logspace.Log(w)
	}
	device.PointCost(out, r.x[t], r.y[t], u, r.Upload(t, h, r.M), r.cost, 0)
	return out
}

// Reach returns a bound on |c|. It is known once the costs were scanned.
func (o *Geometry) Reach() float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.extent
}
