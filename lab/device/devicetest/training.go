package devicetest

import (
	"fmt"
	"math"
	"slices"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

func training() []scenario {
	return []scenario{{"CrossEntropy", crossEntropy}, {"ClipRows", clipRows}, {"Adam", adam}, {"SGD", sgd}, {"EMA", ema}}
}

// crossEntropy: softmax is e^(x−max) over a sum; neither may lose digits to the size of the logits.
func crossEntropy(k *kit) {
	for _, s := range [][2]int{{0, 3}, {1, 1}, {3, 2}, {33, 10}, {7, 31}, {129, 5}, {2, 1021}} {
		for _, sigma := range []float64{1, 30, 1e4} {
			n, classes := s[0], s[1]
			x := k.normals(n*classes, sigma)
			if sigma == 30 {
				for i := range x { // masked classes; the labels are spared below
					if k.rng.IntN(4) == 0 {
						x[i] = math.Inf(-1)
					}
				}
			}
			labels := make([]int32, n)
			for i := range labels {
				labels[i] = int32(k.rng.IntN(classes))
				if at := i*classes + int(labels[i]); math.IsInf(x[at], -1) {
					x[at] = 1
				}
			}
			what := fmt.Sprintf("%d×%d logits of size %v", n, classes, sigma)
			loss, grad := k.dst(n), k.dst(n, classes)
			device.CrossEntropy(loss, grad, k.put(x, n, classes), k.ints(labels, n))
			c := 8 + sums(classes)
			k.near(what+", loss", loss, c, func() ref.Result { l, _ := ref.CrossEntropy(x, classes, labels); return l })
			k.near(what+", gradient", grad, c, func() ref.Result { _, g := ref.CrossEntropy(x, classes, labels); return g })
		}
	}
}

// clipRows: rows within the bound stay as they are, others keep their direction, and the norm of none, taken exactly,
// exceeds the bound by more than 4 units in the last place. Squares must neither overflow nor vanish.
func clipRows(k *kit) {
	huge, small := k.pick(1e30, 1e200), k.pick(1e-30, 1e-200)
	for _, d := range []int{1, 2, 3, 7, 33, 129, 1025, 4099} {
		rows := [][]float64{
			k.normals(d, 1), k.normals(d, 1e-4), k.normals(d, 1e4), repeated(0, d), repeated(huge, d), repeated(small, d),
			repeated(k.least(), d), repeated(-1, d), k.uniforms(d, 0, 1),
			repeated(k.most(), d), k.uniforms(d, -k.most()/2, k.most()/2), // a norm beyond the range
		}
		var x []float64
		for _, r := range rows {
			x = append(x, k.rounded(r)...)
		}
		for _, bound := range []float64{1, 1e-3, math.Sqrt(float64(d)), k.round(small * 3)} {
			what := fmt.Sprintf("rows of %d to %v", d, bound)
			dst, ax := k.dst(len(rows), d), k.put(x, len(rows), d)
			device.ClipRows(dst, ax, bound)
			k.near(what, dst, 16, func() ref.Result { return clipped(x, d, bound) })
			k.bounded(what, dst, x, bound)
			device.ClipRows(ax, ax, bound)
			k.near(what+" in place", ax, 16, func() ref.Result { return clipped(x, d, bound) })
		}
	}
	k.clipNonsense()
	none := k.dst(0, 5)
	device.ClipRows(none, k.put(nil, 0, 5), 1)
	k.exact("no rows", none, func() []float64 { return nil })
}

// clipNonsense: rows without a norm must show it, and release nothing beyond the bound.
func (k *kit) clipNonsense() {
	const rows, d, bound = 6, 133, 0.5
	x := k.normals(rows*d, 3)
	x[d+7], x[2*d+132], x[3*d] = math.NaN(), math.Inf(1), math.Inf(-1)
	x[4*d+1], x[4*d+2] = math.Inf(1), math.NaN()
	dst := k.dst(rows, d)
	device.ClipRows(dst, k.put(x, rows, d), bound)
	got, _ := k.take("rows with NaN", dst)
	for i := 0; k.judge && i < len(got); i++ {
		if v := got[i]; math.Abs(v) > bound {
			k.Errorf("rows with NaN and infinities: [%d, %d] = %v: must be at most %v", i/d, i%d, v, bound)
		}
	}
	for r := 1; k.judge && r < 5; r++ {
		if !slices.ContainsFunc(got[r*d:(r+1)*d], math.IsNaN) {
			k.Errorf("rows with NaN and infinities: row %d became finite", r)
		}
	}
	k.near("rows beside those with NaN", dst.Rows(5, 6), 16, func() ref.Result { return clipped(x[5*d:], d, bound) })
}

func clipped(x []float64, d int, bound float64) ref.Result {
	r := ref.NewResult(len(x))
	for i := 0; i < len(x); i += d {
		row, unit := slices.Clone(x[i:i+d]), 1.0
		if slices.ContainsFunc(row, func(v float64) bool { return math.Abs(v) > 0x1p600 }) {
			unit = 0x1p-1000 // so that the norm is finite and bound/norm not 0
			for j := range row {
				row[j] *= unit
			}
		}
		factor := 1 / unit
		if norm, _ := ref.ReduceAll(row, device.Norm); norm/unit > bound {
			factor = bound / norm
		}
		for j := i; j < i+d; j++ {
			r.Value[j] = row[j-i] * factor
			r.Scale[j] = math.Abs(r.Value[j])
		}
	}
	return r
}

func (k *kit) bounded(what string, dst *device.Array, x []float64, bound float64) {
	k.Helper()
	got, _ := k.take(what, dst)
	d := dst.Dim(1)
	for i := 0; k.judge && i < len(got); i += d {
		norm, _ := ref.ReduceAll(got[i:i+d], device.Norm)
		if !(norm <= bound*(1+8*k.unit())) {
			k.Errorf("%s: row %d has norm %v: must be at most %v", what, i/d, norm, bound)
		}
		before, _ := ref.ReduceAll(x[i:i+d], device.Norm)
		if before < bound*(1-16*k.unit()) && differ(got[i:i+d], x[i:i+d]) >= 0 {
			k.Errorf("%s: row %d has norm %v and was changed", what, i/d, before)
		}
	}
}

// gradients are those of steps 1, 2, … for each element.
func (k *kit) gradients(steps, n int) [][]float64 {
	g := make([][]float64, steps)
	for i := range g {
		g[i] = k.normals(n, 1)
		for j := range g[i] {
			if j%5 == 0 {
				g[i][j] = k.round(1e-6 * g[i][j]) // √v near eps
			}
		}
	}
	return g
}

// adam follows the paper's algorithm for five steps. Each step has some 16 roundings of the step, the moments and w, and
// inherits those of the step before.
func adam(k *kit) {
	for _, a := range []device.Adam{
		{Rate: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8},
		{Rate: 2e-4, Beta1: 0.5, Beta2: 0.999, Eps: 1e-8},
		{Rate: 1e-3, Beta1: 0, Beta2: 0.9, Eps: 1e-6, Decay: 0.1},
		{Rate: 0.01, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Decay: 0.2, Decoupled: true},
	} {
		for _, sizes := range [][]int{{1}, {33}, {7, 0, 2048, 1, 2049, 1025}, slices.Repeat([]int{3}, 70)} {
			k.adam(a, sizes)
		}
	}
	k.adam(device.Adam{}, nil)
}

// adam steps arrays of these sizes together, at half of twice the rate.
func (k *kit) adam(a device.Adam, sizes []int) {
	const steps = 5
	n := 0
	for _, s := range sizes {
		n += s
	}
	split := func(x []float64) (all []*device.Array) {
		for _, s := range sizes {
			all = append(all, k.put(x[:s], s))
			x = x[s:]
		}
		return all
	}
	w, g := k.normals(n, 1), k.gradients(steps, n)
	aw, m, v := split(w), split(repeated(0, n)), split(repeated(0, n))
	t, half, twice := k.ints([]int32{0}, 1), k.put([]float64{.5}, 1), a
	twice.Rate *= 2
	for s := range steps {
		device.StepAdam(aw, split(g[s]), m, v, t, half, twice)
	}
	follow := func(part, from, size int) func() ref.Result {
		return func() ref.Result {
			r := ref.NewResult(size)
			for j := range size {
				i := from + j
				value, m, v, scale := ref.Adam(w[i], steps, func(t int) float64 { return g[t-1][i] }, a)
				r.Value[j], r.Scale[j] = []float64{value, m, v}[part], scale
				if part > 0 { // the largest gradient bounds the sum that a moment is
					top := 0.0
					for s := range steps {
						top = max(top, math.Abs(g[s][i])+a.Decay*scale)
					}
					r.Scale[j] = math.Pow(top, float64(part))
				}
			}
			return r
		}
	}
	at := 0
	for i, size := range sizes {
		what := fmt.Sprintf("%+v, %d of %v", a, i, sizes)
		k.near(what+", w", aw[i], 16, follow(0, at, size))
		k.near(what+", m", m[i], 4*steps, follow(1, at, size))
		k.near(what+", v", v[i], 8*steps, follow(2, at, size))
		at += size
	}
	k.exact(fmt.Sprintf("%+v, %v, t", a, sizes), t, func() []float64 { return []float64{steps} })
}

func sgd(k *kit) {
	for _, c := range []device.SGD{
		{Rate: 0.1},
		{Rate: 0.1, Momentum: 0.9},
		{Rate: 0.05, Momentum: 0.9, Nesterov: true},
		{Rate: 0.05, Momentum: 0.5, Decay: 0.1},
		{Rate: 0.05, Momentum: 0.5, Decay: 0.1, Nesterov: true},
	} {
		for _, n := range []int{0, 1, 7, 33, 1025} {
			const steps = 4
			w, g := k.normals(n, 1), k.gradients(steps, n)
			aw, m := k.put(w, n), k.put(repeated(0, n), n)
			half, twice := k.put([]float64{.5}, 1), c
			twice.Rate *= 2
			for s := range steps {
				device.StepSGD(aw, k.put(g[s], n), m, half, twice)
			}
			follow := func(momentum bool) func() ref.Result {
				return func() ref.Result {
					r := ref.NewResult(n)
					for i := range w {
						value, m, scale := ref.SGD(w[i], steps, func(t int) float64 { return g[t-1][i] }, c)
						if r.Value[i], r.Scale[i] = value, scale; momentum {
							r.Value[i], r.Scale[i] = m, 0
							for s := range steps {
								r.Scale[i] += math.Abs(g[s][i]) + c.Decay*scale
							}
						}
					}
					return r
				}
			}
			what := fmt.Sprintf("%+v, %d", c, n)
			k.near(what+", w", aw, 8, follow(false))
			if c.Momentum != 0 {
				k.near(what+", momentum", m, 8, follow(true))
			}
		}
	}
}

func ema(k *kit) {
	for _, n := range []int{0, 1, 7, 33, 1025} {
		avg, w := k.normals(n, 1), k.normals(n, 1)
		decay := k.round(0.999)
		a := k.put(avg, n)
		device.EMA(a, k.put(w, n), decay)
		k.near(fmt.Sprintf("EMA of %d", n), a, 4, func() ref.Result {
			r := ref.NewResult(n)
			for i := range w {
				r.Value[i] = decay*avg[i] + (1-decay)*w[i]
				r.Scale[i] = math.Abs(decay*avg[i]) + math.Abs((1-decay)*w[i])
			}
			return r
		})
	}
}
