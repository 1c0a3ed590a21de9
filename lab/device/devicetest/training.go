package devicetest

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

func training() []scenario {
	return []scenario{{"CrossEntropy", crossEntropy}, {"ClipRows", clipRows}, {"Adam", adam}, {"SGD", sgd}}
}

func crossEntropy(k *kit) {
	for _, s := range [][2]int{{0, 3}, {1, 1}, {3, 2}, {33, 10}, {7, 31}, {129, 5}, {2, 1021}} {
		for _, sigma := range []float64{1, 30, 1e4} {
			k.crossEntropy(s[0], s[1], sigma)
		}
	}
}

// crossEntropy: softmax is e^(x−max) over a sum; neither may lose digits to the size of the logits.
func (k *kit) crossEntropy(n, classes int, sigma float64) {
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

// clipRows: rows within the bound stay as they are, others keep their direction, and the norm of none, taken exactly,
// exceeds the bound by more than 4 units in the last place. Squares must neither overflow nor vanish.
func clipRows(k *kit) {
	huge, small := k.pick(1e30, 1e200), k.pick(1e-30, 1e-200)
	for _, d := range []int{1, 2, 3, 7, 33, 129, 1025, 4099} {
		rows := [][]float64{
			k.normals(d, 1), k.normals(d, 1e-4), k.normals(d, 1e4), repeated(0, d), repeated(huge, d),
			repeated(small, d), repeated(k.least(), d), repeated(-1, d), k.uniforms(d, 0, 1),
			repeated(k.most(), d), k.uniforms(d, -k.most()/2, k.most()/2), // a norm beyond the range
		}
		var x []float64
		for _, r := range rows {
			x = append(x, k.rounded(r)...)
		}
		for _, bound := range []float64{1, 1e-3, math.Sqrt(float64(d)), k.round(small * 3)} {
			k.clip(x, d, bound)
		}
	}
	k.clipNonsense()
	k.clip(nil, 5, 1)
}

// clip clips the rows of x, d each, in place too.
func (k *kit) clip(x []float64, d int, bound float64) {
	rows := len(x) / d
	what := fmt.Sprintf("%d rows of %d to %v", rows, d, bound)
	dst, ax := k.dst(rows, d), k.put(x, rows, d)
	want := func() ref.Result { return clipped(x, d, bound) }
	device.ClipRows(dst, ax, bound)
	k.near(what, dst, 16, want)
	k.bounded(what, dst, x, bound)
	device.ClipRows(ax, ax, bound)
	k.near(what+" in place", ax, 16, want)
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

// adam follows the paper's algorithm for five steps. Each step has some 16 roundings of the step,
// the moments and w, and inherits those of the step before.
func adam(k *kit) {
	for i, a := range []device.Adam{
		{Rate: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8},
		{Rate: 2e-4, Beta1: 0.5, Beta2: 0.999, Eps: 1e-8},
		{Rate: 1e-3, Beta1: 0, Beta2: 0.9, Eps: 1e-6, Decay: 0.1},
		{Rate: 0.01, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Decay: 0.2, Decoupled: true},
	} {
		for j, sizes := range partSizes {
			k.adam(a, sizes, []float64{0, 3, 1e6}[(i+j)%3])
		}
	}
	k.adam(device.Adam{}, nil, 1)
}

// partSizes is arrays that are stepped together: more than one launch takes, and more than a block does.
var partSizes = [][]int{{1}, {33}, {7, 0, 2048, 1, 2049, 1025}, slices.Repeat([]int{3}, 70)}

func (k *kit) adam(a device.Adam, sizes []int, clip float64) {
	r := k.newStepping(sizes, clip)
	t, twice := k.ints([]int32{0}, 1), a
	twice.Rate *= 2
	for _, g := range r.g {
		device.StepAdam(r.update(g, true), t, twice)
	}
	r.compare(fmt.Sprintf("%+v", a), 16, a.Decay,
		func(w float64, grad func(int) float64) ([]float64, []float64, float64) {
			return ref.Adam(w, len(r.g), grad, a)
		})
	k.exact(fmt.Sprintf("%+v, %v, t", a, sizes), t, []float64{float64(len(r.g))})
}

func sgd(k *kit) {
	for i, c := range []device.SGD{
		{Rate: 0.1},
		{Rate: 0.1, Momentum: 0.9},
		{Rate: 0.05, Momentum: 0.9, Nesterov: true},
		{Rate: 0.05, Momentum: 0.5, Decay: 0.1},
		{Rate: 0.05, Momentum: 0.5, Decay: 0.1, Nesterov: true},
	} {
		for j, sizes := range partSizes {
			r, twice := k.newStepping(sizes, []float64{0, 3, 1e6}[(i+j)%3]), c
			twice.Rate *= 2
			for _, g := range r.g {
				device.StepSGD(r.update(g, false), twice)
			}
			r.compare(fmt.Sprintf("%+v", c), 8, c.Decay,
				func(w float64, grad func(int) float64) ([]float64, []float64, float64) {
					return ref.SGD(w, len(r.g), grad, c)
				})
		}
	}
}

// stepping is parameters of some sizes that are moved five times together, with half of the rate that is given.
type stepping struct {
	*kit
	sizes []int
	w     []float64   // before the first step
	g     [][]float64 // of each step
	clip  float64
	decay float64
	to    device.Update
}

func (k *kit) newStepping(sizes []int, clip float64) *stepping {
	n := 0
	for _, s := range sizes {
		n += s
	}
	r := &stepping{kit: k, sizes: sizes, w: k.normals(n, 1), g: k.gradients(5, n), clip: clip, decay: k.round(0.9)}
	none := repeated(0, n)
	r.to = device.Update{
		W: r.split(r.w), M: r.split(none), V: r.split(none), Factor: k.put([]float64{.5}, 1), Clip: clip,
	}
	if n != 33 { // some have no averages
		r.to.Average, r.to.Decay = r.split(r.w), k.put([]float64{r.decay}, 1)
	}
	return r
}

// split makes an array for each size.
func (r *stepping) split(x []float64) (all []*device.Array) {
	for _, s := range r.sizes {
		all = append(all, r.put(x[:s], s))
		x = x[s:]
	}
	return all
}

func (r *stepping) update(g []float64, second bool) device.Update {
	u := r.to
	if u.G = r.split(g); !second {
		u.V = nil
	}
	return u
}

// compare follows each element: follow gives w after each step, the moments at the end and the size of w's terms; c is
// the roundings of w.
func (r *stepping) compare(what string, c, decay float64,
	follow func(w float64, grad func(int) float64) (w2, moments []float64, scale float64)) {
	steps := len(r.g)
	factors := make([]float64, steps)
	for s, g := range r.g {
		norm, _ := ref.ReduceAll(g, device.Norm)
		if factors[s] = 1; r.clip > 0 {
			factors[s] = min(1, r.clip/(norm+1e-6))
		}
	}
	at := 0
	for i, size := range r.sizes {
		from := at
		all := sync.OnceValue(func() (of [4]ref.Result) { // w, m, v and the average
			for k := range of {
				of[k] = ref.NewResult(size)
			}
			for j := range size {
				grad := func(t int) float64 { return factors[t-1] * r.g[t-1][from+j] }
				path, moments, scale := follow(r.w[from+j], grad)
				mean, top := r.w[from+j], 0.0
				for s, w := range path {
					mean = r.decay*mean + (1-r.decay)*w
					// the largest gradient bounds the sum that a moment is
					top = max(top, math.Abs(grad(s+1))+decay*scale)
				}
				of[0].Value[j], of[0].Scale[j] = path[steps-1], scale
				of[3].Value[j], of[3].Scale[j] = mean, scale
				for k, v := range moments {
					of[1+k].Value[j], of[1+k].Scale[j] = v, float64(steps)*math.Pow(top, float64(1+k))
				}
			}
			return of
		})
		for k, moved := range [...][]*device.Array{r.to.W, r.to.M, r.to.V, r.to.Average} {
			if len(moved) > 0 {
				what := fmt.Sprintf("%s, %d of %v, clip %v, %s", what, i, r.sizes, r.clip,
					[...]string{"w", "m", "v", "average"}[k])
				r.near(what, moved[i], [...]float64{c, 8, 8, c + 4}[k], func() ref.Result { return all()[k] })
			}
		}
		at += size
	}
}
